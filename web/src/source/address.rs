//! The address bar: it always holds the link to what the page shows.

use std::time::Duration;

use foreglow_shared::{SHORT_PREFIX, ShortLink, View};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::state::Planner;

/// Browsers slow a page down that changes its address at every step of a slider.
const PAUSE: Duration = Duration::from_millis(150);

thread_local! {
    /// What the page would write, while the address bar keeps a link that this version cannot open.
    static HELD: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
    /// Whether the next address is one to come back from, and no edit of the present one.
    static BEGINS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs that a link still carries; one of more would be longer than what mail and chat let through.
pub const MOST_RUNS_IN_LINK: usize = 2_000;

/// What the address bar holds: the whole view, or the question alone where there are too many runs. Those stay in this tab's
/// storage.
pub fn fragment_of(view: &View) -> String {
    if fits_in_link(view) {
        view.to_fragment()
    } else {
        ShortLink::new(&view.job.context, view.question.clone()).to_fragment()
    }
}

/// Whether a link can carry all of a view's runs.
pub fn fits_in_link(view: &View) -> bool {
    view.job.observations.len() + view.job.incomplete.len() <= MOST_RUNS_IN_LINK
}

/// Whether a fragment is a question without runs.
pub fn is_short(fragment: &str) -> bool {
    fragment.starts_with(SHORT_PREFIX)
}

/// The next address becomes an entry of the browser's history: its back button brings the present one back.
pub fn begin_scenario() {
    BEGINS.set(true);
}

/// The fragment that the page was opened with, without `#`.
pub fn fragment() -> Option<String> {
    location_hash().filter(|fragment| !fragment.is_empty())
}

/// The page's address without its fragment.
pub fn base() -> String {
    let href = location().href().unwrap_or_default();
    href.split('#').next().unwrap_or_default().to_owned()
}

/// Leaves the address bar as it is until the person changes something: a link of a newer version can still be copied.
pub fn hold(planner: Planner) {
    let current = untrack(|| planner.view()).map(|view| fragment_of(&view));
    HELD.with_borrow_mut(|held| *held = current);
}

/// What was opened is the present scenario: its address replaces the one in the address bar.
pub fn end_scenario() {
    BEGINS.set(false);
}

/// Keeps the address bar current, and opens the links that are put into it.
pub fn follow(planner: Planner) {
    Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
        if let Some(handle) = earlier.flatten() {
            handle.clear();
        }
        let view = planner.view()?;
        set_timeout_with_handle(move || write(&fragment_of(&view)), PAUSE).ok()
    });
    let listener = window_event_listener(ev::hashchange, move |_| {
        let Some(fragment) = fragment() else { return };
        let current = untrack(|| planner.view()).map(|view| fragment_of(&view));
        // The page's own entry of the history, as it is.
        if current.as_deref() == Some(fragment.as_str()) {
            return;
        }
        let opened = planner.open_fragment(&fragment);
        end_scenario();
        if let Err(error) = opened {
            planner
                .alert
                .set(Some(format!("That link cannot be opened: {error}. The page shows what it showed before.")));
            // A reload must bring back what is on the page, not the link that cannot be opened.
            if let Some(current) = current {
                write(&current);
            }
        }
    });
    on_cleanup(move || listener.remove());
}

fn write(fragment: &str) {
    let held = HELD.with_borrow(|held| held.as_deref() == Some(fragment));
    if held || self::fragment().as_deref() == Some(fragment) {
        return;
    }
    HELD.take();
    let is_first = self::fragment().is_none();
    if let Ok(history) = window().history() {
        let address = format!("#{fragment}");
        // A browser that forbids it loses the current address, not the page.
        let _ = match BEGINS.replace(false) && !is_first {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&address)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&address)),
        };
    }
}
