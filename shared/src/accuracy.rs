//! The accuracy of a training run.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Sample;

/// The accuracy of one completed training run. A link stores it as an array, in the order of the
/// fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct TrainedAccuracy {
    /// Executor processes, E.
    pub executors: u32,
    /// Images that the run learned from in each epoch.
    pub images: u64,
    /// Passes over the images.
    pub epochs: u32,
    /// Share of the test images that the CNN classifies correctly, in [0, 1].
    pub accuracy: f64,
    /// Seed of the shuffles and the initial weights. Runs with equal seeds are not independent
    /// repetitions.
    pub seed: u64,
    /// Other settings that influence the accuracy but not the time: `on test images, learning rate
    /// 0.02, cosine`. Only runs with equal conditions are averaged.
    pub conditions: String,
}

type Fields = (u32, u64, u32, f64, u64, String);

impl From<Fields> for TrainedAccuracy {
    fn from((executors, images, epochs, accuracy, seed, conditions): Fields) -> Self {
        Self { executors, images, epochs, accuracy, seed, conditions }
    }
}

impl From<TrainedAccuracy> for Fields {
    fn from(run: TrainedAccuracy) -> Self {
        (run.executors, run.images, run.epochs, run.accuracy, run.seed, run.conditions)
    }
}

impl TrainedAccuracy {
    /// Extracts the accuracy of a completed training run: on its test images, or else on its
    /// validation images after the last epoch. `None` if the sample holds neither.
    pub fn of(sample: &Sample) -> Option<Self> {
        sample.completed_secs()?;
        let training = sample.extra.get("training")?;
        let last_epoch = || training["epochs"].as_array()?.last();
        let measured =
            [("test", training.get("held_out")), ("validation", last_epoch().map(|epoch| &epoch["validation"]))];
        let (on, accuracy) =
            measured.into_iter().find_map(|(on, score)| Some((on, score?.get("accuracy")?.as_f64()?)))?;
        let mut conditions = format!("on {on} images");
        for (name, words) in [("learning_rate", ", learning rate "), ("schedule", ", "), ("optimizer", ", ")] {
            if let Some(setting) = training.get(name) {
                conditions.push_str(words);
                conditions.push_str(&described(setting));
            }
        }
        Some(Self {
            executors: sample.configuration.executors,
            images: (sample.sampling_rate * sample.workload.images as f64).round() as u64,
            epochs: sample.workload.epochs,
            accuracy,
            seed: sample.seed.unwrap_or(0),
            conditions,
        })
        .filter(Self::is_valid)
    }

    /// Whether the accuracy is a share.
    pub(crate) fn is_valid(&self) -> bool {
        self.executors > 0 && (0.0..=1.0).contains(&self.accuracy)
    }

    /// Orders runs so that repetitions with other seeds follow each other.
    pub fn order(&self, other: &Self) -> Ordering {
        (self.executors, self.images, self.epochs)
            .cmp(&(other.executors, other.images, other.epochs))
            .then_with(|| self.conditions.cmp(&other.conditions))
            .then(self.seed.cmp(&other.seed))
            .then(self.accuracy.total_cmp(&other.accuracy))
    }
}

/// Describes a setting with its parameters, from its JSON: `0.02`, `cosine`, `sgd momentum 0.9`.
fn described(setting: &Value) -> String {
    let mut words = String::new();
    for letter in setting.to_string().chars() {
        match letter {
            '"' | '{' | '}' => {}
            ':' | ',' => words.push(' '),
            letter => words.push(letter),
        }
    }
    words
}
