//! Event logs: any bytes, in chunks of any size, are parsed or rejected, and every resulting sample
//! is valid.
#![no_main]

use foreglow_spark_log::{EventLogReader, Labels};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((piece, log)) = bytes.split_first() else { return };
    let mut reader = EventLogReader::new();
    log.chunks(usize::from(*piece) + 1).for_each(|bytes| reader.push(bytes));
    let Ok(application) = reader.finish() else { return };
    for run in application.runs().iter().flatten() {
        assert!(run.completion_time_secs() >= 0.0);
        if let Ok((sample, _)) = run.sample(&Labels::default(), "0.1.0") {
            assert_eq!(sample.check(), Ok(()));
        }
    }
});
