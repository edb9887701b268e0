//! Runs wasm-bindgen, which makes the glue `NAME.js` and the module `NAME_bg.wasm`, and removes
//! unused exports.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use walrus::Module;
use wasm_bindgen_cli_support::Bindgen;

use crate::order::order_functions;

/// Prefix of the stream classes that Leptos exports for server functions. wasm-bindgen keeps every
/// export, called or not.
const IDLE: &str = "IntoUnderlying";
/// Name of the import module through which the wasm module calls the glue.
const GLUE: &str = "g";
/// Indentation of an entry of the glue's imports.
const IN_IMPORTS: &str = "        ";

/// Short names for the imports and exports, keyed by wasm-bindgen's long ones.
#[derive(Default)]
struct Names {
    imports: BTreeMap<String, String>,
    exports: BTreeMap<String, String>,
}

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
    let generate = || {
        let mut bindgen = Bindgen::new();
        bindgen.input_path(wasm).out_name(name).typescript(false).demangle(false);
        bindgen.remove_name_section(true).remove_producers_section(true);
        let mut output = bindgen.web(true)?.generate_output()?;
        let names = shorten(output.wasm_mut());
        output.emit(out)?;
        anyhow::Ok(names)
    };
    let names = generate().with_context(|| format!("binding {}", wasm.display()))?;
    order_functions(&out.join(format!("{name}_bg.wasm")))?;
    let glue = out.join(format!("{name}.js"));
    let text = fs::read_to_string(&glue).with_context(|| format!("reading {}", glue.display()))?;
    fs::write(&glue, names.glue(&text, name)).with_context(|| format!("writing {}", glue.display()))
}

/// Removes unused exports and shortens the names of the rest. Each name occurs in both files and
/// contains a hash, which does not compress.
fn shorten(module: &mut Module) -> Names {
    let idle: Vec<_> = module.exports.iter().filter(|export| is_idle(&export.name)).map(|export| export.id()).collect();
    idle.into_iter().for_each(|export| module.exports.delete(export));
    walrus::passes::gc::run(module);
    let mut names = Names::default();
    for (place, import) in module.imports.iter_mut().enumerate() {
        let short = format!("i{place}");
        names.imports.insert(std::mem::replace(&mut import.name, short.clone()), short);
        import.module = GLUE.into();
    }
    for (place, export) in module.exports.iter_mut().filter(|export| export.name.starts_with("_ZN")).enumerate() {
        let short = format!("export{place}");
        names.exports.insert(std::mem::replace(&mut export.name, short.clone()), short);
    }
    names
}

fn is_idle(export: &str) -> bool {
    export.contains(&IDLE.to_ascii_lowercase())
}

impl Names {
    /// The glue with the short names and without the entries that the module no longer imports.
    fn glue(&self, text: &str, name: &str) -> String {
        let mut plain = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let imported = line.strip_prefix(IN_IMPORTS).and_then(|entry| entry.split_once(": function"));
            let short = imported.map(|(import, _)| self.imports.get(import));
            let is_left_out = |beginning: &str| line.strip_prefix(beginning).is_some_and(|rest| rest.starts_with(IDLE));
            if short == Some(None) {
                lines.by_ref().find(|line| line.starts_with(&format!("{IN_IMPORTS}}}")));
            } else if is_left_out("export class ") {
                lines.by_ref().find(|line| line.starts_with('}'));
            } else if is_left_out("const ") {
                lines.by_ref().find(|line| line.ends_with(';'));
            } else if let (Some((_, rest)), Some(Some(short))) = (imported, short) {
                plain.push_str(&format!("{short}: function{rest}\n"));
            } else if !is_left_out("if (Symbol.dispose) ") {
                plain.push_str(&format!("{}\n", line.trim_start()));
            }
        }
        // The longest first, because some names are prefixes of others.
        let mut exports: Vec<(&String, &String)> = self.exports.iter().collect();
        exports.sort_by_key(|(long, _)| std::cmp::Reverse(long.len()));
        let named = exports.into_iter().fold(plain, |text, (long, short)| text.replace(long, short));
        named.replace(&format!("\"./{name}_bg.js\""), GLUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glue_keeps_what_the_module_imports_under_short_names_and_drops_the_rest() {
        let names = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let names = Names {
            imports: names(&[("__wbg_a_0123456789abcdef", "i0")]),
            exports: names(&[("_ZN1fE", "export0"), ("_ZN1fE_15", "export1")]),
        };
        let glue = "export class IntoUnderlyingSink {\n    free() {\n    }\n}\n\
            if (Symbol.dispose) IntoUnderlyingSink.prototype[Symbol.dispose] = 1;\n\
            function imports() {\n    const import0 = {\n        __wbg_a_0123456789abcdef: function(arg0) {\n            wasm._ZN1fE_15();\n        },\n        \
            __wbg_b_0123456789abcdef: function() { return handleError(function (arg0) {\n            wasm._ZN1fE();\n        }, arguments); },\n    };\n    \
            return { \"./page_bg.js\": import0 };\n}\n\
            const IntoUnderlyingSinkFinalization = (typeof FinalizationRegistry === 'undefined')\n    ? {}\n    : 1;\nlet wasm;\n";
        let expected = "function imports() {\nconst import0 = {\ni0: function(arg0) {\nwasm.export1();\n},\n};\nreturn { g: import0 };\n}\nlet wasm;\n";
        assert_eq!(names.glue(glue, "page"), expected);
    }
}
