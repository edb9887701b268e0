//! Zip files with Spark event logs, as a history server sends them: any bytes are rejected, or give
//! logs that are read as far as possible. No entry leads out of the folder for unpacked files.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use foreglow_event_log::{find, read};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> =
    LazyLock::new(|| TempDir::new().expect("the folder for temporary files is writable"));

fuzz_target!(|bytes: &[u8]| {
    let (zip, unpacked) = (FOLDER.path().join("logs.zip"), FOLDER.path().join("unpacked"));
    fs::write(&zip, bytes).expect("the temporary file is writable");
    fs::create_dir_all(&unpacked).expect("the temporary folder is writable");
    for log in find(&[&zip], &[], &unpacked).into_iter().flatten() {
        let _ = read(&log);
    }
    assert_eq!(entries(FOLDER.path()), [zip, unpacked.clone()]);
    // Each archive has a folder of its own here.
    assert!(entries(&unpacked).len() <= 1);
    fs::remove_dir_all(&unpacked).expect("unpacked files can be deleted");
});

/// Returns the entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    paths.sort();
    paths
}
