//! What the user says about the runs of a file.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::{Engine, Labels, SCHEMA, Sample, Timestamp, Uuid};
use serde_json::{Value, json};

use crate::{ImportError, Work};

/// Largest ratio of two amounts of work that count as equal: random shares of the same images do
/// not have exactly the same bytes.
const EQUAL_WORK: f64 = 1.05;

/// What the user says about the runs of a file. Where the file has the same value, the two must
/// agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Values of all runs.
    pub labels: Labels,
    /// Sampling rate of each run, in the order of the runs; or one for all.
    pub sampling_rates: Vec<f64>,
    /// Engine of the runs.
    pub engine: Option<Engine>,
    /// Step of Slurm's jobs that did the work: a number, or `batch`.
    pub step: Option<String>,
    /// Machine type of the runs.
    pub machine: Option<String>,
    /// Name of the run, from its files: [`run_name`](crate::run_name).
    pub name: Option<String>,
    /// When the file was last written: the end of a run whose file has no date.
    pub written_at: Option<Timestamp>,
}

impl Given {
    /// Returns what the labels of a run tell, as the JSON of a sample without the run itself.
    pub(crate) fn labelled(&self, labels: &Labels) -> Value {
        let label = |name: &str| labels.get(name).map(str::trim);
        let number = |name: &str| label(name).and_then(|text| text.parse::<u64>().ok());
        json!({
            "schema": SCHEMA,
            "workload": {
                "model": label("model"),
                "mode": label("mode"),
                "image_px": number("image_px"),
                "images": number("images"),
                "epochs": number("epochs").unwrap_or(1),
                "batch_size": number("batch_size"),
                "data": label("data"),
            },
            "configuration": {
                "memory_per_executor_mib": number("memory_per_executor_mib"),
                "partition_size": number("partition_size"),
                "accelerator": label("accelerator"),
            },
            "engine": self.engine.map_or("local", |engine| engine.as_str()),
            "runner_version": env!("CARGO_PKG_VERSION"),
            "host": { "cpu": label("cpu"), "adapter": label("adapter") },
        })
    }

    /// Returns an option that only training runs have.
    pub(crate) fn of_training_runs(&self) -> Option<&'static str> {
        [("steps", "--steps"), ("gpus", "--gpus")]
            .into_iter()
            .find(|(label, _)| self.labels.get(label).is_some())
            .map(|(_, flag)| flag)
    }

    /// Names the machine type of runs whose file does not.
    ///
    /// # Errors
    /// A run has another machine type.
    pub(crate) fn name_machine(&self, samples: &mut [Sample]) -> Result<(), ImportError> {
        let Some(given) = &self.machine else { return Ok(()) };
        for sample in samples {
            let named = sample.host.machine.get_or_insert_with(|| given.clone());
            if named != given {
                let (value, given) = (format!("{named:?}"), given.clone());
                return Err(ImportError::Contradiction {
                    id: sample.id,
                    label: "machine",
                    value,
                    flag: "--machine",
                    given,
                });
            }
        }
        Ok(())
    }

    /// Checks that one sampling rate is not given for runs of different or unknown work. `rated`
    /// has the [`rated`](crate::Import::rated) runs of all files.
    ///
    /// # Errors
    /// It is.
    pub fn check_rate(&self, rated: &BTreeMap<Uuid, Option<Work>>) -> Result<(), ImportError> {
        let is_one = match self.sampling_rates.len() {
            0 => self.labels.get("sampling_rate").is_some(),
            count => count == 1,
        };
        let works: Option<Vec<Work>> = rated.values().copied().collect();
        let is_equal = works.is_some_and(|works| {
            let amounts = || works.iter().map(|(_, amount)| *amount as f64);
            let units = works.iter().map(|(unit, _)| unit).collect::<BTreeSet<_>>().len();
            units <= 1 && amounts().fold(0.0, f64::max) <= EQUAL_WORK * amounts().fold(f64::INFINITY, f64::min)
        });
        if is_one && rated.len() > 1 && !is_equal { Err(ImportError::OneRate(rated.len())) } else { Ok(()) }
    }

    /// Returns what the user says about each of the runs of a file, whose names `named` lists for
    /// the message.
    ///
    /// # Errors
    /// The number of sampling rates is not that of the runs.
    pub(crate) fn labels_of_runs(&self, runs: usize, named: impl Fn() -> String) -> Result<Vec<Labels>, ImportError> {
        let rates = self.sampling_rates.len();
        if rates > 1 && rates != runs {
            return Err(ImportError::Rates { rates, runs: named() });
        }
        let of_run = |place: usize| {
            let mut labels = self.labels.clone();
            if let Some(rate) = self.sampling_rates.get(place).or(self.sampling_rates.first()) {
                labels.set("sampling_rate", rate.to_string());
            }
            labels
        };
        Ok((0..runs).map(of_run).collect())
    }
}
