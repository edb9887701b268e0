//! Progress that a program declares in JSON: the own protocol, and the log of MLPerf.

use memchr::memmem;
use serde_json::Value;

use crate::reading::{Epoch, Reading, Source, hash};

const MLLOG: &[u8] = b":::MLLOG";

/// Reads a line of the own protocol, `{"foreglow":{"done":128,"of":5000,"unit":"images"}}`, in
/// which only `done` is required.
pub(crate) fn read_protocol(line: &[u8]) -> Option<Reading> {
    memmem::find(line, b"\"foreglow\"")?;
    let line: Value = serde_json::from_slice(&line[memchr::memchr(b'{', line)?..]).ok()?;
    let progress = line.get("foreglow")?;
    let number = |name: &str| progress.get(name).and_then(Value::as_f64);
    let unit = progress.get("unit").and_then(Value::as_str).map(str::trim).filter(|unit| !unit.is_empty());
    Some(Reading {
        source: Source::Declared,
        key: hash(4, []),
        step: number("done").filter(|done| *done >= 0.0)?,
        of: number("of").filter(|of| *of > 0.0),
        unit: unit.unwrap_or("steps").chars().take(20).collect::<String>().into(),
        epoch: None,
    })
}

/// A line of `:::MLLOG`.
pub(crate) struct Logged {
    /// Milliseconds since 1970.
    pub time_ms: f64,
    pub batch_size: Option<f64>,
    pub reading: Option<Reading>,
}

/// Reads a line of MLPerf's log. Counts of samples are finer than steps, and steps than epochs.
pub(crate) fn read_mllog(line: &[u8]) -> Option<Logged> {
    let start = memmem::find(line, MLLOG)?;
    let event: Value = serde_json::from_slice(line[start + MLLOG.len()..].trim_ascii()).ok()?;
    let time_ms = event.get("time_ms").and_then(Value::as_f64)?;
    let metadata = event.get("metadata")?;
    let number = |names: &[&str]| names.iter().find_map(|name| metadata.get(name).and_then(Value::as_f64));
    let key = event.get("key").and_then(Value::as_str).unwrap_or_default();
    let (is_start, is_stop) = (key.ends_with("_start"), key == "epoch_stop");
    let batch_size = event.get("value").and_then(Value::as_f64).filter(|_| key == "global_batch_size");
    let epoch = number(&["epoch_num"]);
    let counts = [
        (number(&["samples_count", "sample_count"]), "samples", 0),
        (number(&["step_num", "step"]), "steps", 1),
        // An epoch counts when it ends.
        (epoch.filter(|_| is_start || is_stop).map(|epoch| epoch - f64::from(u8::from(is_start))), "epochs", 2),
    ];
    let reading = counts.into_iter().find_map(|(count, unit, key)| {
        let step = count.filter(|count| *count >= 0.0)?;
        let source = Source::Declared;
        Some(Reading { source, key: hash(5, [key]), step, of: None, unit: unit.into(), epoch: None })
    });
    Some(Logged { time_ms, batch_size, reading })
}

/// Returns the number of an epoch with the epochs of the job.
pub(crate) fn epoch(number: Option<f64>) -> Option<Epoch> {
    number.map(|number| Epoch { number, of: None })
}
