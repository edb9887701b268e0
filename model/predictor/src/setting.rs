//! The point at which a prediction is made, and its features.

use std::cmp::Ordering;
use std::fmt;

use foreglow_shared::{CoreSplit, Observation};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::prediction::show;

/// A configuration and a sampling rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Setting {
    /// Executor processes, E; 1 or more.
    pub executors: u32,
    /// Task threads of an executor, C; 1 or more. In an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    #[serde(default)]
    pub total_cores: Option<u32>,
    /// Sampling rate, SR, in (0, 1].
    pub sampling_rate: f64,
}

/// A text format omits a missing total, so that links of earlier versions stay valid. A binary
/// format has every field.
impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_total = self.total_cores.is_some() || !serializer.is_human_readable();
        let mut fields = serializer.serialize_struct("Setting", 3 + usize::from(has_total))?;
        fields.serialize_field("executors", &self.executors)?;
        fields.serialize_field("cores_per_executor", &self.cores_per_executor)?;
        if has_total {
            fields.serialize_field("total_cores", &self.total_cores)?;
        }
        fields.serialize_field("sampling_rate", &self.sampling_rate)?;
        fields.end()
    }
}

/// A feature of the published predictor, with its transform (the paper, Table 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// 1/E, the inverse number of executors.
    InverseExecutors,
    /// 1/C, the inverse number of cores per executor.
    InverseCores,
    /// SR, untransformed.
    SamplingRate,
}

impl Setting {
    /// Returns a setting of equal executors.
    pub const fn even(executors: u32, cores_per_executor: u32, sampling_rate: f64) -> Self {
        Self::at(CoreSplit::even(executors, cores_per_executor), sampling_rate)
    }

    /// Returns a setting of these executors and cores.
    pub const fn at(split: CoreSplit, sampling_rate: f64) -> Self {
        let CoreSplit { executors, cores_per_executor, total_cores } = split;
        Self { executors, cores_per_executor, total_cores, sampling_rate }
    }

    /// Returns the setting of a run.
    pub fn of(run: &Observation) -> Self {
        Self::at(run.split(), run.sampling_rate)
    }

    /// Returns how the cores are divided among the executors.
    pub const fn split(&self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }

    /// Returns the number of slots, E·C or the total of an uneven split.
    pub fn slots(&self) -> u32 {
        self.split().slots()
    }

    /// Returns its features as warnings name those of a sample: `executors 1, cores per executor 2,
    /// sampling rate 10 %`.
    pub fn describe(self) -> String {
        Feature::ALL
            .map(|feature| format!("{} {}", feature.noun(), show(feature.noun(), feature.value(self))))
            .join(", ")
    }

    /// Compares settings by E, mean C and SR.
    pub fn order(&self, other: &Self) -> Ordering {
        let counts = |setting: &Self| (setting.executors, setting.split().mean_cores());
        let ((e, c), (other_e, other_c)) = (counts(self), counts(other));
        e.cmp(&other_e).then(c.total_cmp(&other_c)).then(self.sampling_rate.total_cmp(&other.sampling_rate))
    }

    /// Whether the setting is valid: at least one executor and one core, and a sampling rate in (0,
    /// 1].
    pub fn is_possible(&self) -> bool {
        self.executors > 0 && self.cores_per_executor > 0 && self.sampling_rate > 0.0 && self.sampling_rate <= 1.0
    }
}

impl Feature {
    /// All features, in the order in which [`Place`](crate::Place)s list them.
    pub const ALL: [Self; 3] = [Self::InverseExecutors, Self::InverseCores, Self::SamplingRate];

    /// Returns the symbol: `1/E`, `1/C` or `SR`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InverseExecutors => "1/E",
            Self::InverseCores => "1/C",
            Self::SamplingRate => "SR",
        }
    }

    /// Returns the name of the resource, as shown to users.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::InverseExecutors => "executors",
            Self::InverseCores => "cores per executor",
            Self::SamplingRate => "sampling rate",
        }
    }

    /// Returns the value before the transform: E, C or SR. C of an uneven split is the mean number
    /// of cores of its executors, so that E·C is the number of task threads.
    pub fn value(self, setting: Setting) -> f64 {
        match self {
            Self::InverseExecutors => f64::from(setting.executors),
            Self::InverseCores => setting.split().mean_cores(),
            Self::SamplingRate => setting.sampling_rate,
        }
    }

    /// Returns the transformed value: 1/E, 1/C or SR.
    ///
    /// ```
    /// # use foreglow_predictor::{Feature, Setting};
    /// let setting = Setting::even(4, 2, 0.1);
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
