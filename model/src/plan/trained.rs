//! Training settings whose accuracy was measured, with their times.

use serde::{Deserialize, Serialize};

use foreglow_shared::sort_by;

use super::{Limits, Placement, Plan};
use crate::{Accuracy, Interval};

/// A training setting whose accuracy was measured. The machine type does not affect the accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainedSetting {
    /// Executor processes, E.
    pub executors: u32,
    /// Images of an executor's mini-batch.
    pub batch_size: u32,
    /// Mini-batches between two averages; `None` if the samples lack it.
    pub average_every: Option<u32>,
    /// The measured accuracy.
    pub accuracy: Accuracy,
    /// Whether it is at least the minimum of the limits.
    #[serde(rename = "keeps_accuracy")]
    pub is_accurate: bool,
    /// The fastest configuration with this setting; `None` if the plan has no such
    /// configuration.
    #[serde(skip)]
    pub fastest: Option<Placement>,
    /// Its predicted time, seconds.
    #[serde(rename = "completion_time_secs")]
    pub secs: Option<f64>,
    /// The interval of this time.
    pub interval: Option<Interval>,
    /// Its cost; `None` if no price is known.
    pub cost: Option<f64>,
}

impl Plan {
    /// Returns the training settings whose accuracy was measured, the most accurate first.
    pub fn trained(&self, limits: &Limits) -> Vec<TrainedSetting> {
        let mut trained: Vec<TrainedSetting> = Vec::new();
        let arms = self.predictor.arms();
        for (index, arm) in arms.iter().enumerate() {
            let learning = (arm.batch_size, arm.average_every);
            if trained.iter().any(|known| (known.batch_size, known.average_every) == learning) {
                continue;
            }
            for (executors, accuracy) in &self.predictor.fitted(index).accuracies {
                // Options are in ascending order of time.
                let fastest = self.options.iter().find(|option| {
                    let of = &arms[option.placement.arm];
                    option.placement.executors == *executors && (of.batch_size, of.average_every) == learning
                });
                let rate = fastest.and_then(|fastest| self.rate(fastest.placement, limits));
                trained.push(TrainedSetting {
                    executors: *executors,
                    batch_size: arm.batch_size,
                    average_every: arm.average_every,
                    is_accurate: limits.min_accuracy.is_none_or(|least| accuracy.keeps(least)),
                    accuracy: accuracy.clone(),
                    fastest: fastest.map(|fastest| fastest.placement),
                    secs: fastest.map(|fastest| fastest.secs),
                    interval: fastest.and_then(|fastest| self.predict(fastest.placement).interval),
                    cost: rate.zip(fastest).map(|(rate, fastest)| rate.cost(fastest.secs)),
                });
            }
        }
        // The sort is stable: ties keep the order of the arms and executors.
        sort_by(&mut trained, |a, b| b.accuracy.mean.total_cmp(&a.accuracy.mean));
        trained
    }
}
