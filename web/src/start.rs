//! Where the page's module begins: the same one runs as the page and as the fit worker.

use std::panic::PanicHookInfo;

use wasm_bindgen::JsCast;
use web_sys::{DedicatedWorkerGlobalScope, Document, Window};

use crate::{app, worker};

/// Runs as what it finds itself to be.
pub fn start() {
    let global = js_sys::global();
    if let Some(window) = global.dyn_ref::<Window>() {
        std::panic::set_hook(Box::new(apologise));
        app::mount(window);
    } else if let Ok(scope) = global.dyn_into::<DedicatedWorkerGlobalScope>() {
        worker::serve_fits(&scope);
    }
}

/// Nothing should panic; if something does, the person gets a sentence, and the console the rest.
fn apologise(info: &PanicHookInfo<'_>) {
    console_error_panic_hook::hook(info);
    let document: Option<Document> = web_sys::window().and_then(|window| window.document());
    let Some((document, body)) = document.and_then(|document| document.body().map(|body| (document, body))) else {
        return;
    };
    if let Ok(note) = document.create_element("p") {
        note.set_class_name("alert crashed");
        // Whatever fails here fails in a page that has already stopped.
        let _ = note.set_attribute("role", "alert");
        note.set_text_content(Some(
            "A mistake of ours stopped the planner. The address bar still holds your work: reload the page. If it happens \
             again, please report it with that address.",
        ));
        let _ = body.prepend_with_node_1(&note);
    }
}
