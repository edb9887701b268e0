//! Which configuration to take: the cheapest that meets the deadline, and the front of time and money.

use std::cmp::Ordering;

use foreglow_shared::Question;
use serde::{Deserialize, Serialize};

use crate::{DecideError, Prediction, Predictor, Setting};

/// The most configurations that one decision weighs.
pub(crate) const MAX_CONFIGURATIONS: usize = 1_000_000;
/// Money that differs by less than this share is the same money: a job that speeds up exactly as its resources grow
/// costs the same everywhere, apart from rounding, and then the faster configuration should win.
const SAME_MONEY: f64 = 1e-9;

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
    /// Money in the price sheet's currency; `None` where the time is unknown.
    pub cost: Option<f64>,
    /// Whether the predicted time is within the deadline; true for every known time where there is no deadline.
    pub meets_deadline: bool,
}

/// The answer to a question: every configuration, and those that stand out, as indices into `candidates`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Every E × C of the question, by executors and then cores, ascending.
    pub candidates: Vec<Candidate>,
    /// The cheapest that meets the deadline; of equally cheap ones the fastest, then the one with fewer executors, then
    /// fewer cores. `None` where none meets it.
    pub recommended: Option<usize>,
    /// The fastest, whatever the deadline; `None` where every time is unknown.
    pub fastest: Option<usize>,
    /// Candidates that no other beats in time and money at once, by time ascending.
    pub pareto: Vec<usize>,
}

/// Weighs every configuration of a question for the whole job (sampling rate 1). O(n log n) in the configurations.
///
/// An impossible deadline is no error: `recommended` is then `None`, and `fastest` says how far away it is.
///
/// # Errors
/// No configuration, one with nothing in it, more than a million, a deadline that is no time, or prices that are none.
pub fn decide(predictor: &Predictor, question: &Question) -> Result<Decision, DecideError> {
    question.prices.check()?;
    if let Some(deadline) = question.deadline_secs.filter(|secs| !(secs.is_finite() && *secs > 0.0)) {
        return Err(DecideError::Deadline(deadline));
    }
    let executors = distinct(&question.executors);
    let cores = distinct(&question.cores_per_executor);
    let count = executors.len().saturating_mul(cores.len());
    if count == 0 {
        return Err(DecideError::NoConfiguration);
    }
    if executors[0] == 0 || cores[0] == 0 || question.memory_per_executor_mib == 0 {
        return Err(DecideError::ZeroConfiguration);
    }
    if count > MAX_CONFIGURATIONS {
        return Err(DecideError::TooMany(count));
    }
    let pairs = executors.iter().flat_map(|e| cores.iter().map(move |c| (*e, *c)));
    let candidates: Vec<Candidate> = pairs.map(|(e, c)| candidate(predictor, question, e, c)).collect();
    let known = |index: &usize| candidates[*index].cost.is_some();
    let all = || (0..candidates.len()).filter(known);
    let fastest = all().min_by(|a, b| by_time(&candidates[*a], &candidates[*b]));
    let recommended = cheapest(&candidates, all().filter(|index| candidates[*index].meets_deadline));
    let (indices, points): (Vec<usize>, Vec<(f64, f64)>) =
        all().filter_map(|index| Some((index, time_and_money(&candidates[index])?))).unzip();
    let pareto = pareto_front(&points).into_iter().map(|point| indices[point]).collect();
    Ok(Decision { candidates, recommended, fastest, pareto })
}

/// Indices of the points `(time, money)` that no other point beats: none is at most as large in both and smaller in one.
/// By time ascending; of equal points the first. Points that are not finite are passed over. O(n log n).
///
/// ```
/// # use foreglow_model::pareto_front;
/// assert_eq!(pareto_front(&[(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.0, 2.5), (2.0, 2.0)]), [1, 2, 0]);
/// ```
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<usize> {
    let finite = |index: &usize| points[*index].0.is_finite() && points[*index].1.is_finite();
    let mut indices: Vec<usize> = (0..points.len()).filter(finite).collect();
    indices.sort_by(|a, b| order(points[*a], points[*b]).then(a.cmp(b)));
    let mut least = f64::INFINITY;
    indices.retain(|index| {
        let money = points[*index].1;
        let better = money < least;
        least = if better { money } else { least };
        better
    });
    indices
}

fn candidate(predictor: &Predictor, question: &Question, executors: u32, cores_per_executor: u32) -> Candidate {
    let memory = question.memory_per_executor_mib;
    let prediction = predictor.predict(Setting { executors, cores_per_executor, sampling_rate: 1.0 });
    let money = |secs| question.prices.cost(executors, cores_per_executor, memory, secs);
    let cost = prediction.completion_time_secs.map(money).filter(|cost| cost.is_finite());
    let within = |secs: f64| question.deadline_secs.is_none_or(|deadline| secs <= deadline);
    Candidate {
        executors,
        cores_per_executor,
        memory_per_executor_mib: memory,
        meets_deadline: prediction.completion_time_secs.is_some_and(within),
        prediction,
        cost,
    }
}

fn cheapest(candidates: &[Candidate], indices: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let least = indices.clone().filter_map(|index| candidates[index].cost).min_by(f64::total_cmp)?;
    let same = |index: &usize| candidates[*index].cost.is_some_and(|cost| cost <= least * (1.0 + SAME_MONEY));
    indices.filter(same).min_by(|a, b| by_time(&candidates[*a], &candidates[*b]))
}

/// By time, then money, then fewer executors, then fewer cores.
fn by_time(a: &Candidate, b: &Candidate) -> Ordering {
    let unknown = (f64::INFINITY, f64::INFINITY);
    order(time_and_money(a).unwrap_or(unknown), time_and_money(b).unwrap_or(unknown))
        .then((a.executors, a.cores_per_executor).cmp(&(b.executors, b.cores_per_executor)))
}

fn time_and_money(candidate: &Candidate) -> Option<(f64, f64)> {
    Some((candidate.prediction.completion_time_secs?, candidate.cost?))
}

fn order(a: (f64, f64), b: (f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

fn distinct(counts: &[u32]) -> Vec<u32> {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    counts.dedup();
    counts
}
