//! Chooses a configuration: the cheapest that meets the deadline, the fastest within the budget,
//! and the Pareto front of time and cost.

mod candidate;
mod front;
mod memory;
mod peak;
mod scan;

use foreglow_shared::{CoreSplit, Job, Question, sort};
use serde::{Deserialize, Serialize};

pub use self::candidate::{Candidate, Exclusion};
pub use self::front::pareto_front;
use self::scan::scan;
use crate::accuracy::check_accuracy;
use crate::{Accuracy, DecideError, Predictor};

/// Limit on the configurations of one decision.
pub(crate) const MAX_CONFIGURATIONS: usize = 1_000_000;
/// Above this number of configurations, only the outstanding ones are listed.
const MAX_LISTED: usize = 4_096;
/// Limit on the listed points of the front if not all configurations are listed.
const MAX_FRONT: usize = 64;

/// The answer to a question: configurations, and the outstanding ones as indices into `candidates`.
/// Configurations that run out of memory or have no known time are never outstanding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Number of configurations that were compared.
    pub weighed: usize,
    /// Configurations E × C of the question, ascending by executors and then cores. If there are
    /// more than 4,096, only the outstanding ones, with at most 64 points evenly spaced along the
    /// front.
    pub candidates: Vec<Candidate>,
    /// The cheapest candidate that meets all limits; the fastest one if there is a budget and no
    /// deadline. Ties are broken by time, then fewer executors, then fewer cores. `None` if no
    /// candidate meets all limits.
    pub recommended: Option<usize>,
    /// The fastest candidate, regardless of the limits.
    pub fastest: Option<usize>,
    /// The cheapest candidate, regardless of the limits.
    pub cheapest: Option<usize>,
    /// The candidate with the highest probability to meet the deadline and the budget, of those
    /// that are accurate enough; of equals the cheapest. `None` without limits, or if this
    /// probability is at most 1/2 for all candidates.
    pub likeliest: Option<usize>,
    /// The Pareto front of time and cost, by ascending time.
    pub pareto: Vec<usize>,
}

/// Compares all configurations of a question for the whole job (sampling rate 1). O(n log n) in the
/// number of configurations.
///
/// Limits that no configuration meets are not an error: `recommended` is then `None`, and
/// `fastest`, `cheapest` and `likeliest` show how far off they are. A price sheet that does not
/// cover the hardware is not an error either: costs are then unknown, executor-hours rank the
/// candidates, and no budget is met.
///
/// # Errors
/// [`DecideError`]: there are no configurations or more than a million, a count is zero, a limit or
/// the probability is out of range, or the price sheet is invalid.
pub fn decide(predictor: &Predictor, job: &Job, question: &Question) -> Result<Decision, DecideError> {
    decide_on_grid(predictor, job, question, &[])
}

/// Decides like [`decide`] among these configurations instead of the question's executors and
/// cores; their executors need not be equal. At most 4,096.
///
/// # Errors
/// The errors of [`decide`].
pub fn decide_among(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    splits: &[CoreSplit],
) -> Result<Decision, DecideError> {
    check(question)?;
    let mut splits = splits.to_vec();
    sort(&mut splits);
    splits.dedup();
    match splits.len() {
        0 => Err(DecideError::NoConfiguration),
        count if count > MAX_LISTED => Err(DecideError::TooMany(count)),
        _ => Ok(weigh(predictor, job, question, splits, &[])),
    }
}

/// Decides like [`decide`], and reuses the predictions of an earlier decision by the same
/// predictor, which do not depend on limits and prices.
///
/// # Errors
/// The errors of [`decide`].
pub fn decide_again(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    earlier: &Decision,
) -> Result<Decision, DecideError> {
    decide_on_grid(predictor, job, question, &earlier.candidates)
}

/// Compares all configurations of the question; `known` are candidates of the same predictor,
/// sorted by E and C.
fn decide_on_grid(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    known: &[Candidate],
) -> Result<Decision, DecideError> {
    check(question)?;
    let executors = distinct(&question.executors);
    let cores = distinct(&question.cores_per_executor);
    let count = executors.len().saturating_mul(cores.len());
    if count == 0 {
        return Err(DecideError::NoConfiguration);
    }
    if executors[0] == 0 || cores[0] == 0 {
        return Err(DecideError::ZeroConfiguration);
    }
    if count > MAX_CONFIGURATIONS {
        return Err(DecideError::TooMany(count));
    }
    let pairs = || executors.iter().flat_map(|e| cores.iter().map(move |c| (*e, *c)));
    let (answerable_executors, answerable_cores) = predictor.answerable(&executors, &cores);
    let listed: Vec<(u32, u32)> = match answerable_executors.len() * answerable_cores.len() {
        _ if count <= MAX_LISTED => pairs().collect(),
        // One candidate is enough for the warning that says why there is no prediction.
        0 => pairs().take(1).collect(),
        _ => {
            let scanned = |executors: &[u32]| scan(predictor, job, question, executors, &answerable_cores);
            let keeping = Accurate::of(job, question);
            let mut accurate = answerable_executors.clone();
            accurate.retain(|e| keeping.has(*e));
            // The fastest or cheapest configuration may not be accurate enough.
            let best =
                if (1..answerable_executors.len()).contains(&accurate.len()) { scanned(&accurate) } else { None };
            scanned(&answerable_executors)
                .map_or_else(|| pairs().collect(), |all| all.listed(MAX_FRONT, best.and_then(|scanned| scanned.best)))
        }
    };
    let listed = listed.into_iter().map(|(e, c)| CoreSplit::even(e, c)).collect();
    Ok(Decision { weighed: count, ..weigh(predictor, job, question, listed, known) })
}

/// Numbers of executors that are known to train to the question's accuracy.
struct Accurate(Option<Vec<u32>>);

impl Accurate {
    fn of(job: &Job, question: &Question) -> Self {
        Self(question.min_accuracy.map(|least| accurate_executors(job, least)))
    }

    fn has(&self, executors: u32) -> bool {
        self.0.as_ref().is_none_or(|accurate| accurate.contains(&executors))
    }
}

/// Checks the limits, prices and memory of a question.
fn check(question: &Question) -> Result<(), DecideError> {
    question.prices.check()?;
    let is_none = |limit: &f64| !(limit.is_finite() && *limit > 0.0);
    if let Some(deadline) = question.deadline_secs.filter(is_none) {
        return Err(DecideError::Deadline(deadline));
    }
    if let Some(budget) = question.budget.filter(is_none) {
        return Err(DecideError::Budget(budget));
    }
    if !(question.probability > 0.0 && question.probability < 1.0) {
        return Err(DecideError::Probability(question.probability));
    }
    check_accuracy(question.min_accuracy)?;
    if question.memory_per_executor_mib == 0 { Err(DecideError::ZeroConfiguration) } else { Ok(()) }
}

/// Predicts and compares the listed configurations.
fn weigh(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    listed: Vec<CoreSplit>,
    known: &[Candidate],
) -> Decision {
    let mut whole_job = predictor.at_rate(1.0);
    let mut prediction = |split: CoreSplit| match known.binary_search_by_key(&split, Candidate::split) {
        Ok(place) => known[place].prediction.clone(),
        Err(_) => whole_job.predict(split),
    };
    let accurate = Accurate::of(job, question);
    let partition_size = predictor.partition_size(job).unwrap_or(1);
    let weighed = listed.len();
    let candidate = |split: CoreSplit| {
        let is_accurate = accurate.has(split.executors);
        Candidate::of(prediction(split), is_accurate, job, question, (split, partition_size))
    };
    let candidates: Vec<Candidate> = listed.into_iter().map(candidate).collect();
    Decision::among(candidates, weighed, question)
}

/// Returns the numbers of executors that are known to train to this accuracy.
fn accurate_executors(job: &Job, least: f64) -> Vec<u32> {
    let workload = &job.context.workload;
    let known = Accuracy::by_executors(&job.accuracies, workload.images, workload.epochs);
    known.into_iter().filter(|(_, accuracy)| accuracy.keeps(least)).map(|(executors, _)| executors).collect()
}

impl Decision {
    fn among(candidates: Vec<Candidate>, weighed: usize, question: &Question) -> Self {
        let possible = || (0..candidates.len()).filter(|index| candidates[*index].is_possible());
        let feasible = || possible().filter(|index| candidates[*index].is_feasible());
        let recommended =
            if question.wants_speed() { fastest(&candidates, feasible()) } else { cheapest(&candidates, feasible()) };
        let accurate = || possible().filter(|index| candidates[*index].keeps_accuracy);
        let most = accurate()
            .filter_map(|index| candidates[index].success_probability)
            .max_by(f64::total_cmp)
            .filter(|most| *most > 0.5);
        let likeliest = most.and_then(|most| {
            cheapest(&candidates, accurate().filter(|index| candidates[*index].success_probability == Some(most)))
        });
        let (indices, points): (Vec<usize>, Vec<(f64, f64)>) =
            possible().filter_map(|index| Some((index, candidates[index].time_and_burden()?))).unzip();
        let pareto = pareto_front(&points).into_iter().map(|point| indices[point]).collect();
        Self {
            recommended,
            fastest: fastest(&candidates, possible()),
            cheapest: cheapest(&candidates, possible()),
            likeliest,
            pareto,
            weighed,
            candidates,
        }
    }
}

fn fastest(candidates: &[Candidate], indices: impl Iterator<Item = usize>) -> Option<usize> {
    indices.min_by(|a, b| candidates[*a].by_time(&candidates[*b]))
}

fn cheapest(candidates: &[Candidate], indices: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    crate::cheapest::cheapest(indices, |index| candidates[index].burden, |a, b| candidates[a].by_time(&candidates[b]))
}

fn distinct(counts: &[u32]) -> Vec<u32> {
    let mut counts = counts.to_vec();
    sort(&mut counts);
    counts.dedup();
    counts
}
