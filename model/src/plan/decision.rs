//! Applies prices and limits to predicted configurations.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use foreglow_shared::{CoreSplit, Rate, distinct, sort_by, sort_by_cached_key};
use serde::{Deserialize, Serialize};

use super::cache::{Cached, Weights};
use super::front::{front_by_time, order, thinned};
use super::grid::{GridCounts, outstanding};
use super::limits::{is_in_time, keeps_budget, keeps_hourly_cost};
use super::options::Excluded;
use super::quantiles::Quantiles;
use super::{Candidate, Limits, MAX_LISTED, Placement, Plan, Pricing, Timed};
use crate::chance::within;
use crate::cheapest::{as_cheap_as, cheapest, least};
use crate::{DecideError, Prediction, Spread};

/// The quantity that ranks configurations, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The cost of the job.
    #[default]
    Cost,
    /// Executors × hours, because no price is known and all configurations use the same hardware.
    ExecutorHours,
    /// The time of the job, because no price is known and the hardware differs.
    Time,
}

/// The decision: configurations, and the outstanding ones as indices into `candidates`.
/// Configurations that run out of memory or have no known time are never outstanding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Number of configurations that were compared.
    pub compared: usize,
    /// The quantity that ranks the configurations.
    pub objective: Objective,
    /// The configurations by arm, executors and cores. If there are more than 4,096, only the
    /// outstanding ones.
    pub candidates: Vec<Candidate>,
    /// The candidate with the least objective that meets all limits; the fastest one if there is a
    /// budget and no deadline. Costs count as equal to the least up to its standard error, from
    /// 0.2 to 2 %, and other objectives up to 0.2 %. Ties are broken by time, then by objective,
    /// then in the order of the candidates.
    pub recommended: Option<usize>,
    /// The candidate with the least objective that meets all limits, if `recommended` is another
    /// one whose objective counts as equal and which is faster.
    pub as_cheap: Option<usize>,
    /// The fastest candidate, regardless of the limits.
    pub fastest: Option<usize>,
    /// The candidate with the least objective, regardless of the limits.
    pub cheapest: Option<usize>,
    /// If no candidate meets all limits: the one with the highest probability above 1/2 to meet the
    /// deadline and the budget, of those within the other limits; of equals the cheapest.
    pub likeliest: Option<usize>,
    /// The Pareto front of time and objective, by ascending time; at most 64 points, evenly spaced,
    /// if not all configurations are listed.
    pub pareto: Vec<usize>,
    /// The best of each machine type: the cheapest that meets all limits, else the cheapest.
    /// Ascending by objective; unknown ones come last.
    pub best_per_machine: Vec<usize>,
}

impl Decision {
    /// Returns the candidate of the least objective that meets all limits: the recommended one, or
    /// [`as_cheap`](Self::as_cheap).
    pub fn least(&self) -> Option<&Candidate> {
        Some(&self.candidates[self.as_cheap.or(self.recommended)?])
    }
}

/// The rates that a plan needs to rank its configurations.
struct Ranking<'a> {
    plan: &'a Plan,
    objective: Objective,
    executor_hours: Pricing,
    limits: &'a Limits,
}

impl<'a> Ranking<'a> {
    fn of(plan: &'a Plan, limits: &'a Limits) -> Self {
        Self { plan, objective: plan.objective(), executor_hours: Pricing::executor_hours(), limits }
    }

    /// Returns what the objective of a configuration is a rate of; `None` if it is unknown.
    fn rate(&self, placement: Placement) -> Option<Rate> {
        match self.objective {
            Objective::ExecutorHours => self.executor_hours.rate(placement, false, 0.0),
            _ => self.plan.rate(placement, self.limits),
        }
    }

    /// Returns the objective; infinite if it is unknown.
    fn objective(&self, placement: Placement, secs: f64) -> f64 {
        match self.objective {
            Objective::Time => secs,
            _ => self.rate(placement).map_or(f64::INFINITY, |rate| rate.cost(secs)),
        }
    }
}

impl Plan {
    /// Decides: O(n) in the number of configurations. Caches costs and late times for the next
    /// decision, because a user mostly changes the deadline.
    ///
    /// Limits that no configuration meets are not an error: `recommended` is then `None`, and
    /// `fastest`, `cheapest` and `likeliest` show how far off they are. Unknown prices are not an
    /// error either: see [`Objective`]; no budget is met then.
    ///
    /// # Errors
    /// [`DecideError`]: a limit or the probability is out of range.
    pub fn decide(&self, limits: &Limits) -> Result<Decision, DecideError> {
        limits.check()?;
        let compared = self.grid.as_ref().map(GridCounts::len);
        let decision = self.listed(limits).decide_listed(limits);
        Ok(Decision { compared: compared.unwrap_or(decision.compared), ..decision })
    }

    /// Returns the plan of the configurations that can be outstanding: all, but for a grid.
    pub(crate) fn listed(&self, limits: &Limits) -> PlanPart<'_> {
        match &self.grid {
            Some(grid) => PlanPart::Outstanding(self.of_outstanding(outstanding(self, grid, limits))),
            None => PlanPart::All(self),
        }
    }

    /// Returns the plan of the outstanding configurations of the grid; the last one is cached.
    fn of_outstanding(&self, splits: Vec<CoreSplit>) -> Arc<Self> {
        let mut cached = self.cache.lock();
        if let Some((known, plan)) = &cached.outstanding
            && *known == splits
        {
            return Arc::clone(plan);
        }
        let plan = Arc::new(self.of_splits(&splits));
        cached.outstanding = Some((splits, Arc::clone(&plan)));
        plan
    }

    /// Returns the quantity that ranks the configurations.
    pub fn objective(&self) -> Objective {
        let arms = self.predictor.arms();
        let offered = || (0..arms.len()).filter(|arm| self.space.has(&arms[*arm]));
        let hardware = |arm: usize| (&arms[arm].machine, arms[arm].engine, &arms[arm].accelerator);
        if offered().any(|arm| !matches!(self.pricing[arm], Pricing::Unknown)) {
            Objective::Cost
        } else if offered().all(|arm| offered().next().map(hardware) == Some(hardware(arm))) {
            Objective::ExecutorHours
        } else {
            Objective::Time
        }
    }

    fn decide_listed(&self, limits: &Limits) -> Decision {
        let mut cached = self.cache.lock();
        let Cached { weights, predicted, .. } = &mut *cached;
        let weights: &Weights = match weights {
            Some(weights) if weights.are_of(limits) => weights,
            _ => weights.insert(self.weights(limits)),
        };
        let is_feasible: Vec<bool> = weights
            .late_secs
            .iter()
            .zip(&weights.is_allowed)
            .map(|(late, is_allowed)| *is_allowed && is_in_time(*late, limits))
            .collect();
        let all = || 0..self.options.len();
        let feasible = || all().filter(|place| is_feasible[*place]);
        let recommended =
            if limits.wants_speed() { self.fastest(weights, feasible()) } else { self.cheapest(weights, feasible()) };
        let likeliest = recommended.is_none().then(|| self.likeliest(weights, limits)).flatten();
        let least = least(feasible(), |place| weights.objective(place)).map(|(place, _)| place);
        let outstanding = Outstanding {
            recommended,
            as_cheap: least.filter(|least| !limits.wants_speed() && recommended != Some(*least)),
            // Without an objective, a configuration may be the fastest, but never the cheapest.
            fastest: self.fastest(weights, all()),
            cheapest: self.cheapest(weights, all()),
            likeliest,
            pareto: if self.lists_all() { weights.front.clone() } else { thinned(&weights.front) },
            best_per_machine: self.best_per_machine(
                weights,
                &is_feasible,
                recommended.filter(|_| !limits.wants_speed()),
            ),
        };
        let places = if self.lists_all() { all().collect() } else { outstanding.places() };
        predicted.update(&places, |place| self.predict(self.options[place].placement));
        let listed = places.iter().zip(predicted.predictions());
        let listed: Vec<(Option<usize>, Candidate)> = listed
            .map(|(place, prediction)| {
                (Some(*place), self.candidate(*place, prediction, weights, is_feasible[*place], limits))
            })
            .chain(self.excluded.iter().map(|excluded| (None, self.excluded_candidate(excluded, limits))))
            .collect();
        outstanding.decision(listed, self.options.len() + self.excluded.len(), self.objective())
    }

    /// Whether a decision lists all configurations.
    fn lists_all(&self) -> bool {
        self.options.len() + self.excluded.len() <= MAX_LISTED
    }

    /// Computes the parts that do not depend on the deadline.
    fn weights(&self, limits: &Limits) -> Weights {
        let mut quantiles = Quantiles::default();
        let ranking = Ranking::of(self, limits);
        let count = self.options.len();
        let room = || Vec::with_capacity(count);
        let (mut costs, mut objectives, mut late_secs) = (room(), room(), room());
        let mut is_allowed = Vec::with_capacity(count);
        for option in &self.options {
            let rate = self.rate(option.placement, limits);
            let late = quantiles.late_secs(option, limits.probability);
            let objective = ranking.objective(option.placement, option.secs);
            costs.push(rate.map_or(f64::INFINITY, |rate| rate.cost(option.secs)));
            is_allowed.push(
                objective.is_finite()
                    && self.keeps_accuracy(option.placement, limits)
                    && keeps_hourly_cost(rate, limits)
                    && keeps_budget(rate, late, limits),
            );
            objectives.push(objective);
            late_secs.push(late);
        }
        let machine_of = self.machine_of_arms();
        Weights {
            limits: *limits,
            front: self.front(&objectives),
            costs,
            objectives,
            late_secs,
            is_allowed,
            machines: self.options.iter().map(|option| machine_of[option.placement.arm]).collect(),
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

    pub(crate) fn rate(&self, placement: Placement, limits: &Limits) -> Option<Rate> {
        self.pricing[placement.arm].rate(placement, limits.spot, limits.startup_secs)
    }

    /// Whether the measured accuracy of a configuration meets the limits.
    pub(crate) fn keeps_accuracy(&self, placement: Placement, limits: &Limits) -> bool {
        limits.min_accuracy.is_none_or(|least| {
            let accuracy = self.predictor.accuracy(placement.arm, placement.executors);
            accuracy.is_some_and(|accuracy| accuracy.keeps(least))
        })
    }

    /// Returns the place with the highest probability, above 1/2, to meet the deadline and the
    /// budget, among those within the other limits; of a long list, those on the front of these.
    fn likeliest(&self, weights: &Weights, limits: &Limits) -> Option<usize> {
        let keeps_others = |place: usize| {
            let placement = self.options[place].placement;
            keeps_hourly_cost(self.rate(placement, limits), limits) && self.keeps_accuracy(placement, limits)
        };
        let allowed = |place: usize| if keeps_others(place) { weights.objectives[place] } else { f64::INFINITY };
        let places: Vec<usize> = match self.lists_all() {
            true => (0..self.options.len()).filter(|place| allowed(*place).is_finite()).collect(),
            false => self.front(&(0..self.options.len()).map(allowed).collect::<Vec<f64>>()),
        };
        let probability =
            |place: &usize| self.success_probability(&self.options[*place], limits).map(|known| (*place, known));
        let known: Vec<(usize, f64)> = places.iter().filter_map(probability).collect();
        let most = known.iter().map(|(_, probability)| *probability).fold(0.5, f64::max);
        let likeliest = known.iter().filter(|(_, probability)| most > 0.5 && *probability == most);
        self.cheapest(weights, likeliest.map(|(place, _)| *place))
    }

    /// Returns the least price per hour of a configuration; `None` if no price is known.
    pub fn least_hourly_cost(&self, limits: &Limits) -> Option<f64> {
        let rates = self.options.iter().filter_map(|option| self.rate(option.placement, limits));
        rates.map(|rate| rate.hourly()).min_by(f64::total_cmp)
    }

    /// Returns the probability of meeting the deadline and the budget.
    fn success_probability(&self, option: &Timed, limits: &Limits) -> Option<f64> {
        let Timed { placement, secs, spread, at_least_secs } = option;
        let within = |limit: f64| within(limit, *secs, spread.as_ref(), *at_least_secs);
        let rate = self.rate(*placement, limits);
        if limits.budget.is_some() && rate.is_none() {
            return None;
        }
        // The cost rises with the time, so a budget is a time limit too. Both limits are met if the
        // tighter one is.
        let affordable = |budget| rate.and_then(|rate| rate.affordable_secs(budget)).unwrap_or(0.0);
        let budget = limits.budget.map(affordable);
        limits.deadline_secs.into_iter().chain(budget).filter_map(within).min_by(f64::total_cmp)
    }

    /// Compares two places by time, then by objective.
    fn faster(&self, weights: &Weights, a: usize, b: usize) -> Ordering {
        let point = |place: usize| (self.options[place].secs, weights.objectives[place]);
        order(point(a), point(b))
    }

    fn fastest(&self, weights: &Weights, places: impl Iterator<Item = usize>) -> Option<usize> {
        places.min_by(|a, b| self.faster(weights, *a, *b))
    }

    fn cheapest(&self, weights: &Weights, places: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let faster = |a, b| self.faster(weights, a, b);
        cheapest(places, |place| weights.objective(place), |place| self.error(place), faster)
    }

    /// Returns the relative standard error of a cost, which is that of the time; 0 if it is
    /// unknown, and without prices, where the fewest executors are wanted.
    fn error(&self, place: usize) -> f64 {
        let spread = self.options[place].spread.as_ref().filter(|_| self.objective() == Objective::Cost);
        spread.and_then(Spread::log_deviation).unwrap_or(0.0)
    }

    fn front(&self, objectives: &[f64]) -> Vec<usize> {
        front_by_time(0..objectives.len(), &|place| self.options[place].secs, &|place| objectives[place])
    }

    /// Returns the places of the best configuration of each machine type, ascending by objective.
    /// `cheapest` is the best of its machine type, as it is of all.
    fn best_per_machine(&self, weights: &Weights, is_feasible: &[bool], cheapest: Option<usize>) -> Vec<usize> {
        let Weights { objectives, machines, .. } = weights;
        let count = machines.iter().max().map_or(0, |last| last + 1);
        // For each machine type the least: 0 if one is feasible, else 1, and the objective.
        let rank = |place: usize| (f64::from(!is_feasible[place]), objectives[place]);
        let mut least: Vec<Option<usize>> = vec![None; count];
        for (place, machine) in machines.iter().enumerate() {
            if least[*machine].is_none_or(|least| order(rank(place), rank(least)).is_lt()) {
                least[*machine] = Some(place);
            }
        }
        let bound = |least: usize| (rank(least).0, as_cheap_as(objectives[least], self.error(least)));
        let bounds: Vec<Option<(f64, f64)>> = least.into_iter().map(|least| least.map(bound)).collect();
        let mut best: Vec<Option<usize>> = vec![None; count];
        for (place, machine) in machines.iter().enumerate() {
            let (is_infeasible, objective) = rank(place);
            let is_as_good =
                bounds[*machine].is_some_and(|(of_least, most)| is_infeasible == of_least && objective <= most);
            let best = &mut best[*machine];
            if is_as_good && best.is_none_or(|best| self.faster(weights, place, best).is_lt()) {
                *best = Some(place);
            }
        }
        cheapest.into_iter().for_each(|place| best[machines[place]] = Some(place));
        let mut best: Vec<usize> = best.into_iter().flatten().collect();
        sort_by(&mut best, |a, b| order(rank(*a), rank(*b)).then(a.cmp(b)));
        best
    }

    fn candidate(
        &self,
        place: usize,
        prediction: &Prediction,
        weights: &Weights,
        is_feasible: bool,
        limits: &Limits,
    ) -> Candidate {
        let option = &self.options[place];
        let late = weights.late_secs[place];
        let rate = self.rate(option.placement, limits);
        let known = |value: f64| Some(value).filter(|value| value.is_finite());
        Candidate {
            placement: option.placement,
            prediction: prediction.clone(),
            cost: known(weights.costs[place]),
            hourly_cost: rate.map(|rate| rate.hourly()),
            objective: known(weights.objectives[place]),
            success_probability: self.success_probability(option, limits),
            meets_deadline: is_in_time(late, limits),
            within_budget: keeps_budget(rate, late, limits),
            keeps_accuracy: self.keeps_accuracy(option.placement, limits),
            is_feasible,
            accuracy: self.predictor.accuracy(option.placement.arm, option.placement.executors).cloned(),
            exclusion: None,
        }
    }

    /// Returns a configuration that cannot be recommended, with the time and cost that it would
    /// have.
    fn excluded_candidate(&self, excluded: &Excluded, limits: &Limits) -> Candidate {
        let Excluded { placement, prediction, exclusion } = excluded;
        let rate = self.rate(*placement, limits).filter(|rate| rate.hourly() > 0.0);
        let secs = prediction.completion_time_secs;
        let cost = secs.zip(rate).map(|(secs, rate)| rate.cost(secs));
        Candidate {
            placement: *placement,
            prediction: prediction.clone(),
            cost,
            hourly_cost: rate.map(|rate| rate.hourly()),
            objective: secs.map(|secs| Ranking::of(self, limits).objective(*placement, secs)).filter(|o| o.is_finite()),
            success_probability: None,
            meets_deadline: false,
            within_budget: false,
            keeps_accuracy: self.keeps_accuracy(*placement, limits),
            is_feasible: false,
            accuracy: self.predictor.accuracy(placement.arm, placement.executors).cloned(),
            exclusion: Some(exclusion.clone()),
        }
    }
}

/// The plan of the configurations that can be outstanding.
pub(crate) enum PlanPart<'a> {
    All(&'a Plan),
    Outstanding(Arc<Plan>),
}

impl Deref for PlanPart<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        match self {
            Self::All(plan) => plan,
            Self::Outstanding(plan) => plan,
        }
    }
}

/// Places of the outstanding configurations.
struct Outstanding {
    recommended: Option<usize>,
    as_cheap: Option<usize>,
    fastest: Option<usize>,
    cheapest: Option<usize>,
    likeliest: Option<usize>,
    pareto: Vec<usize>,
    best_per_machine: Vec<usize>,
}

impl Outstanding {
    /// Returns all places, ascending.
    fn places(&self) -> Vec<usize> {
        let single = [self.recommended, self.as_cheap, self.fastest, self.cheapest, self.likeliest];
        let lists = self.pareto.iter().chain(&self.best_per_machine).copied();
        distinct(single.into_iter().flatten().chain(lists))
    }

    /// Sorts the listed candidates, each with its place, and refers to them by their indices.
    fn decision(self, mut listed: Vec<(Option<usize>, Candidate)>, compared: usize, objective: Objective) -> Decision {
        sort_by_cached_key(&mut listed, |(_, candidate)| (candidate.placement.arm, candidate.placement.split()));
        let mut indices: Vec<(usize, usize)> =
            listed.iter().enumerate().filter_map(|(index, (place, _))| Some(((*place)?, index))).collect();
        sort_by(&mut indices, Ord::cmp);
        let index = |place: usize| {
            let found = indices.binary_search_by_key(&place, |(place, _)| *place).ok()?;
            Some(indices[found].1)
        };
        let at = |place: Option<usize>| place.and_then(index);
        let all = |places: Vec<usize>| places.into_iter().filter_map(index).collect();
        Decision {
            compared,
            objective,
            recommended: at(self.recommended),
            as_cheap: at(self.as_cheap),
            fastest: at(self.fastest),
            cheapest: at(self.cheapest),
            likeliest: at(self.likeliest),
            pareto: all(self.pareto),
            best_per_machine: all(self.best_per_machine),
            candidates: listed.into_iter().map(|(_, candidate)| candidate).collect(),
        }
    }
}
