//! Errors of the file system below SQLite.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::program::workspace_dir;

/// Compiles the library of `tests/io-faults`, which makes calls of the file system fail, into a
/// folder.
///
/// # Errors
/// The library cannot be compiled.
pub fn library(folder: &Path) -> anyhow::Result<PathBuf> {
    let library = folder.join("libforeglow_io_faults.so");
    let output = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o"])
        .arg(&library)
        .arg(workspace_dir().join("tests/io-faults/faults.c"))
        .arg("-ldl")
        .output()
        .context("the C compiler cannot be started")?;
    anyhow::ensure!(output.status.success(), "it does not compile: {}", String::from_utf8_lossy(&output.stderr));
    Ok(library)
}
