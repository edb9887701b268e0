//! The direction of dependencies: shared ← model ← web, runner, and below it the crates of the
//! runner; tests sees all.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use foreglow_tests::workspace_dir;
use serde_json::Value;

/// The workspace's packages that each package may depend on.
const ALLOWED: [(&str, &[&str]); 33] = [
    ("foreglow-shared", &[]),
    ("foreglow-numeric", &[]),
    ("foreglow-curve", &["foreglow-shared", "foreglow-numeric"]),
    ("foreglow-learner", &["foreglow-shared", "foreglow-numeric"]),
    ("foreglow-predictor", &["foreglow-shared", "foreglow-numeric", "foreglow-learner"]),
    ("foreglow-public", &["foreglow-shared", "foreglow-numeric", "foreglow-onnx"]),
    (
        "foreglow-model",
        &[
            "foreglow-shared",
            "foreglow-numeric",
            "foreglow-learner",
            "foreglow-predictor",
            "foreglow-public",
            "foreglow-curve",
            "foreglow-onnx",
        ],
    ),
    ("foreglow-exit", &["foreglow-shared"]),
    ("foreglow-architectures", &[]),
    ("foreglow-onnx", &[]),
    ("foreglow-progress", &["foreglow-shared"]),
    ("foreglow-spark-log", &["foreglow-shared"]),
    ("foreglow-import", &["foreglow-shared", "foreglow-progress", "foreglow-spark-log"]),
    ("foreglow-event-log", &["foreglow-import", "foreglow-spark-log", "foreglow-exit"]),
    ("foreglow-store", &["foreglow-shared", "foreglow-exit"]),
    ("foreglow-collector", &["foreglow-shared", "foreglow-exit", "foreglow-store"]),
    ("foreglow-machine", &["foreglow-shared", "foreglow-model", "foreglow-exit"]),
    ("foreglow-data", &["foreglow-shared", "foreglow-exit", "foreglow-architectures"]),
    ("foreglow-protocol", &["foreglow-shared", "foreglow-data", "foreglow-machine"]),
    (
        "foreglow-cnn",
        &["foreglow-shared", "foreglow-exit", "foreglow-architectures", "foreglow-machine", "foreglow-onnx"],
    ),
    (
        "foreglow-executor",
        &[
            "foreglow-shared",
            "foreglow-exit",
            "foreglow-architectures",
            "foreglow-machine",
            "foreglow-data",
            "foreglow-protocol",
            "foreglow-cnn",
        ],
    ),
    (
        "foreglow-engine",
        &[
            "foreglow-shared",
            "foreglow-progress",
            "foreglow-spark-log",
            "foreglow-model",
            "foreglow-exit",
            "foreglow-architectures",
            "foreglow-machine",
            "foreglow-data",
            "foreglow-protocol",
        ],
    ),
    (
        "foreglow-console",
        &[
            "foreglow-shared",
            "foreglow-import",
            "foreglow-spark-log",
            "foreglow-model",
            "foreglow-exit",
            "foreglow-event-log",
            "foreglow-architectures",
            "foreglow-store",
            "foreglow-machine",
            "foreglow-engine",
        ],
    ),
    ("foreglow-launch", &["foreglow-shared", "foreglow-import", "foreglow-exit"]),
    (
        "foreglow-networks",
        &[
            "foreglow-shared",
            "foreglow-model",
            "foreglow-exit",
            "foreglow-architectures",
            "foreglow-machine",
            "foreglow-cnn",
            "foreglow-engine",
            "foreglow-console",
        ],
    ),
    (
        "foreglow-measurement",
        &[
            "foreglow-shared",
            "foreglow-progress",
            "foreglow-exit",
            "foreglow-architectures",
            "foreglow-collector",
            "foreglow-machine",
            "foreglow-data",
            "foreglow-protocol",
            "foreglow-cnn",
            "foreglow-engine",
            "foreglow-console",
        ],
    ),
    (
        "foreglow-runner",
        &[
            "foreglow-console",
            "foreglow-measurement",
            "foreglow-networks",
            "foreglow-launch",
            "foreglow-shared",
            "foreglow-spark-log",
            "foreglow-import",
            "foreglow-model",
            "foreglow-exit",
            "foreglow-architectures",
            "foreglow-event-log",
            "foreglow-store",
            "foreglow-collector",
            "foreglow-machine",
            "foreglow-data",
            "foreglow-cnn",
            "foreglow-executor",
            "foreglow-engine",
        ],
    ),
    ("foreglow-web", &["foreglow-shared", "foreglow-import", "foreglow-model", "foreglow-onnx"]),
    ("foreglow-comparison", &["foreglow-web"]),
    ("foreglow-python", &["foreglow-shared", "foreglow-model"]),
    ("foreglow-tests", &["foreglow-shared", "foreglow-spark-log", "foreglow-model"]),
    ("foreglow-accuracy", &["foreglow-shared", "foreglow-model"]),
    ("foreglow-public-measurements", &["foreglow-shared", "foreglow-public"]),
];

/// The crates of `shared` and `model`.
const PURE: [&str; 11] = [
    "foreglow-shared",
    "foreglow-onnx",
    "foreglow-progress",
    "foreglow-spark-log",
    "foreglow-import",
    "foreglow-numeric",
    "foreglow-curve",
    "foreglow-learner",
    "foreglow-predictor",
    "foreglow-public",
    "foreglow-model",
];

/// Packages that would give `shared` and `model` access to files, sockets, clocks or randomness.
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

/// Names of a package's dependencies, except those for tests and those for a single target: on
/// wasm, Burn needs explicit dependencies that other platforms provide implicitly.
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

/// Folders of the crates that the binary consists of, relative to the workspace.
fn folders_of_the_binary(packages: &[Value]) -> Vec<String> {
    let find = |name: &str| packages.iter().find(|package| package["name"] == name);
    let mut names = vec!["foreglow-runner"];
    let mut next = 0;
    while next < names.len() {
        let own = find(names[next]).map(dependencies).unwrap_or_default();
        let new: Vec<&str> = own.into_iter().filter(|name| find(name).is_some() && !names.contains(name)).collect();
        names.extend(new);
        next += 1;
    }
    let manifests = names.into_iter().skip(1).filter_map(find).filter_map(|package| package["manifest_path"].as_str());
    let root = workspace_dir();
    manifests
        .filter_map(|manifest| Path::new(manifest).parent()?.strip_prefix(&root).ok()?.to_str().map(str::to_owned))
        .collect()
}

/// `foreglow --version` names the commit of the sources. A crate that the build script does not
/// list could change without it.
#[test]
fn the_recorded_commit_follows_every_crate_of_the_binary() {
    let script = std::fs::read_to_string(workspace_dir().join("runner/build.rs")).unwrap();
    let folders = folders_of_the_binary(&packages().unwrap());
    assert!(folders.len() > 15, "{folders:?}");
    for folder in folders {
        let source = folder.strip_prefix("runner/").map_or_else(|| format!("../{folder}/src"), str::to_owned);
        let mut listed = script.split(|letter: char| letter == '"' || letter.is_whitespace());
        assert!(listed.any(|word| word == source), "SOURCES in runner/build.rs lacks {source}");
    }
}

/// The crates that run networks; they and their dependents compile Burn.
const BRING_BURN: [&str; 4] = ["foreglow-cnn", "foreglow-executor", "foreglow-networks", "foreglow-measurement"];
/// Other crates that compile Burn.
const USE_BURN: [&str; 3] = ["foreglow-learner", "foreglow-comparison", "foreglow-runner"];

/// The other crates compile without Burn, so that a change in them is tested in seconds.
#[test]
fn only_crates_about_networks_depend_on_burn() {
    for package in &packages().unwrap() {
        let name = package["name"].as_str().unwrap();
        for dependency in dependencies(package) {
            let brings_burn = dependency.starts_with("burn") || BRING_BURN.contains(&dependency);
            let may = USE_BURN.contains(&name) || BRING_BURN.contains(&name);
            assert!(!brings_burn || may, "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn shared_and_model_have_no_dependency_that_does_io() {
    for package in &packages().unwrap() {
        let name = package["name"].as_str().unwrap();
        if PURE.contains(&name) {
            for dependency in dependencies(package) {
                assert!(!AMBIENT.contains(&dependency), "{name} must not depend on {dependency}");
            }
        }
    }
}
