//! Files of samples: any bytes are read or refused, and what is read comes back from JSON Lines and CSV as it is.
#![no_main]

use foreglow_shared::{read_samples, write_csv, write_jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(samples) = read_samples(bytes) else { return };
    assert_eq!(read_samples(write_jsonl(&samples).as_bytes()).as_ref(), Ok(&samples));
    // Fields of other tools may have names that a table cannot hold apart.
    let _ = read_samples(write_csv(&samples).as_bytes());
});
