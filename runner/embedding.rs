//! Part of two build scripts: rebuilds a crate when the folder that it embeds has changed.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Watches a folder that the build embeds.
pub fn watch(folder: &str) {
    // Cargo treats a missing watched path as changed and would rebuild every time. If the folder
    // cannot be created, each build rebuilds the crate.
    let _ = fs::create_dir_all(folder);
    println!("cargo::rerun-if-changed={folder}");
    // The stamp changes when files appear or disappear, and with it the code that embeds them.
    println!("cargo::rustc-env=FOREGLOW_EMBEDDED_STAMP={}", stamp(Path::new(folder)));
}

/// Returns a hash of the names, sizes and modification times of the files in a folder.
fn stamp(folder: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        entry.file_name().hash(&mut hasher);
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            stamp(&entry.path()).hash(&mut hasher);
        }
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (metadata.len(), modified).hash(&mut hasher);
    }
    hasher.finish()
}
