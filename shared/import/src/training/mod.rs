//! What training leaves behind: files with the progress of a run.

mod history;
mod log;
mod mlflow;
mod tensorboard;
mod trainer;

use foreglow_shared::{Curve, Labels, Outcome, RUN_SECS, Timestamp, parse_line};
use serde_json::json;

pub use self::history::History;
pub use self::log::Log;
pub use self::mlflow::MlflowMetric;
pub use self::tensorboard::TensorBoard;
pub use self::trainer::TrainerState;
use crate::identity::run_id;
use crate::{Given, Import, ImportError};

/// Values that every sample needs.
const NEEDED: [&str; 6] = ["model", "mode", "image_px", "images", "batch_size", "memory_per_executor_mib"];

/// A training run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    /// The progress; its times start with the run.
    curve: Curve,
    /// Start of the run, seconds since 1970, if the file tells it.
    started_at_secs: Option<f64>,
    /// Time of the finished run, if the file tells it.
    finished_secs: Option<f64>,
    /// What the file tells about the job.
    labels: Labels,
}

impl Run {
    fn new(curve: Curve) -> Self {
        Self { curve, started_at_secs: None, finished_secs: None, labels: Labels::default() }
    }

    fn with_label(mut self, name: &str, value: Option<u64>) -> Self {
        self.labels.set(name, value.map(|value| value.to_string()).unwrap_or_default());
        self
    }

    /// Returns the run as a sample of the whole job; `given` has what the file lacks.
    fn import(self, given: &Given) -> Result<Import, ImportError> {
        let rates = given.sampling_rates.first().filter(|rate| **rate < 1.0);
        if rates.is_some() {
            return Err(refused(
                "its progress tells the share of the job; omit --sampling-rate and give the images and epochs of the job",
            ));
        }
        let labels = self.labels.clone().with_flags(&given.labels)?;
        let mut needed = NEEDED.to_vec();
        if labels.get("mode") == Some("training") {
            needed.push("epochs");
        }
        let missing = labels.missing(&needed);
        if !missing.is_empty() {
            return Err(foreglow_shared::LabelError::Missing(missing).into());
        }
        let mut notes = Vec::new();
        let sample = self.sample(&labels, given, &mut notes)?;
        Ok(Import { samples: vec![sample], notes, problems: Vec::new() })
    }

    fn sample(
        &self,
        labels: &Labels,
        given: &Given,
        notes: &mut Vec<String>,
    ) -> Result<foreglow_shared::Sample, ImportError> {
        let (last_secs, done) = self.curve.last().ok_or_else(|| refused("it has no progress"))?;
        let at = |secs: f64| Timestamp::from_millisecond((secs * 1000.0) as i64).unwrap_or(Timestamp::UNIX_EPOCH);
        let recorded_start = self.started_at_secs.map(at);
        let started_at = recorded_start.unwrap_or_else(|| match given.written_at {
            Some(end) => {
                notes.push("the file has no date, so that the run is dated by when the file was written".to_owned());
                at(end.as_millisecond() as f64 / 1000.0 - last_secs)
            }
            None => {
                notes.push("the file has no date, so that the run is dated 1970-01-01".to_owned());
                Timestamp::UNIX_EPOCH
            }
        });
        let startup_secs = self.curve.startup_secs().unwrap_or(0.0);
        let secs = self.finished_secs.unwrap_or(last_secs) - startup_secs;
        notes.push("it counts as a run of one executor with one core, because the file does not tell them".to_owned());
        let mut sample = given.labelled(labels);
        // A copy of the file, which is written later, has the same run.
        let dated = recorded_start.unwrap_or(Timestamp::UNIX_EPOCH);
        sample["id"] = run_id(&format!("{:?}", self.curve), dated).to_string().into();
        sample["sampling_rate"] = 1.0.into();
        sample["outcome"] = Outcome::TimedOut.as_str().into();
        sample["completion_time_secs"] = secs.max(*RUN_SECS.start()).into();
        sample["startup_secs"] = startup_secs.into();
        sample["started_at"] = started_at.to_string().into();
        sample["progress"] = json!(self.curve);
        let batch_size = sample["workload"]["batch_size"].clone();
        let configuration = &mut sample["configuration"];
        configuration["executors"] = 1.into();
        configuration["cores_per_executor"] = 1.into();
        if configuration["partition_size"].is_null() {
            configuration["partition_size"] = batch_size;
        }
        let mut sample = parse_line(&sample.to_string()).map_err(|error| refused(error.to_string()))?;
        let unit = &self.curve.unit;
        // Programs that count steps from 0 end one earlier.
        let uncounted = if unit == "epochs" { 0.0 } else { 1.0 };
        match sample.whole_units() {
            Some(whole) if done + uncounted >= whole || self.finished_secs.is_some() => {
                sample.outcome = Outcome::Completed;
            }
            Some(whole) => sample.reason = Some(format!("its progress ends after {done} of {whole} {unit}")),
            None => {
                return Err(refused(format!(
                    "it counts {unit}, of which the whole job is not known; record the progress in steps or images"
                )));
            }
        }
        notes.extend(sample.reason.clone());
        Ok(sample)
    }
}

fn refused(sentence: impl Into<String>) -> ImportError {
    ImportError::Training(sentence.into())
}
