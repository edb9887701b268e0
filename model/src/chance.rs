//! How certain a configuration is to keep a time limit, given its prediction and the runs of it
//! that were stopped.

use foreglow_shared::{CoreSplit, IncompleteOutcome, IncompleteRun, Job};

use crate::Spread;

/// Tolerance when times, costs and probabilities are compared: a deadline exactly at a quantile is
/// met with that probability.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Returns the longest time after which a run of this configuration was stopped, seconds; 0 if none
/// was. The whole job, at the sampling rate `whole_job`, takes longer. The time of a run of more
/// images than the job has does not bound it.
pub(crate) fn stopped_secs(job: &Job, split: CoreSplit, whole_job: f64) -> f64 {
    let is_of_job = |run: &IncompleteRun| run.sampling_rate <= whole_job * (1.0 + ROUNDING);
    let is_stopped =
        |run: &&IncompleteRun| run.outcome == IncompleteOutcome::TimedOut && run.split() == split && is_of_job(run);
    job.incomplete.iter().filter(is_stopped).filter_map(|run| run.at_least_secs).fold(0.0, f64::max)
}

/// Returns the probability that a predicted time of `secs` that exceeds `at_least_secs` is at most
/// `limit_secs`.
pub(crate) fn within(limit_secs: f64, secs: f64, spread: Option<&Spread>, at_least_secs: f64) -> Option<f64> {
    if at_least_secs >= limit_secs {
        return Some(0.0);
    }
    spread.map(|spread| spread.probability_below(limit_secs / secs))
}

/// Returns a late time, raised above that of a stopped run: no limit up to there is met.
pub(crate) fn above(late_secs: f64, at_least_secs: f64) -> f64 {
    late_secs.max(at_least_secs * (1.0 + 2.0 * ROUNDING))
}

/// Whether a time or a cost keeps its limit.
pub(crate) fn keeps(value: f64, limit: f64) -> bool {
    value <= limit * (1.0 + ROUNDING)
}
