//! Progress that a program declares in JSON: the own protocol, and the log of MLPerf.

use memchr::memmem;
use serde_json::Value;

use crate::reading::{Epoch, Reading, Source, hash};

const MLLOG: &[u8] = b":::MLLOG";
/// Larger numbers of epochs are numbers of samples, which some programs write in their place.
const MOST_EPOCHS: f64 = 1e5;

/// Reads a line of the own protocol, `{"foreglow":{"done":128,"of":5000,"unit":"images"}}`, in
/// which only `done` is required.
pub(crate) fn read_protocol(line: &[u8]) -> Option<Reading> {
    memmem::find(line, b"\"foreglow\"")?;
    let line: Value = serde_json::from_slice(&line[memchr::memchr(b'{', line)?..]).ok()?;
    let progress = line.get("foreglow")?;
    let number = |name: &str| progress.get(name).and_then(Value::as_f64);
    let unit = progress.get("unit").and_then(Value::as_str).map(str::trim).filter(|unit| !unit.is_empty());
    let unit = unit.unwrap_or("steps").chars().take(20).collect::<String>();
    let done = number("done").filter(|done| *done >= 0.0)?;
    let of = number("of").filter(|of| *of > 0.0);
    Some(Reading { of, ..Reading::new(Source::Declared, hash(4, []), done, unit) })
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
    let batch_size = event.get("value").and_then(Value::as_f64).filter(|_| key == "global_batch_size");
    let count = |step: Option<f64>, unit: &'static str, rank: u8| {
        let step = step.filter(|step| *step >= 0.0)?;
        Some(Reading::new(Source::Declared, hash(5, [rank]), step, unit))
    };
    let reading = count(number(&["samples_count", "sample_count"]), "samples", 0)
        .or_else(|| count(number(&["step_num", "step"]), "steps", 1))
        .or_else(|| epochs(key, number(&["epoch_num"]), number(&["first_epoch_num"])));
    Some(Logged { time_ms, batch_size, reading })
}

/// Reads the event of an epoch, of a block of epochs or of an evaluation. Programs number epochs
/// from 0 or from 1, evaluations by the epochs before them, and the ends of blocks in several ways.
fn epochs(key: &str, epoch: Option<f64>, first_of_block: Option<f64>) -> Option<Reading> {
    let from_one = |number: f64| if number >= 1.0 { 1.0 } else { 0.0 };
    let (source, rank, step, origin) = match key {
        "epoch_start" => (Source::Declared, 2, epoch?, from_one(epoch?)),
        "epoch_stop" => (Source::Declared, 2, epoch? + 1.0, from_one(epoch?)),
        "block_start" => (Source::Blocks, 3, first_of_block?, from_one(first_of_block?)),
        // A number such as 1.05 is that of an evaluation in the first epoch.
        _ if key.starts_with("eval_") => {
            (Source::Evaluations, 4, epoch?, if epoch?.fract() == 0.0 { 0.0 } else { from_one(epoch?) })
        }
        _ => return None,
    };
    let unit = if step < MOST_EPOCHS { "epochs" } else { "samples" };
    (step >= 0.0).then(|| Reading { origin, ..Reading::new(source, hash(5, [rank]), step, unit) })
}

/// Returns the number of an epoch with the epochs of the job.
pub(crate) fn epoch(number: Option<f64>) -> Option<Epoch> {
    number.map(|number| Epoch { number, of: None })
}
