//! Event logs: any bytes are parsed or rejected, alike in chunks of any size, and every resulting
//! sample is valid.
#![no_main]

use foreglow_shared::Labels;
use foreglow_spark_log::EventLogReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((piece, log)) = bytes.split_first() else { return };
    let mut reader = EventLogReader::new();
    log.chunks(usize::from(*piece) + 1).for_each(|bytes| reader.push(bytes));
    let mut at_once = EventLogReader::new();
    at_once.push(log);
    let application = reader.finish();
    assert_eq!(application, at_once.finish());
    let Ok(application) = application else { return };
    for run in application.runs().iter().flatten() {
        assert!(run.completion_time_secs() >= 0.0);
        if let Ok((sample, _)) = run.sample(&Labels::default(), "0.1.0") {
            assert_eq!(sample.check(), Ok(()));
        }
    }
});
