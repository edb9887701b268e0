//! One configuration, with what it would take and whether it may be recommended.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, PriceSheet, Question, Resources};
use serde::{Deserialize, Serialize};

use super::front::order;
use super::memory::{Footprint, is_out_of_memory};
use crate::Prediction;

/// Probabilities that differ by less are the same: a deadline at exactly a quantile is met with its probability.
const ROUNDING: f64 = 1e-9;

/// A configuration with what it would take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Time of the whole job (sampling rate 1).
    pub prediction: Prediction,
    /// Money in the price sheet's currency for the predicted time; `None` where the time is unknown, or the sheet does not
    /// cover the hardware.
    pub cost: Option<f64>,
    /// What the choice of the cheapest compares: the cost, or executor-hours where the price sheet does not cover the
    /// hardware. `None` where the time is unknown.
    pub burden: Option<f64>,
    /// Probability that the job keeps the deadline and the budget both; `None` where neither is set, where the time is
    /// unknown, where the samples are too few to say, or where a budget is asked and the price sheet does not cover the
    /// hardware.
    pub success_probability: Option<f64>,
    /// Whether the deadline is met with the probability that the question asks for; true for every known time where
    /// there is no deadline.
    pub meets_deadline: bool,
    /// Whether the budget is kept with that probability; true for every known time where there is no budget, and false
    /// where there is one and the price sheet does not cover the hardware.
    pub within_budget: bool,
    /// Why it must not be recommended, whatever its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
}

/// Why a configuration must not be recommended. Displays as one sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exclusion {
    /// It runs out of memory: a run that asked for no more did.
    OutOfMemory {
        /// Cores per executor of that run.
        cores_per_executor: u32,
        /// Memory of its executors, MiB.
        memory_per_executor_mib: u32,
        /// Images of its tasks.
        partition_size: u32,
    },
    /// It is expected to run out of memory: executors of other runs held so much that its own would need more than they
    /// have.
    ExpectedOutOfMemory {
        /// Most memory that its executors are expected to hold, MiB.
        peak_memory_mib: u32,
        /// Memory that they have, MiB.
        memory_per_executor_mib: u32,
    },
}

impl Candidate {
    pub(super) fn of(prediction: Prediction, job: &Job, question: &Question, executors: u32, cores: u32) -> Self {
        let memory = question.memory_per_executor_mib;
        let resources = Resources {
            executors,
            cores_per_executor: cores,
            memory_per_executor_mib: memory,
            accelerated: job.context.accelerator.is_some(),
        };
        let secs = prediction.completion_time_secs;
        let cost = secs.and_then(|secs| question.prices.cost(resources, secs));
        let burden = secs.and_then(|secs| ranking(job, question).cost(resources, secs));
        let is_priced = question.prices.covers(resources.accelerated);
        // A budget is a limit of the time as well, since money rises with time.
        let affordable = |money| question.prices.affordable_secs(resources, money).unwrap_or(0.0);
        let deadline =
            question.deadline_secs.map(|limit| Limit::of(limit, &prediction, timed_out(job, executors, cores)));
        let budget =
            question.budget.map(|money| Limit::of(affordable(money), &prediction, timed_out(job, executors, cores)));
        let kept =
            |limit: Option<Limit>| burden.is_some() && limit.is_none_or(|limit| limit.is_kept(question.probability));
        let limits = || [deadline, budget].into_iter().flatten();
        Self {
            executors,
            cores_per_executor: cores,
            memory_per_executor_mib: memory,
            // Both are kept where the tighter one is.
            success_probability: limits()
                .filter_map(|limit| limit.probability)
                .min_by(f64::total_cmp)
                .filter(|_| is_priced || question.budget.is_none()),
            meets_deadline: kept(deadline),
            within_budget: kept(budget),
            exclusion: Exclusion::of(job, cores, memory, 1.0),
            prediction,
            cost,
            burden,
        }
    }

    /// Whether it keeps everything that is asked.
    pub fn is_feasible(&self) -> bool {
        self.is_possible() && self.meets_deadline && self.within_budget
    }

    /// Whether its time is known and nothing excludes it.
    pub(super) fn is_possible(&self) -> bool {
        self.burden.is_some() && self.exclusion.is_none()
    }

    /// By time, then money, then fewer executors, then fewer cores.
    pub(super) fn by_time(&self, other: &Self) -> Ordering {
        let unknown = (f64::INFINITY, f64::INFINITY);
        order(self.time_and_burden().unwrap_or(unknown), other.time_and_burden().unwrap_or(unknown))
            .then((self.executors, self.cores_per_executor).cmp(&(other.executors, other.cores_per_executor)))
    }

    /// What the front is made of.
    pub fn time_and_burden(&self) -> Option<(f64, f64)> {
        Some((self.prediction.completion_time_secs?, self.burden?))
    }
}

/// The prices by which configurations are ranked: those of the question, or one executor-hour as the unit where they do
/// not cover the job's hardware.
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

/// A limit of the time, and how sure it is to be kept.
#[derive(Clone, Copy)]
struct Limit {
    /// Whether the predicted time is within it.
    holds_prediction: bool,
    /// `None` where the samples cannot say.
    probability: Option<f64>,
}

impl Limit {
    /// A run of the same configuration that took at least `at_least_secs` on some of the images says more than any prediction.
    fn of(secs: f64, prediction: &Prediction, at_least_secs: f64) -> Self {
        let Some(predicted) = prediction.completion_time_secs else {
            return Self { holds_prediction: false, probability: None };
        };
        if at_least_secs >= secs {
            return Self { holds_prediction: false, probability: Some(0.0) };
        }
        let probability = prediction.spread.as_ref().map(|spread| spread.probability_below(secs / predicted));
        Self { holds_prediction: predicted <= secs, probability }
    }

    /// The predicted time is the median, so that it answers for probabilities up to 1/2 without a spread.
    fn is_kept(self, probability: f64) -> bool {
        match self.probability {
            Some(own) if probability > 0.5 => own >= probability - ROUNDING,
            _ => probability <= 0.5 && self.holds_prediction,
        }
    }
}

/// The longest that a run on this configuration is known to have taken before it was stopped, seconds; 0 of none.
fn timed_out(job: &Job, executors: u32, cores_per_executor: u32) -> f64 {
    let same = |run: &&IncompleteRun| {
        run.outcome == IncompleteOutcome::TimedOut
            && (run.executors, run.cores_per_executor) == (executors, cores_per_executor)
    };
    job.incomplete.iter().filter(same).filter_map(|run| run.at_least_secs).fold(0.0, f64::max)
}

impl Exclusion {
    /// Why a job must not run with so many cores and so much memory for each executor; `None` where nothing is known
    /// against it. The partitions are taken as small as the smallest that completed.
    pub fn of(job: &Job, cores_per_executor: u32, memory_per_executor_mib: u32, sampling_rate: f64) -> Option<Self> {
        // Most jobs have no such run, and a decision weighs a million configurations.
        if job.peaks.is_empty() && !job.incomplete.iter().any(is_out_of_memory) {
            return None;
        }
        let footprint = Footprint::of_job(job, cores_per_executor, memory_per_executor_mib, sampling_rate);
        if let Some(run) = footprint.goes_over_memory(job) {
            let IncompleteRun { cores_per_executor, memory_per_executor_mib, partition_size, .. } = run;
            return Some(Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size });
        }
        let peak_memory_mib = footprint.expected_over_memory(job)?;
        Some(Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib })
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutOfMemory { cores_per_executor, memory_per_executor_mib, partition_size } => {
                let cores = match cores_per_executor {
                    1 => "1 core".into(),
                    cores => format!("{cores} cores"),
                };
                write!(
                    f,
                    "a run with {cores}, {memory_per_executor_mib} MiB for each executor and partitions of {partition_size} \
                     images went over its memory; give executors more memory or fewer cores"
                )
            }
            Self::ExpectedOutOfMemory { peak_memory_mib, memory_per_executor_mib } => write!(
                f,
                "each executor is expected to need {peak_memory_mib} MiB and has {memory_per_executor_mib}, as far as the \
                 memory that others held says; give executors more memory or fewer cores"
            ),
        }
    }
}
