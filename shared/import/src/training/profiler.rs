//! Traces of PyTorch's profiler: `*.pt.trace.json`, in the format of Chrome's tracing.

use std::borrow::Cow;

use foreglow_progress::Recorder;
use foreglow_shared::{Curve, format_duration};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use super::{Run, refused};
use crate::{Given, Import, ImportError, Importer, Input};

const MICROS_PER_SEC: f64 = 1e6;
const NANOS_PER_SEC: f64 = 1e9;

/// A trace with the steps that `profiler.step()` ends.
pub struct ProfilerTrace;

impl Importer for ProfilerTrace {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        start.starts_with('{')
            && start.contains("\"schemaVersion\"")
            && ["\"traceEvents\"", "\"deviceProperties\""].iter().any(|name| start.contains(name))
    }

    /// Reads the steps, and says which share of them waits for data or communicates.
    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let trace: Trace = serde_json::from_slice(&input.bytes()?)
            .map_err(|error| refused(format!("it is no complete trace of a profiler ({error}); export it again")))?;
        let mut spans = trace.events;
        spans.steps.sort_by(|a, b| a.start.total_cmp(&b.start));
        let (Some(first), Some(last)) = (spans.steps.first().copied(), spans.steps.last()) else {
            return Err(refused(
                "it has no steps; call step() of the profiler after each training step, and record 6 steps or more",
            ));
        };
        let whole = Span { start: first.start, end: last.end };
        let count = spans.steps.len();
        let mut recorder = Recorder::default();
        recorder.push(0.0, 0.0);
        for (done, step) in (1..).zip(&spans.steps) {
            recorder.push((step.end - first.start) / MICROS_PER_SEC, f64::from(done));
        }
        let share = |of: Vec<Span>| format!("{:.0} %", 100.0 * covered(of, whole) / (whole.end - whole.start).max(1.0));
        let note = format!(
            "its {count} steps take {} on average, of which {} wait for data and {} communicate, some of it while they \
             compute; the profiler itself makes steps slower",
            format_duration((whole.end - whole.start) / MICROS_PER_SEC / count as f64),
            share(spans.waits),
            share(spans.communication)
        );
        let curve = Curve { unit: "steps".to_owned(), of: None, per_epoch: None, points: recorder.points() };
        let mut run = Run::new(curve);
        run.started_at_secs = trace.zero_nanos.map(|zero| zero / NANOS_PER_SEC + first.start / MICROS_PER_SEC);
        let mut import = run.import(given)?;
        import.notes.push(note);
        Ok(import)
    }
}

/// A trace; other fields are skipped.
#[derive(serde::Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Spans,
    /// Zero of the times, since 1970; absent from older traces.
    #[serde(rename = "baseTimeNanoseconds")]
    zero_nanos: Option<f64>,
}

/// A time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    start: f64,
    end: f64,
}

/// What is kept of the events, of which a trace may have millions.
#[derive(Clone, Debug, Default, PartialEq)]
struct Spans {
    steps: Vec<Span>,
    /// Waits for the next mini-batch.
    waits: Vec<Span>,
    /// Exchange of gradients between processes.
    communication: Vec<Span>,
}

/// An event; those with a length have the phase `X`.
#[derive(serde::Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(default)]
    ts: Option<f64>,
    #[serde(default)]
    dur: Option<f64>,
}

impl Spans {
    fn add(&mut self, event: &Event<'_>) {
        let Some((start, length)) = event.ts.zip(event.dur) else { return };
        let span = Span { start, end: start + length };
        // Annotations are repeated on the GPU.
        let is_on_host = event.cat != "gpu_user_annotation";
        if event.name.starts_with("ProfilerStep#") && is_on_host {
            self.steps.push(span);
        } else if event.name.starts_with("enumerate(DataLoader)") && is_on_host {
            self.waits.push(span);
        } else if event.name.starts_with("nccl") && event.cat == "kernel" || event.name.starts_with("gloo:") {
            self.communication.push(span);
        }
    }
}

impl<'de> Deserialize<'de> for Spans {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Events;
        impl<'de> Visitor<'de> for Events {
            type Value = Spans;

            fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                text.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Spans, A::Error> {
                let mut spans = Spans::default();
                while let Some(event) = events.next_element::<Event<'de>>()? {
                    spans.add(&event);
                }
                Ok(spans)
            }
        }
        deserializer.deserialize_seq(Events)
    }
}

/// Returns the time within `whole` that at least one span covers, microseconds.
fn covered(mut spans: Vec<Span>, whole: Span) -> f64 {
    spans.sort_by(|a, b| a.start.total_cmp(&b.start));
    let (mut until, mut sum) = (whole.start, 0.0);
    for span in spans {
        let end = span.end.min(whole.end);
        sum += (end - span.start.max(until)).max(0.0);
        until = until.max(end);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_are_counted_once() {
        let span = |start, end| Span { start, end };
        let whole = span(10.0, 20.0);
        assert_eq!(covered(vec![span(12.0, 14.0), span(0.0, 11.0), span(13.0, 15.0), span(18.0, 90.0)], whole), 6.0);
        assert_eq!(covered(Vec::new(), whole), 0.0);
    }
}
