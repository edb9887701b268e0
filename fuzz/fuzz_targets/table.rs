//! Tables of other tools: any bytes are rejected or converted into valid runs.
#![no_main]

use foreglow_shared::{FieldSource, ForeignTable, Mapping};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = ForeignTable::read(bytes) else { return };
    let mut mapping = Mapping::guess(table.headers());
    for field in mapping.missing() {
        mapping.places.insert(field, FieldSource::Fixed("1000".into()));
    }
    let Ok(jobs) = table.jobs(&mapping) else { return };
    for run in jobs.iter().flat_map(|job| &job.observations) {
        assert!(run.completion_time_secs.is_finite() && run.completion_time_secs > 0.0);
        assert!(run.sampling_rate > 0.0 && run.sampling_rate <= 1.0);
        assert!(run.executors > 0 && run.cores_per_executor > 0);
    }
});
