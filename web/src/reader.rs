//! The module for rarely used work: it reads files, advises, evaluates the published scenarios and
//! compares machine types.
#![cfg_attr(target_arch = "wasm32", no_main)]

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    use wasm_bindgen::JsCast;

    if let Ok(scope) = js_sys::global().dyn_into::<web_sys::DedicatedWorkerGlobalScope>() {
        foreglow_web::worker::serve_readings(&scope);
    }
}

/// The crate does nothing outside a browser.
#[cfg(not(target_arch = "wasm32"))]
fn main() {}
