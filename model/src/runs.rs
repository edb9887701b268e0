//! Converts the runs of a job to a table of features.

use foreglow_shared::{
    CoreSplit, IncompleteRun, Job, MOST_CORES, MOST_EXECUTORS, Observation, RUN_SECS, SAMPLING_RATES, STARTUP_SECS,
    sort_by,
};
use serde::{Deserialize, Serialize};

use crate::{Column, Dataset, DatasetError, Feature, Features, FitError, Setting};

/// A run: its features, its time, and whether the time is a lower bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) setting: Setting,
    partition_size: u32,
    memory_per_executor_mib: u32,
    /// Completion time or lower bound, seconds.
    secs: f64,
    /// Whether another program slowed the run.
    disturbed: bool,
    /// Whether the run was stopped, so that `secs` is a lower bound.
    stopped: bool,
}

/// A feature of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Item {
    Executors,
    Cores,
    SamplingRate,
    PartitionSize,
    Memory,
}

/// The features of a job's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Items {
    /// Features that a question specifies: E, C and SR.
    asked: Vec<Item>,
    /// Other features that matter, with the value assumed for questions, which do not specify them:
    /// the most frequent one.
    usual: Vec<(Item, f64)>,
}

/// Collects the completed runs and lower bounds of a job.
///
/// # Errors
/// [`FitError`]: a completed run has an invalid value.
pub(crate) fn runs(job: &Job) -> Result<Vec<Run>, FitError> {
    job.observations.iter().try_for_each(check)?;
    let completed = job.observations.iter().map(|run| Run {
        setting: Setting::of(run),
        partition_size: run.partition_size,
        memory_per_executor_mib: run.memory_per_executor_mib,
        secs: run.completion_time_secs,
        disturbed: run.disturbed,
        stopped: false,
    });
    let bound = |run: &IncompleteRun| {
        let secs = run.at_least_secs.filter(|secs| RUN_SECS.contains(secs))?;
        let setting = Setting::at(run.split(), run.sampling_rate);
        let (partition_size, memory_per_executor_mib) = (run.partition_size, run.memory_per_executor_mib);
        setting.is_possible().then_some(Run {
            setting,
            partition_size,
            memory_per_executor_mib,
            secs,
            disturbed: false,
            stopped: true,
        })
    };
    Ok(completed.chain(job.incomplete.iter().filter_map(bound)).collect())
}

/// Checks the values of a completed run.
pub(crate) fn check(run: &Observation) -> Result<(), FitError> {
    let Observation { executors, cores_per_executor, sampling_rate, completion_time_secs, startup_secs, .. } = *run;
    if !(1..=MOST_EXECUTORS).contains(&executors) || !(1..=MOST_CORES).contains(&cores_per_executor) {
        return Err(FitError::Configuration { executors, cores_per_executor });
    }
    if !SAMPLING_RATES.contains(&sampling_rate) {
        return Err(FitError::SamplingRate(sampling_rate));
    }
    if !RUN_SECS.contains(&completion_time_secs) {
        return Err(FitError::Time(completion_time_secs));
    }
    match startup_secs {
        Some(secs) if !STARTUP_SECS.contains(&secs) => Err(FitError::Startup(secs)),
        _ => Ok(()),
    }
}

impl Run {
    pub(crate) fn completed(&self) -> bool {
        !self.stopped
    }
}

impl Items {
    /// Selects the features: E, C and SR, and partition size or memory if they differ between runs
    /// that agree in E, C and SR. Otherwise the other features determine them.
    pub(crate) fn of(runs: &[Run]) -> Self {
        let mut sorted = runs.to_vec();
        sort_by(&mut sorted, |a, b| a.setting.order(&b.setting));
        let matters = |item: &Item| {
            let mut equal = sorted.chunk_by(|a, b| a.setting == b.setting);
            equal.any(|equal| equal.iter().any(|run| item.of(run) != item.of(&equal[0])))
        };
        let usual = [Item::PartitionSize, Item::Memory].into_iter().filter(matters);
        Self {
            asked: vec![Item::Executors, Item::Cores, Item::SamplingRate],
            usual: usual.map(|item| (item, commonest(runs.iter().map(|run| item.of(run)).collect()))).collect(),
        }
    }

    /// Builds the table of the runs.
    pub(crate) fn table(&self, runs: &[Run]) -> Result<Dataset, DatasetError> {
        let items = self.asked.iter().copied().chain(self.usual.iter().map(|(item, _)| *item));
        let column = |item: Item| Column::numeric(item.name(), runs.iter().map(|run| item.of(run)).collect(), None);
        let features = Features::new(items.map(column).collect())?;
        let secs = runs.iter().map(|run| run.secs).collect();
        let disturbed: Vec<bool> = runs.iter().map(|run| run.disturbed).collect();
        Dataset::new(features, secs, runs.iter().map(|run| run.stopped).collect())?.with_disturbed(&disturbed)
    }

    /// Returns the partition size of questions; `None` if it is not a feature of the table.
    pub(crate) fn partition_size(&self) -> Option<u32> {
        let usual = self.usual.iter().find(|(item, _)| *item == Item::PartitionSize);
        usual.map(|(_, usual)| *usual as u32)
    }

    /// Assumes another partition size for questions. Returns whether it is a feature of the table.
    pub(crate) fn assume_partition_size(&mut self, partition_size: u32) -> bool {
        let usual = self.usual.iter_mut().find(|(item, _)| *item == Item::PartitionSize);
        usual.is_some_and(|(_, usual)| {
            *usual = f64::from(partition_size);
            true
        })
    }

    /// Builds the features of settings to predict.
    pub(crate) fn questions(&self, settings: &[Setting]) -> Result<Features, DatasetError> {
        let asked = self.asked.iter().map(|item| {
            Column::numeric(item.name(), settings.iter().map(|setting| item.asked(*setting)).collect(), None)
        });
        let usual =
            self.usual.iter().map(|(item, usual)| Column::numeric(item.name(), vec![*usual; settings.len()], None));
        Features::new(asked.chain(usual).collect())
    }
}

impl Items {
    /// Returns the setting of a row of the table; `None` if the row has too few columns.
    pub(crate) fn setting(&self, numeric: &[f64]) -> Option<Setting> {
        let value = |item: Item| {
            let place = self.asked.iter().position(|asked| *asked == item)?;
            numeric.get(place).copied()
        };
        let executors = value(Item::Executors)? as u32;
        let slots = libm::round(f64::from(executors) * value(Item::Cores)?) as u32;
        Some(Setting::at(CoreSplit::of_total(executors, slots)?, value(Item::SamplingRate)?))
    }
}

impl Item {
    fn name(self) -> &'static str {
        match self {
            Self::Executors => Feature::InverseExecutors.noun(),
            Self::Cores => Feature::InverseCores.noun(),
            Self::SamplingRate => Feature::SamplingRate.noun(),
            Self::PartitionSize => "partition size",
            Self::Memory => "memory per executor",
        }
    }

    fn of(self, run: &Run) -> f64 {
        match self {
            Self::PartitionSize => f64::from(run.partition_size),
            Self::Memory => f64::from(run.memory_per_executor_mib),
            _ => self.asked(run.setting),
        }
    }

    /// Returns the value in a setting; NaN for features that a setting lacks.
    fn asked(self, setting: Setting) -> f64 {
        match self {
            Self::Executors => f64::from(setting.executors),
            Self::Cores => Feature::InverseCores.value(setting),
            Self::SamplingRate => setting.sampling_rate,
            Self::PartitionSize | Self::Memory => f64::NAN,
        }
    }
}

/// Returns the most frequent value; the smallest of several.
pub(crate) fn commonest(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let mut best = (0, 0.0);
    for equal in values.chunk_by(|a, b| a == b) {
        if equal.len() > best.0 {
            best = (equal.len(), equal[0]);
        }
    }
    best.1
}
