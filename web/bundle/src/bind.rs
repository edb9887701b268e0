//! Runs wasm-bindgen, which makes the glue `NAME.js` and the module `NAME_bg.wasm`.

use std::fs;
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
    bound.with_context(|| format!("binding {}", wasm.display()))?;
    let glue = out.join(format!("{name}.js"));
    let text = fs::read_to_string(&glue).with_context(|| format!("reading {}", glue.display()))?;
    crate::write(&glue, &without_comments(&text))
}

/// Minifies the glue: removes the lines of comments, indentation and empty lines.
fn without_comments(glue: &str) -> String {
    let is_code = |line: &&str| !line.is_empty() && !["//", "/*", "*"].iter().any(|mark| line.starts_with(mark));
    glue.lines().map(str::trim).filter(is_code).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glue_loses_lines_of_comments_and_its_indentation() {
        let glue =
            "/**\n * A call.\n * @returns {number}\n */\nfunction a() {\n    // Why.\n    return 2 * b; // c\n}\n\n";
        assert_eq!(without_comments(glue), "function a() {\nreturn 2 * b; // c\n}\n");
    }
}
