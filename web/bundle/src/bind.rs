//! Runs wasm-bindgen, which makes the glue `NAME.js` and the module `NAME_bg.wasm`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// Writes the glue and the module.
///
/// # Errors
/// The module is missing or invalid, or the folder cannot be written.
pub fn bind(wasm: &Path, name: &str, out: &Path) -> Result<()> {
    if !wasm.is_file() {
        bail!(
            "{} is missing; build it first: cargo build -p {name} --target wasm32-unknown-unknown --profile planner",
            wasm.display()
        );
    }
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).out_name(name).typescript(false).demangle(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let bound = bindgen.web(true).and_then(|bindgen| bindgen.generate(out));
    bound.with_context(|| format!("binding {}", wasm.display()))
}
