//! Lines between a driver and its executors: any line is rejected, or is the same after it was
//! written and read, and the arithmetic on its numbers ends.
#![no_main]

use foreglow_protocol::{Assignment, Order, Report, mini_batches};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn read_back<T: DeserializeOwned + Serialize>(line: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(line).ok()?;
    let text = serde_json::to_string(&read).ok()?;
    let again: T = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(serde_json::to_string(&again).ok().as_deref(), Some(&*text));
    Some(read)
}

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(assignment) = read_back::<Assignment>(line) {
            let (partition, batch) = (u64::from(assignment.partition_size), u64::from(assignment.batch_size));
            if partition > 0 && batch > 0 {
                let sizes = mini_batches(assignment.images, partition, batch);
                assert!(sizes.iter().all(|size| *size > 0 && *size as u64 <= batch), "{sizes:?}");
            }
        }
        read_back::<Order>(line);
        read_back::<Report>(line);
    }
});
