//! The state and the results of Hugging Face's Trainer.

use foreglow_shared::Curve;
use serde_json::Value;

use super::{Run, refused, without_nan};
use crate::{Given, Import, ImportError, Importer, Input};

/// Returns the steps of the whole job from the state of a run, also of one that goes on; `None` for
/// another file.
pub fn steps_of_trainer(state: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(&without_nan(state)).ok()?.get("max_steps")?.as_u64().filter(|steps| *steps > 0)
}

/// `trainer_state.json`, `all_results.json` and `train_results.json`.
pub struct TrainerState;

impl Importer for TrainerState {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        start.starts_with('{')
            && (["\"global_step\"", "\"log_history\""].iter().all(|name| start.contains(name))
                || ["\"train_runtime\"", "\"train_samples_per_second\""].iter().all(|name| start.contains(name)))
    }

    /// Reads the time of a finished run; the state has no times of single steps.
    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let state: Value = serde_json::from_slice(&without_nan(&input.bytes()?))
            .map_err(|error| refused(format!("it is not the state of a Trainer ({error}); give the complete file")))?;
        let history = state.get("log_history").and_then(Value::as_array);
        let results = history.and_then(|history| history.iter().rfind(|entry| entry.get("train_runtime").is_some()));
        let results = results.unwrap_or(&state);
        let number = |name: &str| results.get(name).or_else(|| state.get(name)).and_then(Value::as_f64);
        let secs = number("train_runtime").filter(|secs| *secs > 0.0).ok_or_else(|| {
            refused(
                "it has no time, because the run has not ended; import the event files of TensorBoard that the Trainer wrote \
                 (report_to=\"tensorboard\"), or its log",
            )
        })?;
        // Without the state, the rate and the time give the number of steps.
        let steps = number("global_step").or_else(|| Some((number("train_steps_per_second")? * secs).round()));
        let steps = steps.filter(|steps| *steps >= 1.0).ok_or_else(|| refused("it has no number of steps"))?;
        let curve = Curve {
            unit: "steps".to_owned(),
            of: Some(number("max_steps").filter(|of| *of >= steps).unwrap_or(steps)),
            per_epoch: None,
            points: vec![(0.0, 0.0), (secs, steps)],
        };
        let is_whole = curve.of == Some(steps);
        let count = |name: &str| number(name).filter(|count| *count >= 1.0).map(|count| count as u64);
        let mut run = Run::new(curve)
            .with_label("epochs", count("num_train_epochs"))
            .with_label("images", count("train_samples"))
            .with_label("batch_size", count("train_batch_size"));
        run.labels.set("mode", "training");
        run.finished_secs = is_whole.then_some(secs);
        run.import(given)
    }
}
