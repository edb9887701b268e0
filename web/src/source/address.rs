//! The address bar: it always holds the link to what the page shows.

use std::time::Duration;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::state::Planner;

/// Browsers slow a page down that changes its address at every step of a slider.
const PAUSE: Duration = Duration::from_millis(150);

thread_local! {
    /// What the page would write, while the address bar keeps a link that this version cannot open.
    static HELD: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
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
    let current = untrack(|| planner.view()).map(|view| view.to_fragment());
    HELD.with_borrow_mut(|held| *held = current);
}

/// Keeps the address bar current, and opens the links that are put into it.
pub fn follow(planner: Planner) {
    Effect::new(move |earlier: Option<Option<TimeoutHandle>>| {
        if let Some(handle) = earlier.flatten() {
            handle.clear();
        }
        let view = planner.view()?;
        set_timeout_with_handle(move || write(&view.to_fragment()), PAUSE).ok()
    });
    let listener = window_event_listener(ev::hashchange, move |_| {
        let Some(fragment) = fragment() else { return };
        if let Err(error) = planner.open_link(&fragment) {
            planner
                .alert
                .set(Some(format!("That link cannot be opened: {error}. The page shows what it showed before.")));
            // A reload must bring back what is on the page, not the link that cannot be opened.
            if let Some(view) = untrack(|| planner.view()) {
                write(&view.to_fragment());
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
    if let Ok(history) = window().history() {
        // A browser that forbids it loses the current address, not the page.
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{fragment}")));
    }
}
