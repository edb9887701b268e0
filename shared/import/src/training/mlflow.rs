//! Metric files of MLflow: `mlruns/…/metrics/NAME`.

use foreglow_progress::Recorder;
use foreglow_shared::Curve;

use super::{Run, refused};
use crate::{Given, Import, ImportError, Importer, Input};

/// A metric of MLflow: lines of milliseconds since 1970, value and step.
pub struct MlflowMetric;

impl Importer for MlflowMetric {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        // The last line of the start may be cut.
        let complete = start.rfind('\n').map_or(start, |end| &start[..end]);
        !complete.trim().is_empty() && complete.lines().all(|line| point(line).is_some())
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let bytes = input.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut recorder = Recorder::default();
        let mut zero = None;
        for (ms, step) in text.lines().filter_map(point) {
            let zero = *zero.get_or_insert(ms);
            recorder.push((ms - zero).max(0.0) / 1000.0, step);
        }
        let points = recorder.points();
        if points.len() < 2 {
            return Err(refused(
                "its metric has one step only; give a metric that was logged with step= during the training, such as the loss",
            ));
        }
        let mut run = Run::new(Curve { unit: "steps".to_owned(), of: None, per_epoch: None, points });
        run.started_at_secs = zero.map(|ms: f64| ms / 1000.0);
        run.import(given)
    }
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
