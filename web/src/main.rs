//! The module of the page and of its planning worker.
#![cfg_attr(target_arch = "wasm32", no_main)]

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    foreglow_web::start();
}

/// The crate does nothing outside a browser.
#[cfg(not(target_arch = "wasm32"))]
fn main() {}
