//! Files of `--monitor`: any bytes are rejected or read into runs with moments.
#![no_main]

use foreglow_shared::{is_monitor, read_monitor};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = is_monitor(bytes);
    let Ok(runs) = read_monitor(bytes) else { return };
    assert!(runs.iter().all(|run| !run.moments.is_empty()));
});
