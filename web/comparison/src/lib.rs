//! The worker that compares all learners of the published grid.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::DedicatedWorkerGlobalScope;

#[wasm_bindgen(start)]
fn start() {
    if let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() {
        foreglow_web::worker::serve_comparison(&scope);
    }
}
