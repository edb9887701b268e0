//! No import cycles between the modules of a crate, at any level.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_tests::workspace_dir;

/// Path of a module or an item below the root of its crate; empty for the root itself.
type Names = Vec<String>;
/// Imports of modules that have the same parent.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the source folders of the workspace, relative to its root.
fn sources() -> anyhow::Result<Vec<String>> {
    let manifest = fs::read_to_string(workspace_dir().join("Cargo.toml"))?;
    let (_, members) = manifest.split_once("members = [").context("the manifest lists the members")?;
    let (members, _) = members.split_once(']').context("the list of members ends")?;
    Ok(members.split('"').skip(1).step_by(2).map(|member| format!("{member}/src")).collect())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the modules of a crate with their text.
fn modules(source: &Path) -> anyhow::Result<Vec<(Names, String)>> {
    let mut all = Vec::new();
    files(source, &mut all)?;
    all.retain(|file| !file.ends_with("tests.rs"));
    all.iter().map(|file| Ok((module(source, file), fs::read_to_string(file)?))).collect()
}

/// Returns the path of a file's module.
fn module(source: &Path, file: &Path) -> Names {
    let below = file.strip_prefix(source).unwrap_or(file).with_extension("");
    let mut path: Names = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    path.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    path
}

/// Returns the code without comments and without the unit tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Splits the inside of braces at its outermost commas.
fn list(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (place, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&text[start..place]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    items.into_iter().map(str::trim).collect()
}

/// Adds the paths below `base` that a text begins with: one, or several in braces.
fn expand(text: &str, base: &[String], paths: &mut Vec<Names>) {
    if let Some(inside) = text.strip_prefix('{') {
        list(inside).into_iter().for_each(|item| expand(item, base, paths));
        return;
    }
    let name = name(text);
    let path = [base, &[name.to_owned()]].concat();
    match text[name.len()..].strip_prefix("::") {
        Some(rest) => expand(rest, &path, paths),
        None => paths.push(path),
    }
}

/// Returns the paths that the code of a module mentions: after `crate::`, `self::` or `super::`.
fn mentioned(code: &str, module: &[String]) -> Vec<Names> {
    let mut paths = Vec::new();
    for root in ["crate::", "self::", "super::"] {
        for (place, _) in code.match_indices(root) {
            let before = code[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let mut base = if root == "crate::" { &[] } else { module };
            let mut rest = &code[place..];
            while let Some(after) = rest.strip_prefix("super::") {
                (base, rest) = (&base[..base.len().saturating_sub(1)], after);
            }
            expand(rest.strip_prefix(root).unwrap_or(rest), base, &mut paths);
        }
    }
    paths
}

/// Returns the imports between the modules of each parent. A child imports another one if a file of
/// the first, or below it, mentions the second.
fn imports(modules: &[(Names, String)]) -> BTreeMap<Names, Imports> {
    let known: BTreeSet<&[String]> =
        modules.iter().flat_map(|(path, _)| (1..=path.len()).map(|depth| &path[..depth])).collect();
    let mut imports: BTreeMap<Names, Imports> = BTreeMap::new();
    for (from, text) in modules {
        for to in mentioned(&code(text), from) {
            let depth = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(child), Some(other)) = (from.get(depth), to.get(depth))
                && known.contains(&to[..=depth])
            {
                let level = imports.entry(from[..depth].to_vec()).or_default();
                level.entry(child.clone()).or_default().insert(other.clone());
            }
        }
    }
    imports
}

/// Returns modules that import each other, directly or through others.
fn cycle(imports: &Imports) -> Vec<String> {
    let mut left = imports.clone();
    loop {
        let importing: BTreeSet<String> = left.keys().cloned().collect();
        let imported: BTreeSet<String> = left.values().flatten().cloned().collect();
        // A module without imports of, or by, remaining modules is in no cycle.
        left.retain(|module, names| imported.contains(module) && !names.is_disjoint(&importing));
        if left.len() == importing.len() {
            return left.into_keys().collect();
        }
    }
}

/// Returns the cycles among the children of each module, with the path of their parent.
fn cycles(modules: &[(Names, String)]) -> Vec<(String, Vec<String>)> {
    let found = imports(modules).into_iter().map(|(parent, imports)| (parent.join("::"), cycle(&imports)));
    found.filter(|(_, cycle)| !cycle.is_empty()).collect()
}

#[test]
fn the_modules_of_a_crate_do_not_import_each_other_in_a_cycle() {
    for source in sources().unwrap() {
        let found = cycles(&modules(&workspace_dir().join(&source)).unwrap());
        assert!(found.is_empty(), "{source}: {found:?}");
    }
}

#[test]
fn a_cycle_is_found_at_its_level_through_braces_self_and_super() {
    let found = |files: &[(&str, &str)]| {
        let module = |(path, text): &(&str, &str)| (path.split("::").map(str::to_owned).collect(), (*text).to_owned());
        cycles(&files.iter().map(module).collect::<Vec<_>>())
    };
    let pair = |parent: &str| vec![(parent.to_owned(), vec!["x".to_owned(), "y".to_owned()])];
    assert_eq!(
        found(&[("x", "use crate::{z::{A, B}, y::C};"), ("y", "use super::x;"), ("z", ""), ("w", "use crate::x;")]),
        pair("")
    );
    assert_eq!(found(&[("a::x", "use crate::{a::{b::A, y::B}};"), ("a::y", "fn f() { super::x::g() }")]), pair("a"));
    assert_eq!(found(&[("a::x::deep", "use super::super::y::{self, A};"), ("a::y", "use crate::a::x::B;")]), pair("a"));
    // The parent may import its children, and they may import it.
    assert!(
        found(&[("a", "pub use self::x::B;"), ("a::x", "use super::A; use crate::a::y::C;"), ("a::y", "")]).is_empty()
    );
    assert!(found(&[("x", "use crate::y::A;"), ("y", "use other_crate::x; use self::x;")]).is_empty());
    assert!(
        found(&[("x", "use crate::y;"), ("y", "// crate::x\n#[cfg(test)]\nmod tests {\nuse crate::x;")]).is_empty()
    );
}
