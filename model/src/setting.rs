//! What a prediction is asked for, and how the learners see it.

use std::cmp::Ordering;
use std::fmt;

use foreglow_shared::Observation;
use serde::{Deserialize, Serialize};

/// A configuration and the share of the images that runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Executor processes, E; 1 or more.
    pub executors: u32,
    /// Task threads of an executor, C; 1 or more.
    pub cores_per_executor: u32,
    /// Share of the images, SR, in (0, 1].
    pub sampling_rate: f64,
}

/// A feature of the predictor, with the transform that its learner sees (the paper, Table 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// 1/E, of the executors.
    InverseExecutors,
    /// 1/C, of the cores per executor.
    InverseCores,
    /// SR as it is.
    SamplingRate,
}

impl Setting {
    /// The setting of a run.
    pub fn of(run: &Observation) -> Self {
        Self { executors: run.executors, cores_per_executor: run.cores_per_executor, sampling_rate: run.sampling_rate }
    }

    /// Task threads that work at the same time, E·C.
    pub fn slots(&self) -> u32 {
        self.executors.saturating_mul(self.cores_per_executor)
    }

    /// Orders settings by E, C and SR.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let counts = |setting: &Self| (setting.executors, setting.cores_per_executor);
        counts(self).cmp(&counts(other)).then(self.sampling_rate.total_cmp(&other.sampling_rate))
    }

    /// Whether a job could run so: at least one executor, one core, and a sampling rate in (0, 1].
    pub fn is_possible(&self) -> bool {
        self.executors > 0 && self.cores_per_executor > 0 && self.sampling_rate > 0.0 && self.sampling_rate <= 1.0
    }
}

impl Feature {
    /// Every feature, in the order in which places are listed.
    pub const ALL: [Self; 3] = [Self::InverseExecutors, Self::InverseCores, Self::SamplingRate];

    /// Its symbol: `1/E`, `1/C` or `SR`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InverseExecutors => "1/E",
            Self::InverseCores => "1/C",
            Self::SamplingRate => "SR",
        }
    }

    /// What a person calls the resource behind it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::InverseExecutors => "executors",
            Self::InverseCores => "cores per executor",
            Self::SamplingRate => "sampling rate",
        }
    }

    /// The value before the transform: E, C or SR.
    pub fn value(self, setting: Setting) -> f64 {
        match self {
            Self::InverseExecutors => f64::from(setting.executors),
            Self::InverseCores => f64::from(setting.cores_per_executor),
            Self::SamplingRate => setting.sampling_rate,
        }
    }

    /// The value that the learner sees: 1/E, 1/C or SR.
    ///
    /// ```
    /// # use foreglow_model::{Feature, Setting};
    /// let setting = Setting { executors: 4, cores_per_executor: 2, sampling_rate: 0.1 };
    /// assert_eq!(Feature::InverseExecutors.transform(setting), 0.25);
    /// ```
    pub fn transform(self, setting: Setting) -> f64 {
        match self {
            Self::InverseExecutors | Self::InverseCores => 1.0 / self.value(setting),
            Self::SamplingRate => setting.sampling_rate,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
