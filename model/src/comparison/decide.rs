//! Applies prices and limits to predicted configurations.

use foreglow_shared::Question;
use serde::{Deserialize, Serialize};

use super::billing::Rate;
use super::{Comparison, Placement, Timed};
use crate::{DecideError, Prediction, Spread};

/// Relative difference below which costs are considered equal; then the faster configuration wins.
const SAME_MONEY: f64 = 2e-3;
/// Limit on the listed points of the front.
const MAX_FRONT: usize = 64;

/// What a configuration has to meet, and which prices apply.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineLimits {
    /// Deadline, seconds.
    pub deadline_secs: Option<f64>,
    /// Largest cost of the job.
    pub budget: Option<f64>,
    /// Largest price of all machines per hour.
    pub max_hourly_cost: Option<f64>,
    /// Probability with which the deadline and the budget must be met, in (0, 1).
    pub probability: f64,
    /// Whether machines are rented at spot prices.
    pub spot: bool,
    /// Time that the machines are billed for before the completion time starts, seconds.
    pub startup_secs: f64,
}

/// A configuration with its predicted time and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineCandidate {
    /// The configuration.
    #[serde(flatten)]
    pub placement: Placement,
    /// Prediction for the whole job.
    pub prediction: Prediction,
    /// Cost of the predicted time; `None` if no price is known.
    pub cost: Option<f64>,
    /// Price of all machines per hour; `None` if no price is known.
    pub hourly_cost: Option<f64>,
    /// Probability of meeting the deadline and the budget; `None` without either, or if there are
    /// too few samples to estimate it.
    pub success_probability: Option<f64>,
    /// Whether all limits are met with the requested probability.
    pub is_feasible: bool,
}

/// The answer: the notable configurations, and which of them is what, as indices into
/// `candidates`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDecision {
    /// Number of configurations that were compared.
    pub weighed: usize,
    /// The notable configurations, ascending by time.
    pub candidates: Vec<MachineCandidate>,
    /// The cheapest that meets all limits; the fastest if there is a budget and no deadline. Ties
    /// are broken by time.
    pub recommended: Option<usize>,
    /// The fastest, whatever the limits.
    pub fastest: Option<usize>,
    /// The cheapest, whatever the limits.
    pub cheapest: Option<usize>,
    /// On the front, the one with the highest probability to meet the limits, if nothing meets
    /// them.
    pub likeliest: Option<usize>,
    /// The Pareto front of time and cost, by ascending time; at most 64 points, evenly spaced.
    pub pareto: Vec<usize>,
    /// The best of each machine type: the cheapest that meets all limits, or else the cheapest, or
    /// else, without a price, the fastest. Ascending by cost, the unknown last.
    pub best_per_machine: Vec<usize>,
}

impl MachineLimits {
    /// Returns the limits of a question.
    pub fn of(question: &Question) -> Self {
        Self {
            deadline_secs: question.deadline_secs,
            budget: question.budget,
            max_hourly_cost: None,
            probability: question.probability,
            spot: false,
            startup_secs: 0.0,
        }
    }

    fn check(&self) -> Result<(), DecideError> {
        let is_none = |limit: &f64| !(limit.is_finite() && *limit > 0.0);
        if let Some(deadline) = self.deadline_secs.filter(is_none) {
            return Err(DecideError::Deadline(deadline));
        }
        if let Some(budget) = self.budget.filter(is_none) {
            return Err(DecideError::Budget(budget));
        }
        if let Some(cost) = self.max_hourly_cost.filter(is_none) {
            return Err(DecideError::HourlyCost(cost));
        }
        if !(self.probability > 0.0 && self.probability < 1.0) {
            return Err(DecideError::Probability(self.probability));
        }
        Ok(())
    }

    fn wants_speed(&self) -> bool {
        self.budget.is_some() && self.deadline_secs.is_none()
    }
}

/// Factors of late times, by the degrees of freedom of a spread: a comparison has few of them, and
/// the quantile of Student's t is slow.
#[derive(Default)]
struct Quantiles {
    known: Vec<(f64, f64)>,
}

impl Quantiles {
    /// Returns the logarithm of the quantile of a spread of scale 1.
    fn unit(&mut self, degrees_of_freedom: f64, probability: f64) -> f64 {
        if let Some((_, unit)) = self.known.iter().find(|(degrees, _)| *degrees == degrees_of_freedom) {
            return *unit;
        }
        let spread = Spread::student_t(1.0, degrees_of_freedom);
        let unit = spread.map_or(f64::INFINITY, |spread| libm::log(spread.quantile(probability)));
        self.known.push((degrees_of_freedom, unit));
        unit
    }

    /// Returns the time that is exceeded with a probability of at most 1 − `probability`, seconds.
    fn late_secs(&mut self, candidate: &Timed, probability: f64) -> f64 {
        let late = match &candidate.spread {
            // The predicted time is the median.
            _ if probability <= 0.5 => candidate.secs,
            None => f64::INFINITY,
            Some(Spread::StudentT { scale, degrees_of_freedom }) => {
                candidate.secs * libm::exp(scale * self.unit(*degrees_of_freedom, probability))
            }
            Some(spread) => candidate.secs * spread.quantile(probability),
        };
        // A run that was stopped took longer than the prediction may say.
        if candidate.at_least_secs > 0.0 { late.max(candidate.at_least_secs * (1.0 + 1e-9)) } else { late }
    }
}

/// The cost of every configuration, and whether it meets the limits.
struct Weighed {
    /// Infinite if no price is known.
    costs: Vec<f64>,
    feasible: Vec<bool>,
}

impl Comparison {
    /// Decides: O(n) in the number of configurations.
    ///
    /// Limits that nothing meets are not an error: `recommended` is then `None`.
    ///
    /// # Errors
    /// [`DecideError`]: a limit or the probability is out of range.
    pub fn decide(&self, limits: &MachineLimits) -> Result<MachineDecision, DecideError> {
        limits.check()?;
        let weighed = self.weigh(limits);
        let Weighed { costs, feasible } = &weighed;
        let all = || 0..self.candidates.len();
        let is_feasible = |place: &usize| feasible[*place];
        let recommended =
            if limits.wants_speed() { all().find(is_feasible) } else { cheapest(costs, all().filter(is_feasible)) };
        let front = front(costs);
        let likeliest = recommended.is_none().then(|| self.likeliest(&front, costs, limits)).flatten();
        let notable = Notable {
            recommended,
            fastest: all().next(),
            cheapest: cheapest(costs, all()),
            likeliest,
            pareto: thinned(&front),
            best_per_machine: self.best_per_machine(&weighed),
        };
        Ok(self.list(&notable, &weighed, limits))
    }

    fn weigh(&self, limits: &MachineLimits) -> Weighed {
        let mut quantiles = Quantiles::default();
        let mut weighed = Weighed {
            costs: Vec::with_capacity(self.candidates.len()),
            feasible: Vec::with_capacity(self.candidates.len()),
        };
        for candidate in &self.candidates {
            let rate = self.rate(candidate.placement, limits);
            weighed.costs.push(rate.map_or(f64::INFINITY, |rate| rate.cost(candidate.secs)));
            let late = quantiles.late_secs(candidate, limits.probability);
            weighed.feasible.push(meets(rate, candidate.secs, late, limits));
        }
        weighed
    }

    fn rate(&self, placement: Placement, limits: &MachineLimits) -> Option<Rate> {
        self.pricing[placement.arm].rate(placement, limits.spot, limits.startup_secs)
    }

    /// Returns the point of the front with the highest probability, above 1/2, to meet the limits.
    fn likeliest(&self, front: &[usize], costs: &[f64], limits: &MachineLimits) -> Option<usize> {
        let probability = |place: usize| self.success_probability(&self.candidates[place], limits).unwrap_or(0.0);
        let known: Vec<(usize, f64)> = front.iter().map(|place| (*place, probability(*place))).collect();
        let most = known.iter().map(|(_, probability)| *probability).fold(0.5, f64::max);
        let likeliest = known.iter().filter(|(_, probability)| most > 0.5 && *probability == most);
        cheapest(costs, likeliest.map(|(place, _)| *place))
    }

    fn success_probability(&self, candidate: &Timed, limits: &MachineLimits) -> Option<f64> {
        let spread = candidate.spread.as_ref()?;
        let within = |limit: f64| {
            if candidate.at_least_secs >= limit { 0.0 } else { spread.probability_below(limit / candidate.secs) }
        };
        let deadline = limits.deadline_secs.map(within);
        // The cost rises with the time, so a budget is a time limit too: found by bisection, because
        // the charged time is rounded.
        let budget = limits.budget.map(|budget| {
            let Some(rate) = self.rate(candidate.placement, limits) else { return 0.0 };
            let (mut low, mut high) = (0.0, candidate.secs * 1e3);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                *if rate.cost(middle) <= budget { &mut low } else { &mut high } = middle;
            }
            within(low)
        });
        [deadline, budget].into_iter().flatten().min_by(f64::total_cmp)
    }

    fn best_per_machine(&self, weighed: &Weighed) -> Vec<usize> {
        let arms = self.predictor.arms();
        let mut names: Vec<&str> = Vec::new();
        let machine_of: Vec<usize> = arms
            .iter()
            .map(|arm| {
                names.iter().position(|name| *name == arm.machine).unwrap_or_else(|| {
                    names.push(&arm.machine);
                    names.len() - 1
                })
            })
            .collect();
        // For each machine type: whether the best so far is feasible, its cost and its place.
        let mut best: Vec<Option<(bool, f64, usize)>> = vec![None; names.len()];
        for (place, candidate) in self.candidates.iter().enumerate() {
            let (feasible, cost) = (weighed.feasible[place], weighed.costs[place]);
            let best = &mut best[machine_of[candidate.placement.arm]];
            let is_better = best.is_none_or(|(was_feasible, least, _)| {
                (feasible && !was_feasible) || (feasible == was_feasible && cost < least * (1.0 - SAME_MONEY))
            });
            if is_better {
                *best = Some((feasible, cost, place));
            }
        }
        let mut best: Vec<(bool, f64, usize)> = best.into_iter().flatten().collect();
        best.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        best.into_iter().map(|(.., place)| place).collect()
    }

    /// Lists the notable configurations, and predicts them again with their intervals and warnings.
    fn list(&self, notable: &Notable, weighed: &Weighed, limits: &MachineLimits) -> MachineDecision {
        let places = notable.places();
        let at = |place: Option<usize>| place.and_then(|place| places.binary_search(&place).ok());
        let all = |list: &[usize]| list.iter().filter_map(|place| places.binary_search(place).ok()).collect();
        let candidate = |place: &usize| {
            let timed = &self.candidates[*place];
            MachineCandidate {
                placement: timed.placement,
                prediction: self.predict(timed.placement),
                cost: Some(weighed.costs[*place]).filter(|cost| cost.is_finite()),
                hourly_cost: self.rate(timed.placement, limits).map(|rate| rate.hourly()),
                success_probability: self.success_probability(timed, limits),
                is_feasible: weighed.feasible[*place],
            }
        };
        MachineDecision {
            weighed: self.candidates.len(),
            candidates: places.iter().map(candidate).collect(),
            recommended: at(notable.recommended),
            fastest: at(notable.fastest),
            cheapest: at(notable.cheapest),
            likeliest: at(notable.likeliest),
            pareto: all(&notable.pareto),
            best_per_machine: all(&notable.best_per_machine),
        }
    }
}

/// Places of the notable configurations.
struct Notable {
    recommended: Option<usize>,
    fastest: Option<usize>,
    cheapest: Option<usize>,
    likeliest: Option<usize>,
    pareto: Vec<usize>,
    best_per_machine: Vec<usize>,
}

impl Notable {
    /// Returns all places, ascending.
    fn places(&self) -> Vec<usize> {
        let single = [self.recommended, self.fastest, self.cheapest, self.likeliest];
        let lists = self.pareto.iter().chain(&self.best_per_machine).copied();
        let mut places: Vec<usize> = single.into_iter().flatten().chain(lists).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Whether a configuration meets all limits; `late` is the time that it exceeds too rarely to
/// matter.
fn meets(rate: Option<Rate>, secs: f64, late: f64, limits: &MachineLimits) -> bool {
    let in_time = limits.deadline_secs.is_none_or(|deadline| late <= deadline * (1.0 + 1e-9));
    let Some(rate) = rate else {
        // Without a price, a configuration may be the fastest, but never the cheapest.
        return false;
    };
    let late_cost = if late.is_finite() { rate.cost(late) } else { f64::INFINITY };
    in_time
        && secs.is_finite()
        && limits.budget.is_none_or(|budget| late_cost <= budget * (1.0 + 1e-9))
        && limits.max_hourly_cost.is_none_or(|most| rate.hourly() <= most * (1.0 + 1e-9))
}

/// Returns the cheapest of some places in ascending order of time; of costs that are practically
/// equal the fastest. `None` if no price is known.
fn cheapest(costs: &[f64], places: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let least = places.clone().map(|place| costs[place]).fold(f64::INFINITY, f64::min);
    let bound = least * (1.0 + SAME_MONEY);
    places.into_iter().find(|place| least.is_finite() && costs[*place] <= bound)
}

/// Returns the Pareto front of configurations in ascending order of time.
fn front(costs: &[f64]) -> Vec<usize> {
    let mut least = f64::INFINITY;
    let is_better = |place: &usize| {
        let better = costs[*place] < least;
        least = least.min(costs[*place]);
        better
    };
    (0..costs.len()).filter(is_better).collect()
}

/// Returns at most `MAX_FRONT` places, evenly spaced, including both ends.
fn thinned(front: &[usize]) -> Vec<usize> {
    let last = front.len().saturating_sub(1);
    let count = front.len().min(MAX_FRONT);
    (0..count).map(|index| front[last * index / count.saturating_sub(1).max(1)]).collect()
}
