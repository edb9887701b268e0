//! A configuration with its predicted time, its cost and its constraints.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use foreglow_shared::{
    CoreSplit, IncompleteOutcome, IncompleteRun, Job, PriceSheet, Question, Resources, format_count,
};
use serde::{Deserialize, Serialize};

use super::front::order;
use super::memory::{Footprint, is_out_of_memory};
use crate::chance::{ROUNDING, at_least_secs, keeps, within};
use crate::{Prediction, Setting};

/// A configuration with its prediction and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C; in an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors in an uneven split; `None` if each has C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cores: Option<u32>,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Prediction for the whole job (sampling rate 1).
    pub prediction: Prediction,
    /// Cost of the predicted time, in the price sheet's currency; `None` if the time is unknown or
    /// the sheet does not cover the hardware.
    pub cost: Option<f64>,
    /// Quantity that ranks the candidates: the cost, or executor-hours if the price sheet does not
    /// cover the hardware. `None` if the time is unknown.
    pub burden: Option<f64>,
    /// Probability that the job meets both the deadline and the budget; `None` if neither is set,
    /// the time is unknown, there are too few samples to estimate it, or there is a budget and the
    /// price sheet does not cover the hardware.
    pub success_probability: Option<f64>,
    /// Whether the deadline is met with the requested probability. Without a deadline, true if the
    /// time, and therefore `burden`, is known.
    pub meets_deadline: bool,
    /// Whether the budget is met with the requested probability. Without a budget, true if the time
    /// is known; with one, false if the price sheet does not cover the hardware.
    pub within_budget: bool,
    /// Whether the accuracy is known to be at least the minimum of the question. Without a minimum,
    /// true.
    pub keeps_accuracy: bool,
    /// Why the configuration must not be recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
}

/// Why a configuration must not be recommended. `Display` gives a sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exclusion {
    /// A run that needed no more memory ran out of memory.
    OutOfMemory {
        /// Cores per executor of that run.
        cores_per_executor: u32,
        /// Memory of each of its executors, MiB.
        memory_per_executor_mib: u32,
        /// Its partition size, images.
        partition_size: u32,
    },
    /// The peak memory of other runs suggests that executors need more memory than they have.
    ExpectedOutOfMemory {
        /// Expected peak memory of an executor, MiB.
        peak_memory_mib: u32,
        /// Memory of an executor, MiB.
        memory_per_executor_mib: u32,
    },
    /// A run that needed no more memory of the GPU ran out of it.
    OutOfAcceleratorMemory {
        /// Cores per executor of that run.
        cores_per_executor: u32,
        /// Its partition size, images.
        partition_size: u32,
    },
}

impl Candidate {
    pub(super) fn of(
        prediction: Prediction,
        keeps_accuracy: bool,
        job: &Job,
        question: &Question,
        (split, partition_size): (CoreSplit, u32),
    ) -> Self {
        let memory = question.memory_per_executor_mib;
        let CoreSplit { executors, cores_per_executor, total_cores } = split;
        let resources = Resources {
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib: memory,
            accelerated: job.context.accelerator.is_some(),
            shared_accelerators: job.context.shared_accelerators(),
        };
        let secs = prediction.completion_time_secs;
        let is_priced = question.prices.covers(resources.accelerated);
        let rate = ranking(job, question).rate(resources);
        let burden = secs.zip(rate).map(|(secs, rate)| rate.cost(secs)).filter(|burden| burden.is_finite());
        let cost = burden.filter(|_| is_priced);
        // The cost increases with the time, so a budget is a time limit as well.
        let affordable = |money| rate.filter(|_| is_priced).and_then(|rate| rate.affordable_secs(money)).unwrap_or(0.0);
        let at_least_secs = at_least_secs(job, split);
        let deadline = question.deadline_secs.map(|limit| Limit::of(limit, &prediction, at_least_secs));
        let budget = question.budget.map(|money| Limit::of(affordable(money), &prediction, at_least_secs));
        let kept =
            |limit: Option<Limit>| burden.is_some() && limit.is_none_or(|limit| limit.is_kept(question.probability));
        let limits = || [deadline, budget].into_iter().flatten();
        Self {
            executors,
            cores_per_executor,
            total_cores,
            memory_per_executor_mib: memory,
            // Both limits are met if the tighter one is.
            success_probability: limits()
                .filter_map(|limit| limit.probability)
                .min_by(f64::total_cmp)
                .filter(|_| is_priced || question.budget.is_none()),
            meets_deadline: kept(deadline),
            within_budget: kept(budget),
            keeps_accuracy,
            exclusion: Exclusion::of(job, Setting::at(split, 1.0), memory, partition_size),
            prediction,
            cost,
            burden,
        }
    }

    /// Returns how the cores are divided among the executors.
    pub fn split(&self) -> CoreSplit {
        CoreSplit {
            executors: self.executors,
            cores_per_executor: self.cores_per_executor,
            total_cores: self.total_cores,
        }
    }

    /// Whether the configuration is possible, meets the deadline and the budget, and is accurate
    /// enough.
    pub fn is_feasible(&self) -> bool {
        self.is_possible() && self.meets_deadline && self.within_budget && self.keeps_accuracy
    }

    /// Whether the time is known and nothing excludes the configuration.
    pub(crate) fn is_possible(&self) -> bool {
        self.burden.is_some() && self.exclusion.is_none()
    }

    /// Compares by time, then cost, then fewer executors, then fewer cores.
    pub(super) fn by_time(&self, other: &Self) -> Ordering {
        let unknown = (f64::INFINITY, f64::INFINITY);
        order(self.time_and_burden().unwrap_or(unknown), other.time_and_burden().unwrap_or(unknown))
            .then((self.executors, self.split().slots()).cmp(&(other.executors, other.split().slots())))
    }

    /// Returns the coordinates for the Pareto front; `None` if the time is unknown.
    pub fn time_and_burden(&self) -> Option<(f64, f64)> {
        Some((self.prediction.completion_time_secs?, self.burden?))
    }
}

/// Returns the prices that rank the candidates: those of the question, or 1 per executor-hour if
/// they do not cover the job's hardware.
pub(super) fn ranking<'a>(job: &Job, question: &'a Question) -> Cow<'a, PriceSheet> {
    if question.prices.covers(job.context.accelerator.is_some()) {
        return Cow::Borrowed(&question.prices);
    }
    Cow::Owned(PriceSheet {
        executor_hour: 1.0,
        core_hour: 0.0,
        gib_hour: 0.0,
        accelerator_hour: 0.0,
        executor_start: 0.0,
        startup_secs: 0.0,
        minimum_secs: 0.0,
        discount: 0.0,
        ..question.prices.clone()
    })
}

/// A time limit, and the probability that it is met.
#[derive(Clone, Copy)]
struct Limit {
    /// Whether the predicted time meets the limit.
    holds_prediction: bool,
    /// Probability to meet the limit; `None` if there are too few samples to estimate it.
    probability: Option<f64>,
}

impl Limit {
    /// Compares a prediction with a limit of `secs`. A stopped run of the same configuration, which
    /// took at least `at_least_secs`, overrides the prediction.
    fn of(secs: f64, prediction: &Prediction, at_least_secs: f64) -> Self {
        let Some(predicted) = prediction.completion_time_secs else {
            return Self { holds_prediction: false, probability: None };
        };
        Self {
            holds_prediction: at_least_secs < secs && keeps(predicted, secs),
            probability: within(secs, predicted, prediction.spread.as_ref(), at_least_secs),
        }
    }

    /// Whether the limit is met with `probability`. The predicted time is the median, so
    /// probabilities up to 1/2 need no spread.
    fn is_kept(self, probability: f64) -> bool {
        match self.probability {
            Some(own) if probability > 0.5 => own >= probability - ROUNDING,
            _ => probability <= 0.5 && self.holds_prediction,
        }
    }
}

impl Exclusion {
    /// Returns why executors with this memory must not run the job in this setting, with partitions
    /// of this size; `None` if no run speaks against it.
    pub fn of(job: &Job, setting: Setting, memory_per_executor_mib: u32, partition_size: u32) -> Option<Self> {
        // A fast path: most jobs have no such run, and a decision compares up to a million
        // configurations.
        if job.peaks.is_empty() && !job.incomplete.iter().any(is_out_of_memory) {
            return None;
        }
        let Setting { executors, cores_per_executor, sampling_rate, .. } = setting;
        let footprint =
            Footprint { executors, cores_per_executor, memory_per_executor_mib, partition_size, sampling_rate };
        if let Some(run) = footprint.goes_over_memory(job) {
            let IncompleteRun { cores_per_executor, memory_per_executor_mib, partition_size, .. } = run;
            return Some(match run.outcome {
                IncompleteOutcome::OutOfAcceleratorMemory => {
                    Self::OutOfAcceleratorMemory { cores_per_executor, partition_size }
                }
                _ => Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size },
            });
        }
        let peak_memory_mib = footprint.expected_over_memory(job)?;
        Some(Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib })
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = |cores_per_executor: u32| format_count(cores_per_executor as usize, "core");
        match *self {
            Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size } => write!(
                f,
                "a run with {}, {memory_per_executor_mib} MiB for each executor and partitions of {partition_size} \
                 images ran out of memory; give executors more memory or fewer cores",
                cores(cores_per_executor)
            ),
            Self::OutOfAcceleratorMemory { cores_per_executor, partition_size } => write!(
                f,
                "a run with {} and partitions of {partition_size} images ran out of the GPU's memory; use a smaller \
                 batch, fewer cores or a GPU with more memory",
                cores(cores_per_executor)
            ),
            Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib } => write!(
                f,
                "each executor is expected to need {peak_memory_mib} MiB and has {memory_per_executor_mib}, according \
                 to the peak memory of other runs; give executors more memory or fewer cores"
            ),
        }
    }
}
