//! Stopping rules of a sweep: sufficient precision, and the budget.

use std::time::{Duration, Instant};

use foreglow_model::Repetitions;
use foreglow_shared::{PriceSheet, Sample};

use super::{Forecast, Run, combinations, cost};

/// Budget of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Wall-clock time of the sweep.
    pub time: Option<Duration>,
    /// Money for its runs, with the prices.
    pub money: Option<(f64, PriceSheet)>,
}

/// Decides before each run whether to make it.
pub struct Limits {
    /// Target for the half-width of the median's interval, relative to the median.
    precision: Option<f64>,
    budget: Budget,
    started: Instant,
    spent: f64,
    /// Times of each combination so far, seconds.
    times: Vec<(Run, Vec<f64>)>,
    /// The combinations of incomplete runs, one entry per run.
    incomplete: Vec<Run>,
}

/// Decision about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run is made.
    Make,
    /// The median of its combination is precise enough.
    Precise,
    /// The run exceeds the remaining budget.
    OverBudget,
}

impl Limits {
    /// Creates the limits of a sweep that starts now, given the known samples.
    pub fn new(precision: Option<f64>, budget: Budget, known: &[&Sample]) -> Self {
        let times = if precision.is_some() { combinations(known.iter().copied()) } else { Vec::new() };
        Self { precision, budget, started: Instant::now(), spent: 0.0, times, incomplete: Vec::new() }
    }

    /// Creates limits that never apply.
    pub fn none() -> Self {
        Self::new(None, Budget::default(), &[])
    }

    /// Decides about a run. Without a forecast, the run is made if any budget is left.
    pub fn verdict(&self, run: &Run, forecast: &Forecast) -> Verdict {
        if self.is_precise(run) {
            return Verdict::Precise;
        }
        let over_time = self.budget.time.is_some_and(|most| {
            let left = most.saturating_sub(self.started.elapsed()).as_secs_f64();
            forecast.wall_secs(run).unwrap_or(0.0) >= left
        });
        let over_money = self.budget.money.as_ref().is_some_and(|(most, prices)| {
            cost(prices, run, forecast.completion_secs(run).unwrap_or(0.0)).is_none_or(|cost| cost > most - self.spent)
        });
        if over_time || over_money { Verdict::OverBudget } else { Verdict::Make }
    }

    /// Adds a run that took `wall` in total.
    pub fn add(&mut self, run: &Run, wall: Duration, sample: &Sample) {
        if let Some((_, prices)) = &self.budget.money {
            let secs = sample.completion_time_secs.unwrap_or(wall.as_secs_f64());
            self.spent += cost(prices, run, secs).unwrap_or(0.0);
        }
        if self.precision.is_none() {
            return;
        }
        let Some(secs) = sample.completed_secs() else {
            self.incomplete.push(run.clone());
            return;
        };
        match self.times.iter_mut().find(|(other, _)| other.is_like(run)) {
            Some((_, times)) => times.push(secs),
            None => self.times.push((run.clone(), vec![secs])),
        }
    }

    /// Returns the index of the next run. With a precision, a combination that has not run yet
    /// comes first, then the one whose median has the widest interval; without an interval, the one
    /// with the fewest runs.
    pub fn next(&self, left: &[&Run]) -> usize {
        if self.precision.is_none() {
            return 0;
        }
        // A combination that never completes has no interval to narrow and comes last.
        let is_hopeless = |run: &Run| self.times_of(run).is_empty() && self.count(run) > 0;
        let width = |run: &Run| if is_hopeless(run) { 0.0 } else { self.half_width(run).unwrap_or(f64::INFINITY) };
        let known = |run: &Run| (self.count(run), width(run));
        let ranks: Vec<(usize, f64)> = left.iter().map(|run| known(run)).collect();
        let by_rank = |(a, wide_a): &(usize, f64), (b, wide_b): &(usize, f64)| {
            (*a > 0).cmp(&(*b > 0)).then(wide_b.total_cmp(wide_a)).then(a.cmp(b))
        };
        (0..left.len()).min_by(|a, b| by_rank(&ranks[*a], &ranks[*b])).unwrap_or(0)
    }

    fn is_precise(&self, run: &Run) -> bool {
        let width = self.half_width(run);
        self.precision.is_some_and(|precision| width.is_some_and(|width| width <= precision))
    }

    /// Returns half the width of the interval of a combination's median, relative to the median.
    fn half_width(&self, run: &Run) -> Option<f64> {
        Repetitions::of(self.times_of(run))?.half_width()
    }

    /// Returns the number of runs of a combination.
    fn count(&self, run: &Run) -> usize {
        self.times_of(run).len() + self.incomplete.iter().filter(|other| other.is_like(run)).count()
    }

    fn times_of(&self, run: &Run) -> &[f64] {
        self.times.iter().find(|(other, _)| other.is_like(run)).map_or(&[], |(_, times)| times)
    }
}
