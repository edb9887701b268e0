//! Text of events, the same for all listeners.

use std::fmt::Write as _;

use axum::body::Bytes;
use foreglow_shared::parse_line;
use serde::Deserialize;

use foreglow_store::Store;

/// Samples per query of the store.
const BATCH: usize = 250;
/// Samples that are counted together in events of jobs.
const JOB_BATCH: usize = 10_000;

/// Kind of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Of {
    /// One event per sample.
    #[default]
    Samples,
    /// One event per job, with its number of new samples; the planner needs no more.
    Jobs,
}

/// The events of the samples between two positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Position after which its samples begin.
    pub(super) after: i64,
    /// Position of its last sample.
    pub(super) end: i64,
    /// The events; empty if none of the samples can be read.
    pub(super) text: Bytes,
}

impl Of {
    /// Returns the next events after a position, up to another position; `None` without samples.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn read(self, store: &Store, after: i64, until: i64) -> anyhow::Result<Option<Part>> {
        let mut text = String::new();
        let end = match self {
            Self::Samples => {
                let (lines, end) = store.lines_after(after, until, BATCH)?;
                // The store returns only valid samples.
                let samples = lines.iter().filter_map(|line| Some((line, parse_line(line).ok()?.id)));
                samples.for_each(|(line, id)| write_event(&mut text, "sample", line, Some(&id.to_string())));
                end
            }
            Self::Jobs => {
                let (arrived, end, last_id) = store.arrived_after(after, until, JOB_BATCH)?;
                for (index, job) in arrived.iter().enumerate() {
                    let data = serde_json::json!({ "job": job.job, "samples": job.samples }).to_string();
                    // A client continues after the last event that had an id.
                    let id = last_id.filter(|_| index + 1 == arrived.len()).map(|id| id.to_string());
                    write_event(&mut text, "job", &data, id.as_deref());
                }
                end
            }
        };
        Ok((end > after).then(|| Part { after, end, text: text.into() }))
    }
}

fn write_event(text: &mut String, name: &str, data: &str, id: Option<&str>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "event: {name}");
    for line in data.lines() {
        let _ = writeln!(text, "data: {line}");
    }
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line_and_has_a_field_for_each_line_of_data() {
        let mut text = String::new();
        write_event(&mut text, "sample", "{}", Some("1"));
        write_event(&mut text, "job", "a\nb", None);
        assert_eq!(text, "event: sample\ndata: {}\nid: 1\n\nevent: job\ndata: a\ndata: b\n\n");
    }
}
