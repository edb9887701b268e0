//! Tables of other tools: any bytes are rejected or converted into valid runs, the same with both
//! kinds of line ends.
#![no_main]

use foreglow_shared::{FieldSource, Job, Mapping, MappingError, Table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let jobs = jobs(bytes);
    // A cell in quotes may hold line ends, and zeros are of UTF-16.
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(['\r', '"', '\0'])
    {
        let other = self::jobs(text.replace('\n', "\r\n").as_bytes());
        assert_eq!(other.as_ref().ok(), jobs.as_ref().ok());
    }
    let Ok(jobs) = jobs else { return };
    for run in jobs.iter().flat_map(|job| &job.observations) {
        assert!(run.completion_time_secs.is_finite() && run.completion_time_secs > 0.0);
        assert!(run.sampling_rate > 0.0 && run.sampling_rate <= 1.0);
        assert!(run.executors > 0 && run.cores_per_executor > 0);
    }
});

fn jobs(bytes: &[u8]) -> Result<Vec<Job>, MappingError> {
    let table = Table::read(bytes)?;
    let mut mapping = Mapping::guess(table.header());
    for field in mapping.missing() {
        mapping.places.insert(field, FieldSource::Fixed("1000".into()));
    }
    mapping.jobs(&table)
}
