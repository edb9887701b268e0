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
        Self { precision, budget, started: Instant::now(), spent: 0.0, times }
    }

    /// Creates limits that never apply.
    pub fn none() -> Self {
        Self::new(None, Budget::default(), &[])
    }

    /// Decides about a run. A run without a forecast is made as long as any budget is left.
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
        let Some(secs) = sample.completed_secs().filter(|_| self.precision.is_some()) else { return };
        match self.times.iter_mut().find(|(other, _)| other.is_like(run)) {
            Some((_, times)) => times.push(secs),
            None => self.times.push((run.clone(), vec![secs])),
        }
    }

    fn is_precise(&self, run: &Run) -> bool {
        let Some(precision) = self.precision else { return false };
        let times = self.times.iter().find(|(other, _)| other.is_like(run));
        let repetitions = times.and_then(|(_, times)| Repetitions::of(times));
        repetitions.and_then(|repetitions| repetitions.half_width()).is_some_and(|width| width <= precision)
    }
}
