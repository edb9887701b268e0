//! Applies prices and limits to predicted configurations.

use std::cmp::Ordering;

use foreglow_shared::Rate;
use serde::{Deserialize, Serialize};

use super::kept::{Kept, Predicted, Weights};
use super::limits::{MachineLimits, is_in_time, keeps_money};
use super::notable::{Notable, front, thinned};
use super::{Comparison, Placement, Timed};
use crate::chance::{above, keeps, within};
use crate::cheapest::{as_cheap_as, cheapest};
use crate::decision::order;
use crate::{Accuracy, DecideError, Prediction, Spread};

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
    /// The measured accuracy; `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
}

/// The decision: the notable configurations, and the role of each as an index into `candidates`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineDecision {
    /// Number of configurations that were compared.
    pub weighed: usize,
    /// The notable configurations, ascending by time.
    pub candidates: Vec<MachineCandidate>,
    /// The cheapest that meets all limits; the fastest if there is a budget and no deadline. Ties
    /// are broken by time, then cost.
    pub recommended: Option<usize>,
    /// The fastest, regardless of the limits.
    pub fastest: Option<usize>,
    /// The cheapest, regardless of the limits.
    pub cheapest: Option<usize>,
    /// If no configuration meets all limits: the one with the highest probability to meet the
    /// deadline and the budget, among those on the front of the configurations within the other
    /// limits.
    pub likeliest: Option<usize>,
    /// The Pareto front of time and cost, by ascending time; at most 64 points, evenly spaced.
    pub pareto: Vec<usize>,
    /// The best of each machine type: the cheapest that meets all limits, else the cheapest, or
    /// without a price the fastest. Ascending by cost; unknown costs come last.
    pub best_per_machine: Vec<usize>,
}

/// Cache of quantiles by the degrees of freedom of a spread, because the quantile of Student's t is
/// slow to compute. A comparison has few different degrees of freedom.
#[derive(Default)]
pub(crate) struct Quantiles {
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
    /// A run that was stopped took longer than the prediction may say.
    pub(crate) fn late_secs(&mut self, candidate: &Timed, probability: f64) -> f64 {
        let late = match &candidate.spread {
            // The predicted time is the median.
            _ if probability <= 0.5 => candidate.secs,
            None => f64::INFINITY,
            Some(Spread::StudentT { scale, degrees_of_freedom }) => {
                candidate.secs * libm::exp(scale * self.unit(*degrees_of_freedom, probability))
            }
            Some(spread) => candidate.secs * spread.quantile(probability),
        };
        above(late, candidate.at_least_secs)
    }
}

/// Cost of each configuration, and whether it meets the limits.
struct Weighed<'a> {
    weights: &'a Weights,
    feasible: Vec<bool>,
}

impl Comparison {
    /// Decides: O(n) in the number of configurations. Caches costs and late times for the next
    /// decision, because a user mostly changes the deadline.
    ///
    /// Limits that no configuration meets are not an error: `recommended` is then `None`.
    ///
    /// # Errors
    /// [`DecideError`]: a limit or the probability is out of range.
    pub fn decide(&self, limits: &MachineLimits) -> Result<MachineDecision, DecideError> {
        limits.check()?;
        let mut kept = self.kept.lock();
        let Kept { weights, predicted } = &mut *kept;
        let weights: &Weights = match weights {
            Some(weights) if weights.are_of(limits) => weights,
            _ => weights.insert(self.weights(limits)),
        };
        let in_time = |late: &Option<f64>| late.is_some_and(|late| is_in_time(late, limits));
        let weighed = Weighed { weights, feasible: weights.late_secs.iter().map(in_time).collect() };
        let (Weights { costs, front, .. }, feasible) = (weights, &weighed.feasible);
        let all = || 0..self.candidates.len();
        let is_feasible = |place: &usize| feasible[*place];
        let recommended = if limits.wants_speed() {
            self.fastest(costs, all().filter(is_feasible))
        } else {
            self.cheapest(costs, all().filter(is_feasible))
        };
        let likeliest = recommended.is_none().then(|| self.likeliest(weights, limits)).flatten();
        let notable = Notable {
            recommended,
            fastest: self.fastest(costs, all()),
            cheapest: self.cheapest(costs, all()),
            likeliest,
            pareto: thinned(front),
            best_per_machine: self.best_per_machine(&weighed),
        };
        Ok(self.list(&notable, &weighed, limits, predicted))
    }

    /// Computes the parts that do not depend on the deadline.
    fn weights(&self, limits: &MachineLimits) -> Weights {
        let mut quantiles = Quantiles::default();
        let count = self.candidates.len();
        let (mut costs, mut late_secs) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for candidate in &self.candidates {
            let rate = self.rate(candidate.placement, limits);
            costs.push(rate.map_or(f64::INFINITY, |rate| rate.cost(candidate.secs)));
            let late = quantiles.late_secs(candidate, limits.probability);
            let is_kept = self.keeps_accuracy(candidate.placement, limits) && keeps_money(rate, late, limits);
            late_secs.push(is_kept.then_some(late));
        }
        let machine_of = self.machine_of_arms();
        Weights {
            limits: *limits,
            front: self.front(&costs),
            costs,
            late_secs,
            machines: self.candidates.iter().map(|candidate| machine_of[candidate.placement.arm]).collect(),
        }
    }

    /// Returns a number for each arm, equal for arms of the same machine type.
    fn machine_of_arms(&self) -> Vec<usize> {
        let mut names: Vec<&str> = Vec::new();
        let number = |name| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        self.predictor.arms().iter().map(|arm| arm.machine.as_str()).map(number).collect()
    }

    pub(super) fn rate(&self, placement: Placement, limits: &MachineLimits) -> Option<Rate> {
        self.pricing[placement.arm].rate(placement, limits.spot, limits.startup_secs)
    }

    /// Whether the measured accuracy of a configuration meets the limits.
    pub(crate) fn keeps_accuracy(&self, placement: Placement, limits: &MachineLimits) -> bool {
        limits.min_accuracy.is_none_or(|least| {
            let accuracy = self.predictor.accuracy(placement.arm, placement.executors);
            accuracy.is_some_and(|accuracy| accuracy.keeps(least))
        })
    }

    /// Returns the point of the front with the highest probability, above 1/2, to meet the deadline
    /// and the budget. The front excludes configurations that cost too much per hour or are not
    /// accurate enough.
    fn likeliest(&self, weights: &Weights, limits: &MachineLimits) -> Option<usize> {
        let is_limited = limits.max_hourly_cost.is_some() || limits.min_accuracy.is_some();
        let allowed = is_limited.then(|| {
            let cost = |(place, cost): (usize, &f64)| {
                let placement = self.candidates[place].placement;
                let keeps_cost = limits
                    .max_hourly_cost
                    .is_none_or(|most| self.rate(placement, limits).is_some_and(|rate| keeps(rate.hourly(), most)));
                if keeps_cost && self.keeps_accuracy(placement, limits) { *cost } else { f64::INFINITY }
            };
            let costs: Vec<f64> = weights.costs.iter().enumerate().map(cost).collect();
            (self.front(&costs), costs)
        });
        let (front, costs) = allowed.as_ref().map_or((&weights.front, &weights.costs), |(front, costs)| (front, costs));
        let probability = |place: usize| self.success_probability(&self.candidates[place], limits).unwrap_or(0.0);
        let known: Vec<(usize, f64)> = front.iter().map(|place| (*place, probability(*place))).collect();
        let most = known.iter().map(|(_, probability)| *probability).fold(0.5, f64::max);
        let likeliest = known.iter().filter(|(_, probability)| most > 0.5 && *probability == most);
        self.cheapest(costs, likeliest.map(|(place, _)| *place))
    }

    /// Returns the least price per hour of a configuration; `None` if no price is known.
    pub fn least_hourly_cost(&self, limits: &MachineLimits) -> Option<f64> {
        let rates = self.candidates.iter().filter_map(|candidate| self.rate(candidate.placement, limits));
        rates.map(|rate| rate.hourly()).min_by(f64::total_cmp)
    }

    fn success_probability(&self, candidate: &Timed, limits: &MachineLimits) -> Option<f64> {
        let Timed { placement, secs, spread, at_least_secs } = candidate;
        let within = |limit: f64| within(limit, *secs, spread.as_ref(), *at_least_secs);
        // The cost rises with the time, so a budget is a time limit too.
        let affordable = |budget| self.rate(*placement, limits).and_then(|rate| rate.affordable_secs(budget));
        let budget = limits.budget.map(|budget| affordable(budget).unwrap_or(0.0));
        limits.deadline_secs.into_iter().chain(budget).filter_map(within).min_by(f64::total_cmp)
    }

    /// Compares two places by time, then cost.
    fn faster(&self, costs: &[f64], a: usize, b: usize) -> Ordering {
        let point = |place: usize| (self.candidates[place].secs, costs[place]);
        order(point(a), point(b))
    }

    fn fastest(&self, costs: &[f64], places: impl Iterator<Item = usize>) -> Option<usize> {
        places.min_by(|a, b| self.faster(costs, *a, *b))
    }

    fn cheapest(&self, costs: &[f64], places: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let cost = |place: usize| Some(costs[place]).filter(|cost| cost.is_finite());
        cheapest(places, cost, |a, b| self.faster(costs, a, b))
    }

    fn front(&self, costs: &[f64]) -> Vec<usize> {
        front(&|place| self.candidates[place].secs, costs)
    }

    /// Returns the places of the best configuration of each machine type, ascending by cost.
    fn best_per_machine(&self, weighed: &Weighed) -> Vec<usize> {
        let Weighed { weights: Weights { costs, machines, .. }, feasible } = weighed;
        let count = machines.iter().max().map_or(0, |last| last + 1);
        // For each machine type the least: 0 if one is feasible, else 1, and the cost.
        let rank = |place: usize| (f64::from(!feasible[place]), costs[place]);
        let mut least = vec![(1.0, f64::INFINITY); count];
        for (place, machine) in machines.iter().enumerate() {
            if order(rank(place), least[*machine]).is_lt() {
                least[*machine] = rank(place);
            }
        }
        let mut best: Vec<Option<usize>> = vec![None; count];
        for (place, machine) in machines.iter().enumerate() {
            let (is_infeasible, cost) = least[*machine];
            let is_as_good = rank(place).0 == is_infeasible && costs[place] <= as_cheap_as(cost);
            let best = &mut best[*machine];
            if is_as_good && best.is_none_or(|best| self.faster(costs, place, best).is_lt()) {
                *best = Some(place);
            }
        }
        let mut best: Vec<usize> = best.into_iter().flatten().collect();
        best.sort_by(|a, b| order(rank(*a), rank(*b)).then(a.cmp(b)));
        best
    }

    /// Lists the notable configurations, and predicts them again with their intervals and warnings.
    fn list(
        &self,
        notable: &Notable,
        weighed: &Weighed,
        limits: &MachineLimits,
        predicted: &mut Predicted,
    ) -> MachineDecision {
        let places = notable.places();
        predicted.keep(&places, |place| self.predict(self.candidates[place].placement));
        let at = |place: Option<usize>| place.and_then(|place| places.binary_search(&place).ok());
        let all = |list: &[usize]| list.iter().filter_map(|place| places.binary_search(place).ok()).collect();
        let candidate = |(place, prediction): (&usize, &Prediction)| {
            let timed = &self.candidates[*place];
            MachineCandidate {
                placement: timed.placement,
                prediction: prediction.clone(),
                cost: Some(weighed.weights.costs[*place]).filter(|cost| cost.is_finite()),
                hourly_cost: self.rate(timed.placement, limits).map(|rate| rate.hourly()),
                success_probability: self.success_probability(timed, limits),
                is_feasible: weighed.feasible[*place],
                accuracy: self.predictor.accuracy(timed.placement.arm, timed.placement.executors).cloned(),
            }
        };
        MachineDecision {
            weighed: self.candidates.len(),
            candidates: places.iter().zip(predicted.predictions()).map(candidate).collect(),
            recommended: at(notable.recommended),
            fastest: at(notable.fastest),
            cheapest: at(notable.cheapest),
            likeliest: at(notable.likeliest),
            pareto: all(&notable.pareto),
            best_per_machine: all(&notable.best_per_machine),
        }
    }
}
