//! Import of a Spark event log: the runs with complete labels.

use foreglow_shared::Sample;
use foreglow_spark_log::{EventLogReader, Labels, NoSample};

/// The first bytes of every event.
const EVENT: &[u8] = b"{\"Event\":";
/// Magic bytes of files compressed with zstd, LZ4 blocks, xerial's snappy or LZF.
const COMPRESSED: [&[u8]; 4] = [b"\x28\xb5\x2f\xfd", b"LZ4Block", b"\x82SNAPPY\0", b"ZV"];

/// Whether a file is an uncompressed Spark event log.
pub fn is_event_log(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(EVENT)
}

/// Whether a file has one of Spark's compression formats for event logs.
pub fn is_compressed(bytes: &[u8]) -> bool {
    COMPRESSED.iter().any(|magic| bytes.starts_with(magic))
}

/// Extracts the timing samples of a log.
///
/// # Errors
/// The log has no sample; one sentence without its full stop.
pub fn samples(bytes: &[u8]) -> Result<Vec<Sample>, String> {
    let mut reader = EventLogReader::new();
    reader.push(bytes);
    let application = reader.finish().map_err(|error| error.to_string())?;
    let runs = application.runs().map_err(|error| error.to_string())?;
    let sample = |run: &foreglow_spark_log::Run<'_>| run.sample(&Labels::default(), env!("CARGO_PKG_VERSION"));
    let samples: Result<Vec<(Sample, Vec<String>)>, NoSample> = runs.iter().map(sample).collect();
    match samples {
        Ok(samples) => Ok(samples.into_iter().map(|(sample, _)| sample).collect()),
        Err(error) => Err(format!("{error}; `foreglow import` takes these as flags and writes samples that open here")),
    }
}
