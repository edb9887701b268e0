//! Files of samples: any bytes are parsed or rejected, and parsed samples round-trip through JSON
//! Lines.
#![no_main]

use foreglow_shared::{read_samples, write_csv, write_jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(samples) = read_samples(bytes) else { return };
    assert_eq!(read_samples(write_jsonl(&samples).as_bytes()).as_ref(), Ok(&samples));
    // Extra fields may have names that are ambiguous as CSV columns, so CSV only must not panic.
    let _ = read_samples(write_csv(&samples).as_bytes());
});
