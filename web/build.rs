//! Hashes the sources of all types in the messages between the page and its workers, so that
//! modules of different builds recognise each other.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

const SOURCES: [&str; 5] = ["src", "../shared/src", "../model/src", "../model/learner/src", "../model/predictor/src"];

fn main() -> Result<()> {
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        list(Path::new(folder), &mut files)?;
    }
    // File systems list files in different orders.
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        for byte in fs::read(file)? {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=FOREGLOW_SOURCES={hash:016x}");
    Ok(())
}

/// Lists the files in a folder and its subfolders.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { list(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
