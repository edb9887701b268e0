//! The address bar, which always contains the link to the current state of the page.

use std::time::Duration;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::data::view_state::Step;
use crate::source::session;
use crate::state::{AddressState, Planner};

/// Delay before the address changes within a step: browsers throttle a page that does so at every
/// slider step.
const PAUSE: Duration = Duration::from_millis(150);

/// The fragment of the page's address, without `#`.
pub fn fragment() -> Option<String> {
    location_hash().filter(|fragment| !fragment.is_empty())
}

/// The page's address without its fragment.
pub fn base() -> String {
    let href = location().href().unwrap_or_default();
    href.split('#').next().unwrap_or_default().to_owned()
}

/// Takes the current state as that of the address bar, which then stays until the state changes: it
/// may hold a link of an earlier version, or one of a newer version that can still be copied.
pub fn settle(planner: Planner) {
    planner.address.set_value(of_page(planner));
}

/// Keeps the address bar current, and opens links that are entered there.
pub fn follow(planner: Planner) {
    let step = Memo::new(move |_| planner.step());
    Effect::new(move |earlier: Option<(Option<TimeoutHandle>, Step)>| {
        let (handle, before) = earlier.unzip();
        if let Some(handle) = handle.flatten() {
            handle.clear();
        }
        // Tracks the content of the fragment without encoding it, which would slow the sliders
        // down.
        planner.track_state();
        planner.loading.track();
        let step = step.get();
        let pause = if before.as_ref() == Some(&step) { PAUSE } else { Duration::ZERO };
        (set_timeout_with_handle(move || write(planner), pause).ok(), step)
    });
    let listener = window_event_listener(ev::hashchange, move |_| {
        let Some(fragment) = fragment() else { return };
        let current = planner.address.with_value(|address| address.fragment.clone());
        // The page has written the address itself.
        if current.as_deref() == Some(fragment.as_str()) {
            return;
        }
        // A page without samples has lost those of the other steps, which the tab keeps.
        let opened = match planner.jobs.with_untracked(Vec::is_empty) {
            true => planner.reopen(&fragment, session::rest()),
            false => planner.open(&fragment),
        };
        match opened {
            Ok(()) => settle(planner),
            Err(error) => {
                planner.alert.set(Some(format!("That link cannot be opened: {error}. The page is unchanged.")));
                // A reload must restore the current state, not the invalid link.
                if let Some(current) = current {
                    replace(&current);
                }
            }
        }
    });
    on_cleanup(move || listener.remove());
}

fn of_page(planner: Planner) -> AddressState {
    let state = untrack(|| planner.state());
    // A page that is still loading must not replace the link that it opens.
    let has_content = !state.jobs.is_empty() || !planner.loading.get_untracked();
    AddressState { fragment: has_content.then(|| state.fragment(false)), step: Some(state.step()) }
}

fn write(planner: Planner) {
    let (now, shown) = (of_page(planner), planner.address.get_value());
    let Some(fragment) = now.fragment.clone().filter(|fragment| Some(fragment) != shown.fragment.as_ref()) else {
        return;
    };
    let is_new_step = self::fragment().is_some() && now.step != shown.step;
    planner.address.set_value(now);
    match is_new_step {
        true => push(&fragment),
        false => replace(&fragment),
    }
}

/// Adds an entry to the history. If a browser forbids it, only the address is not updated.
fn push(fragment: &str) {
    if let Ok(history) = window().history() {
        let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&format!("#{fragment}")));
    }
}

/// Replaces the current entry of the history, as [`push`] adds one.
fn replace(fragment: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{fragment}")));
    }
}
