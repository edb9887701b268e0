//! The keyboard focus.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Moves the focus to a control.
pub fn focus(selector: &str) {
    let control = document().query_selector(selector).ok().flatten();
    if let Some(control) = control.and_then(|control| control.dyn_into::<HtmlElement>().ok()) {
        // Focusing fails only for a hidden control.
        let _ = control.focus();
    }
}

/// Moves the focus to the successor of a removed control: after the removal of the focused element,
/// the focus is on the page.
pub fn refocus(selector: &str) {
    if document().active_element().is_none_or(|focused| focused.tag_name() == "BODY") {
        focus(selector);
    }
}
