//! No import cycles between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_tests::workspace_dir;

/// Imports of each top-level module of a crate.
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

/// Returns the path of a file's module below the root of its crate; empty for the root itself.
fn module(source: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(source).unwrap_or(file).with_extension("");
    let mut path: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
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

/// Returns the names at the root of the crate that a module's code mentions: after `crate::`, or
/// after as many `super::` as the module is deep.
fn mentioned(code: &str, depth: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let roots = ["crate::".to_owned(), "super::".repeat(depth)];
    for root in &roots {
        for (place, _) in code.match_indices(root.as_str()) {
            let before = code[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            let rest = &code[place + root.len()..];
            match rest.strip_prefix('{') {
                Some(inside) => names.extend(list(inside).into_iter().map(|item| name(item).to_owned())),
                None => drop(names.insert(name(rest).to_owned())),
            }
        }
    }
    names
}

fn imports(source: &Path) -> anyhow::Result<Imports> {
    let mut all = Vec::new();
    files(source, &mut all)?;
    let modules: BTreeSet<String> = all.iter().filter_map(|file| module(source, file).into_iter().next()).collect();
    let mut imports = Imports::new();
    for file in all.iter().filter(|file| !file.ends_with("tests.rs")) {
        let path = module(source, file);
        let Some(top) = path.first() else { continue };
        let mut names = mentioned(&code(&fs::read_to_string(file)?), path.len());
        names.retain(|name| name != top && modules.contains(name));
        imports.entry(top.clone()).or_default().extend(names);
    }
    Ok(imports)
}

/// Returns modules that import each other, directly or through others.
fn cycle(imports: &Imports) -> Vec<String> {
    let mut left = imports.clone();
    // A module that imports nothing that is left is part of no cycle.
    while let Some(leaf) = left.iter().find(|(_, names)| names.is_empty()).map(|(module, _)| module.clone()) {
        left.remove(&leaf);
        for names in left.values_mut() {
            names.remove(&leaf);
        }
    }
    left.into_keys().collect()
}

#[test]
fn the_modules_of_a_crate_do_not_import_each_other_in_a_cycle() {
    for source in sources().unwrap() {
        let found = cycle(&imports(&workspace_dir().join(&source)).unwrap());
        assert!(found.is_empty(), "{source}: {found:?}");
    }
}

#[test]
fn a_cycle_through_braces_and_through_super_is_found() {
    let imports = |of_a: &str, of_b: &str| {
        let module =
            |code: &str| mentioned(code, 1).into_iter().filter(|name| ["a", "b"].contains(&name.as_str())).collect();
        Imports::from([("a".to_owned(), module(of_a)), ("b".to_owned(), module(of_b))])
    };
    assert_eq!(cycle(&imports("use crate::{c::{D, a}, b::E};", "use super::a;")), ["a", "b"]);
    assert!(cycle(&imports("use crate::b::E;", "use other_crate::a; use super::super::a;")).is_empty());
    assert_eq!(code("use crate::b; // use crate::c\n#[cfg(test)]\nmod tests {\nuse crate::d;"), "use crate::b; ");
}
