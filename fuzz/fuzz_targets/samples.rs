//! Files of samples: any bytes are parsed or rejected, and parsed samples round-trip through JSON
//! Lines. Both kinds of line ends give the same samples.
#![no_main]

use foreglow_shared::{ReadError, read_samples, write_csv, write_jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = read_samples(bytes);
    // A cell in quotes may hold line ends, and zeros are of UTF-16.
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(['\r', '"', '\0'])
        // Its place is a byte, not a line.
        && !matches!(read, Err(ReadError::NotText(_)))
    {
        assert_eq!(read_samples(text.replace('\n', "\r\n").as_bytes()), read);
    }
    let Ok(samples) = read else { return };
    assert_eq!(read_samples(write_jsonl(&samples).as_bytes()).as_ref(), Ok(&samples));
    // Extra fields may have names that are ambiguous as CSV columns, so CSV only must not panic.
    let _ = read_samples(write_csv(&samples).as_bytes());
});
