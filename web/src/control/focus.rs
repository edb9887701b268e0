//! The keyboard focus.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Focuses the successor of a control that the user has operated, if it is gone: the focus is then
/// on the page itself.
pub fn refocus(selector: &str) {
    if document().active_element().is_some_and(|focused| focused.tag_name() != "BODY") {
        return;
    }
    let control = document().query_selector(selector).ok().flatten();
    if let Some(control) = control.and_then(|control| control.dyn_into::<HtmlElement>().ok()) {
        // A control that cannot be focused is not shown.
        let _ = control.focus();
    }
}
