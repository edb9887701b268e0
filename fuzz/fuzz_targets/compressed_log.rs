//! Compressed Spark event logs: any bytes are decompressed as far as possible.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use foreglow_event_log::{LogFiles, read};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

static FILE: LazyLock<NamedTempFile> =
    LazyLock::new(|| NamedTempFile::new().expect("the folder for temporary files is writable"));

fuzz_target!(|bytes: &[u8]| {
    fs::write(FILE.path(), bytes).expect("the temporary file is writable");
    let log = LogFiles { name: "log".into(), files: vec![FILE.path().to_owned()], gaps: Vec::new() };
    let _ = log.input().expect("the file can be read").start();
    let _ = read(&log);
});
