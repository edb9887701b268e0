//! Files of checkpoints: any bytes are rejected, or are those of a checkpoint, and only its own
//! files are deleted. Half of the inputs get a right checksum.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use foreglow_engine::remove_checkpoint;
use foreglow_shared::Fingerprint;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("the folder of temporary files is writable"));

fuzz_target!(|bytes: &[u8]| {
    let (path, other) = (FOLDER.path().join("a"), FOLDER.path().join("other"));
    fs::write(&other, "another file").expect("the temporary file is writable");
    let mut content = bytes.to_vec();
    if bytes.len() % 2 == 0 {
        content.push(b'\n');
        let mut checksum = Fingerprint::default();
        checksum.add(&content);
        content.extend(checksum.to_string().bytes());
    }
    fs::write(&path, content).expect("the temporary file is writable");
    let removed = remove_checkpoint(&path);
    assert_eq!(removed.is_ok(), !path.exists());
    assert!(other.exists());
});
