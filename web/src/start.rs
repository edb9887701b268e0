//! The entry point of the module, which runs both as the page and as the planning worker.

use std::panic::PanicHookInfo;

use wasm_bindgen::JsCast;
use web_sys::{DedicatedWorkerGlobalScope, Document, Window};

use crate::{app, worker};

/// Starts the page or the planning worker, depending on the global scope.
pub fn start() {
    let global = js_sys::global();
    if let Some(window) = global.dyn_ref::<Window>() {
        std::panic::set_hook(Box::new(apologise));
        app::mount(window);
    } else if let Ok(scope) = global.dyn_into::<DedicatedWorkerGlobalScope>() {
        worker::serve_plans(&scope);
    }
}

/// Panic hook: shows one sentence on the page and logs the details to the console.
fn apologise(info: &PanicHookInfo<'_>) {
    console_error_panic_hook::hook(info);
    let document: Option<Document> = web_sys::window().and_then(|window| window.document());
    let Some((document, body)) = document.and_then(|document| document.body().map(|body| (document, body))) else {
        return;
    };
    if let Ok(note) = document.create_element("p") {
        note.set_class_name("alert crashed");
        // The page has already failed, so an error here cannot be reported.
        let _ = note.set_attribute("role", "alert");
        note.set_text_content(Some(
            "The planner stopped because of a bug. The address bar still holds your work: reload the page. If it happens \
             again, please report it with that address.",
        ));
        let _ = body.prepend_with_node_1(&note);
    }
}
