//! Records the text of `foreglow --version`.

use std::env;
use std::path::Path;
use std::process::Command;

/// Parts that the collector and the engine embed: name, folder, and the file without which the part
/// is missing.
const EMBEDDED: [(&str, &str, &str); 2] =
    [("planner", "../target/planner", "index.html"), ("spark", "../target/spark", "foreglow-spark.jar")];
/// Sources of the binary. Changes to other files do not update the recorded commit.
const SOURCES: [&str; 27] = [
    "build.rs",
    "src",
    "Cargo.toml",
    "architectures",
    "cnn",
    "collector",
    "console",
    "data",
    "engine",
    "event-log",
    "executor",
    "exit",
    "launch",
    "machine",
    "measurement",
    "networks",
    "protocol",
    "store",
    "../model/src",
    "../model/learner/src",
    "../model/numeric/src",
    "../model/predictor/src",
    "../model/public/src",
    "../shared/src",
    "../shared/onnx/src",
    "../shared/import/src",
    "../shared/spark-log/src",
    "../Cargo.lock",
];
const ROOT: &str = "..";

fn main() {
    let mut parts: Vec<&str> = Vec::new();
    for (name, folder, file) in EMBEDDED {
        println!("cargo::rerun-if-changed={folder}");
        parts.extend(Path::new(folder).join(file).is_file().then_some(name));
    }
    for source in SOURCES {
        // For a missing file, cargo would rerun this script and recompile the binary at each build.
        assert!(Path::new(source).exists(), "{source} is listed in build.rs and does not exist");
        println!("cargo::rerun-if-changed={source}");
    }
    // The linker folds identical code, because generic code of the GPU stack is compiled many times
    // to the same instructions.
    if links_with_rusts_own_linker() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-env-changed=FOREGLOW_COMMIT");
    println!("cargo::rustc-env=FOREGLOW_BUILD_COMMIT={}", commit());
    println!("cargo::rustc-env=FOREGLOW_BUILD_FEATURES={}", listed(&features()));
    println!("cargo::rustc-env=FOREGLOW_BUILD_PARTS={}", listed(&parts));
}

/// Returns the commit of the sources: `FOREGLOW_COMMIT` if a packager sets it, else that of git,
/// else `unknown commit`. Git is asked only if the root has a `.git`, because an unpacked archive
/// may be inside the repository of another project.
fn commit() -> String {
    let set = env::var("FOREGLOW_COMMIT").ok().filter(|commit| is_plain(commit));
    let of_git = || {
        let is_repository = Path::new(ROOT).join(".git").exists();
        let arguments = ["-C", ROOT, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=-modified"];
        let output = Command::new("git").args(arguments).output().ok().filter(|_| is_repository)?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_owned()).filter(|commit| output.status.success() && is_plain(commit))
    };
    set.or_else(of_git).map_or_else(|| "unknown commit".to_owned(), |commit| format!("commit {commit}"))
}

/// Whether the linker is the one that rustc ships for its most common target. It can fold identical
/// code; other linkers would reject the option.
fn links_with_rusts_own_linker() -> bool {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let is = |name: &str| env::var(name).is_ok_and(|target| target == TARGET);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linker = env::var("RUSTC_LINKER");
    if !is("TARGET") || !is("HOST") || linker.is_ok() || ["linker", "fuse-ld"].iter().any(|word| flags.contains(word)) {
        return false;
    }
    let output =
        env::var("RUSTC").ok().and_then(|rustc| Command::new(rustc).args(["--print", "sysroot"]).output().ok());
    let sysroot = output.filter(|output| output.status.success());
    sysroot.is_some_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Path::new(&folder).join("lib/rustlib").join(TARGET).join("bin/gcc-ld/ld.lld").exists()
    })
}

fn is_plain(commit: &str) -> bool {
    !commit.is_empty() && commit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
}

/// Returns the cargo features of this build, without `default`.
fn features() -> Vec<String> {
    let features = env::var("CARGO_CFG_FEATURE").unwrap_or_default();
    let is_named = |name: &&str| !name.is_empty() && *name != "default";
    let mut names: Vec<String> = features.split(',').filter(is_named).map(str::to_owned).collect();
    names.sort();
    names
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
