//! The page's module, which is its fit worker too.
#![cfg_attr(target_arch = "wasm32", no_main)]

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
fn start() {
    foreglow_web::start();
}

/// There is nothing to run outside a browser.
#[cfg(not(target_arch = "wasm32"))]
fn main() {}
