//! Dependencies point one way: shared ← model ← web, runner; tests see all.

use std::process::Command;

use anyhow::Context as _;
use foreglow_tests::workspace_dir;
use serde_json::Value;

/// Which packages of the workspace each may depend on.
const ALLOWED: [(&str, &[&str]); 6] = [
    ("foreglow-shared", &[]),
    ("foreglow-model", &["foreglow-shared"]),
    ("foreglow-runner", &["foreglow-shared", "foreglow-model"]),
    ("foreglow-web", &["foreglow-shared", "foreglow-model"]),
    ("foreglow-tests", &["foreglow-shared", "foreglow-model"]),
    ("foreglow-accuracy", &["foreglow-shared", "foreglow-model"]),
];

/// Packages with which `shared` and `model` could reach a file, a socket, a clock or chance.
const AMBIENT: [&str; 8] = ["tokio", "ureq", "rusqlite", "getrandom", "rand", "web-sys", "rustix", "instant"];

fn packages() -> anyhow::Result<Vec<Value>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
        .current_dir(workspace_dir())
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok(metadata["packages"].as_array().context("cargo lists the packages")?.clone())
}

/// Names of a package's dependencies, those for tests apart, and those that are for one target alone: a browser gives
/// Burn's dependencies what every other platform gives them unasked.
fn dependencies(package: &Value) -> Vec<&str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"] != "dev" && dependency["target"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .collect()
}

#[test]
fn dependencies_between_the_crates_point_one_way() {
    let packages = packages().unwrap();
    assert_eq!(packages.len(), ALLOWED.len(), "a new crate needs its place in ALLOWED");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let (_, allowed) = ALLOWED.iter().find(|(allowed, _)| *allowed == name).unwrap();
        let own = dependencies(package).into_iter().filter(|d| d.starts_with("foreglow-"));
        for dependency in own {
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn shared_and_model_depend_on_nothing_that_reaches_the_outside() {
    for package in &packages().unwrap() {
        let name = package["name"].as_str().unwrap();
        if ["foreglow-shared", "foreglow-model"].contains(&name) {
            for dependency in dependencies(package) {
                assert!(!AMBIENT.contains(&dependency), "{name} must not depend on {dependency}");
            }
        }
    }
}
