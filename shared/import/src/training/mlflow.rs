//! Metrics of MLflow: its files `mlruns/…/metrics/NAME`, and the history of metrics as JSON.

use std::collections::BTreeMap;

use foreglow_progress::Recorder;
use foreglow_shared::Curve;
use serde_json::Value;

use super::{Run, refused, without_nan};
use crate::{Given, Import, ImportError, Importer, Input};

/// A metric of MLflow: lines of milliseconds since 1970, value and step, or JSON with lists of
/// these, such as the answer of its server to `metrics/get-history`.
pub struct MlflowMetric;

impl Importer for MlflowMetric {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        if start.starts_with(['{', '[']) {
            return ["\"timestamp\"", "\"step\"", "\"value\""].iter().all(|name| start.contains(name));
        }
        // The last line of the start may be cut.
        let complete = start.rfind('\n').map_or(start, |end| &start[..end]);
        !complete.trim().is_empty() && complete.lines().all(|line| point(line).is_some())
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let bytes = input.bytes()?;
        let points = match bytes.trim_ascii_start() {
            [b'{' | b'[', ..] => {
                let export: Value = serde_json::from_slice(&without_nan(&bytes)).map_err(|error| {
                    refused(format!("it is no complete export of MLflow ({error}); export it again"))
                })?;
                longest_history(&export)
            }
            text => String::from_utf8_lossy(text).lines().filter_map(point).collect(),
        };
        let mut recorder = Recorder::of_file();
        let mut zero = None;
        for (ms, step) in points {
            let zero = *zero.get_or_insert(ms);
            recorder.push((ms - zero).max(0.0) / 1000.0, step);
        }
        let points = recorder.points();
        if points.len() < 2 {
            return Err(refused(
                "its metric has one step only; give a metric that was logged with step= during the training, such as the loss",
            ));
        }
        let curve = Curve { unit: "steps".to_owned(), of: None, per_epoch: None, points };
        Run::recorded(curve, &recorder, zero.map(|ms: f64| ms / 1000.0)).import(given)
    }
}

/// Returns the milliseconds and the steps of the metric with most values, wherever it is in an
/// export.
fn longest_history(export: &Value) -> Vec<(f64, f64)> {
    let inner: Box<dyn Iterator<Item = &Value>> = match export {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(object) => Box::new(object.values()),
        _ => return Vec::new(),
    };
    let mut metrics: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for entry in export.as_array().into_iter().flatten() {
        let number = |name: &str| entry.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
        let key = entry.get("key").and_then(Value::as_str).unwrap_or_default();
        metrics.entry(key).or_default().extend(number("timestamp").zip(number("step")));
    }
    metrics.into_values().chain(inner.map(longest_history)).max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the milliseconds and the step of a line.
fn point(line: &str) -> Option<(f64, f64)> {
    let mut words = line.split(' ');
    let (ms, value, step) = (words.next()?, words.next()?, words.next()?);
    let is_time = (12..=14).contains(&ms.len()) && ms.bytes().all(|byte| byte.is_ascii_digit());
    value.parse::<f64>().ok()?;
    let step: i64 = step.parse().ok()?;
    (words.next().is_none() && is_time && step >= 0).then_some((ms.parse().ok()?, step as f64))
}
