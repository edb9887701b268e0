//! The address bar, which always contains the link to the current state of the page.

use std::time::Duration;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::data::view;
use crate::state::Planner;
use crate::state::history::end_scenario;

/// Delay before the address changes: browsers throttle a page that does so at every slider step.
const PAUSE: Duration = Duration::from_millis(150);

thread_local! {
    /// The fragment of the current state while the address bar contains a link that this version
    /// cannot open.
    static HELD: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

/// The fragment of the page's address, without `#`.
pub fn fragment() -> Option<String> {
    location_hash().filter(|fragment| !fragment.is_empty())
}

/// The page's address without its fragment.
pub fn base() -> String {
    let href = location().href().unwrap_or_default();
    href.split('#').next().unwrap_or_default().to_owned()
}

/// Keeps the address bar unchanged until the user changes something, so that a link of a newer
/// version can still be copied.
pub fn hold(planner: Planner) {
    let current = untrack(|| planner.fragment(false));
    HELD.with_borrow_mut(|held| *held = current);
}

/// Keeps the address bar current, and opens links that are entered there.
pub fn follow(planner: Planner) {
    Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
        if let Some(handle) = earlier.flatten() {
            handle.clear();
        }
        // Tracks the content of the fragment without encoding it, which would slow the sliders
        // down.
        planner.view()?;
        planner.shown();
        let write_current = move || {
            if let Some(fragment) = untrack(|| planner.fragment(false)) {
                write(&fragment);
            }
        };
        set_timeout_with_handle(write_current, PAUSE).ok()
    });
    let listener = window_event_listener(ev::hashchange, move |_| {
        let Some(fragment) = fragment() else { return };
        let current = untrack(|| planner.fragment(false));
        // The address already matches the page, for example after the page has written it.
        if current.as_deref() == Some(fragment.as_str()) {
            return;
        }
        let (link, shown) = view::split(&fragment);
        let is_shown =
            current.as_deref().map(view::split).is_some_and(|(known, of)| known == link && of.size == shown.size);
        let opened = if is_shown { Ok(()) } else { planner.open_fragment(link, shown.size) };
        if opened.is_ok() {
            planner.take_shown(shown);
        }
        end_scenario();
        if let Err(error) = opened {
            planner.alert.set(Some(format!("That link cannot be opened: {error}. The page is unchanged.")));
            // A reload must restore the current state, not the invalid link.
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
        // If a browser forbids it, only the address is not updated.
        let _ = match end_scenario() && !is_first {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&address)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&address)),
        };
    }
}
