//! Which configuration to take: the cheapest that meets the deadline, the fastest within the budget, and the front of time
//! and money.

mod candidate;
mod front;
mod memory;
mod peak;
mod scan;

use foreglow_shared::{Job, Question, sort};
use serde::{Deserialize, Serialize};

pub use self::candidate::{Candidate, Exclusion};
pub use self::front::pareto_front;
use self::scan::scan;
use crate::{DecideError, Predictor};

/// The most configurations that one decision weighs.
pub(crate) const MAX_CONFIGURATIONS: usize = 1_000_000;
/// Of more configurations than this only those that stand out are listed.
const MAX_LISTED: usize = 4_096;
/// Of a longer front so many are listed.
const MAX_FRONT: usize = 64;
/// Money that differs by less than this share is the same money: a job that speeds up exactly as its resources grow
/// costs the same everywhere, apart from what no prediction tells apart, and then the faster configuration should win.
const SAME_MONEY: f64 = 2e-3;

/// The answer to a question: every configuration, and those that stand out, as indices into `candidates`. Those that
/// run out of memory, and those whose time is unknown, stand out in nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Configurations that were weighed.
    pub weighed: usize,
    /// By executors and then cores, ascending: every E × C of the question. Of more than 4,096 those that stand out, with at
    /// most 64 of the front, evenly along it.
    pub candidates: Vec<Candidate>,
    /// Of the candidates that keep everything that is asked, the cheapest; where a budget is asked and no deadline, the
    /// fastest. Of equally cheap ones the fastest, then the one with fewer executors, then fewer cores. `None` where none
    /// keeps it all.
    pub recommended: Option<usize>,
    /// The fastest, whatever the deadline and the budget.
    pub fastest: Option<usize>,
    /// The cheapest, whatever the deadline and the budget.
    pub cheapest: Option<usize>,
    /// The one that keeps the deadline and the budget with the highest probability, of equals the cheapest. `None` where
    /// neither is asked, and where each more likely misses than keeps them.
    pub likeliest: Option<usize>,
    /// Candidates that no other beats in time and money at once, by time ascending.
    pub pareto: Vec<usize>,
}

/// Weighs every configuration of a question about a job for the whole job (sampling rate 1). O(n log n) in the
/// configurations.
///
/// A deadline or a budget that none keeps is no error: `recommended` is then `None`, and `fastest`, `cheapest` and
/// `likeliest` say how far away it is. Nor is a price sheet that does not cover the hardware: costs are then unknown,
/// executor-hours take the place of money, and no budget is kept.
///
/// # Errors
/// No configuration, one with nothing in it, more than a million, or an invalid deadline, budget, probability or price
/// sheet.
pub fn decide(predictor: &Predictor, job: &Job, question: &Question) -> Result<Decision, DecideError> {
    weigh(predictor, job, question, &[])
}

/// As [`decide`], and sooner: what an earlier decision of the same predictor has predicted follows from no limit and no price,
/// and is not predicted again.
///
/// # Errors
/// As [`decide`].
pub fn decide_again(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    earlier: &Decision,
) -> Result<Decision, DecideError> {
    weigh(predictor, job, question, &earlier.candidates)
}

/// `known` are candidates of the same predictor, by E and C.
fn weigh(predictor: &Predictor, job: &Job, question: &Question, known: &[Candidate]) -> Result<Decision, DecideError> {
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
    let pairs = || executors.iter().flat_map(|e| cores.iter().map(move |c| (*e, *c)));
    let (answerable_executors, answerable_cores) = predictor.answerable(&executors, &cores);
    let listed = match answerable_executors.len() * answerable_cores.len() {
        _ if count <= MAX_LISTED => pairs().collect(),
        // Each says why nothing can be said.
        0 => pairs().take(1).collect(),
        _ => scan(predictor, job, question, &answerable_executors, &answerable_cores)
            .map_or_else(|| pairs().collect(), |scanned| scanned.listed(MAX_FRONT)),
    };
    let mut whole_job = predictor.at_rate(1.0);
    let mut prediction = |e: u32, c: u32| match known
        .binary_search_by_key(&(e, c), |known| (known.executors, known.cores_per_executor))
    {
        Ok(place) => known[place].prediction.clone(),
        Err(_) => whole_job.predict(e, c),
    };
    let candidates: Vec<Candidate> =
        listed.into_iter().map(|(e, c)| Candidate::of(prediction(e, c), job, question, e, c)).collect();
    Ok(Decision::among(candidates, count, question))
}

impl Decision {
    fn among(candidates: Vec<Candidate>, weighed: usize, question: &Question) -> Self {
        let possible = || (0..candidates.len()).filter(|index| candidates[*index].is_possible());
        let feasible = || possible().filter(|index| candidates[*index].is_feasible());
        let recommended =
            if question.wants_speed() { fastest(&candidates, feasible()) } else { cheapest(&candidates, feasible()) };
        let most = possible()
            .filter_map(|index| candidates[index].success_probability)
            .max_by(f64::total_cmp)
            .filter(|most| *most > 0.5);
        let likeliest = most.and_then(|most| {
            cheapest(&candidates, possible().filter(|index| candidates[*index].success_probability == Some(most)))
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
    let least = indices.clone().filter_map(|index| candidates[index].burden).min_by(f64::total_cmp)?;
    let same = |index: &usize| candidates[*index].burden.is_some_and(|burden| burden <= least * (1.0 + SAME_MONEY));
    fastest(candidates, indices.filter(same))
}

fn distinct(counts: &[u32]) -> Vec<u32> {
    let mut counts = counts.to_vec();
    sort(&mut counts);
    counts.dedup();
    counts
}
