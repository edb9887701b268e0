//! Searches a table of candidate configurations for the cheapest that meets a deadline: proposes
//! the next run, and says when to stop.
//!
//! - [`Strategy::Saving`] runs the configuration with the highest expected saving per cost of the
//!   run, and stops when no run is expected to save 2 % of the best cost.
//! - [`Strategy::ExpectedImprovement`] runs the one with the highest expected improvement of a
//!   Gaussian process, and stops after at least six runs when this is below 10 % of the best cost.
//! - [`Strategy::Random`] runs a random one and never stops.
//!
//! The first two start with the same three runs, which are spread over the table. The second is
//! CherryPick (Alipourfard et al., NSDI 2017, §3.3–3.5).

mod bayesian;
mod replay;
mod start;

use foreglow_numeric::median;
use serde::{Deserialize, Serialize};

use self::bayesian::Process;
pub use self::replay::{Replay, replay};
use self::start::spread_out;
use crate::ensemble::LEAST_CONTRADICTION;
use crate::{Dataset, Features, FitError, Meaning, TablePredictor, Warning};

/// Runs before the first model is fitted.
const FIRST_RUNS: usize = 3;
/// Minimum number of runs of CherryPick's search.
const CHERRYPICK_RUNS: usize = 6;

/// Candidate configurations, one a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchTable {
    /// Features of each configuration.
    pub features: Features,
    /// Price of a second of each configuration, above 0.
    pub prices: Vec<f64>,
    /// Meanings of numeric columns, by name.
    pub known: Vec<(String, Meaning)>,
}

/// A configuration that was run: its row, and its time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Row of the table.
    pub candidate: usize,
    /// Completion time, seconds.
    pub secs: f64,
}

/// How the next run is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Foreglow's strategy: expected saving per cost of the run, by its predictor.
    Saving,
    /// CherryPick's: expected improvement of a Gaussian process, times the probability to meet the
    /// deadline.
    ExpectedImprovement,
    /// A random configuration that was not run yet; the number seeds it.
    Random(u64),
}

impl Strategy {
    /// Returns the expected saving, as a share of the best cost, below which the search stops;
    /// `None` if it never does.
    pub fn least_saving(self) -> Option<f64> {
        match self {
            Self::Saving => Some(0.02),
            Self::ExpectedImprovement => Some(0.1),
            Self::Random(_) => None,
        }
    }

    fn stops_at(self, share: Option<f64>) -> bool {
        share.zip(self.least_saving()).is_some_and(|(share, least)| share < least)
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The configuration to run next; `None` if all were run.
    pub next: Option<usize>,
    /// The cheapest configuration that was run and met the deadline.
    pub best: Option<usize>,
    /// Largest expected saving of one more run, as a share of the best cost; `None` before a model
    /// is fitted, and before a run met the deadline.
    pub expected_saving: Option<f64>,
    /// Expected cost of the next run; `None` before a model is fitted.
    pub cost: Option<f64>,
    /// Whether the stopping rule is met.
    pub is_enough: bool,
}

/// Predicted time of a configuration.
#[derive(Clone, Copy, Debug)]
struct Expected {
    candidate: usize,
    /// Median time, seconds.
    secs: f64,
    /// Standard deviation of ln t.
    deviation: f64,
}

impl SearchTable {
    /// Returns the number of configurations.
    pub fn len(&self) -> usize {
        self.prices.len()
    }

    /// Returns whether there is no configuration.
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// Returns the cheapest configuration that was run and took at most `deadline` seconds, with
    /// the median time of its runs.
    pub fn best(&self, probes: &[Probe], deadline: f64) -> Option<Probe> {
        let cost = |probe: &Probe| probe.secs * self.prices[probe.candidate];
        let in_time = medians(probes).into_iter().filter(|probe| probe.secs <= deadline);
        in_time.min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// Returns the configuration with the shortest median time of its runs.
    pub fn fastest(probes: &[Probe]) -> Option<Probe> {
        medians(probes).into_iter().min_by(|a, b| a.secs.total_cmp(&b.secs))
    }

    /// Returns a warning for each configuration whose runs contradict each other; `describe` names
    /// a row.
    pub fn warnings(probes: &[Probe], describe: &dyn Fn(usize) -> String) -> Vec<Warning> {
        let warning = |(candidate, times): (usize, Vec<f64>)| {
            let fastest_secs = times.iter().copied().fold(f64::INFINITY, f64::min);
            let slowest_secs = times.iter().copied().fold(0.0, f64::max);
            let (at, runs) = (describe(candidate), times.len());
            let warning = Warning::RepeatsContradict { at, runs, fastest_secs, slowest_secs };
            (slowest_secs > LEAST_CONTRADICTION * fastest_secs).then_some(warning)
        };
        times(probes).into_iter().filter_map(warning).collect()
    }

    /// Proposes the next run. `deadline` is infinite without one.
    ///
    /// # Errors
    /// [`FitError`]: the runs cannot be fitted.
    pub fn propose(&self, probes: &[Probe], deadline: f64, strategy: Strategy) -> Result<Proposal, FitError> {
        let was_run = |row: usize| probes.iter().any(|probe| probe.candidate == row);
        let open: Vec<usize> = (0..self.len()).filter(|row| !was_run(*row)).collect();
        let configurations_run = self.len() - open.len();
        let best = self.best(probes, deadline);
        let proposal = Proposal {
            next: None,
            best: best.map(|probe| probe.candidate),
            expected_saving: None,
            cost: None,
            is_enough: open.is_empty(),
        };
        if open.is_empty() {
            return Ok(proposal);
        }
        if configurations_run < FIRST_RUNS {
            let next = match strategy {
                Strategy::Random(seed) => start::random(&open, seed, probes.len()),
                _ => {
                    let first = spread_out(&self.features, FIRST_RUNS);
                    first.into_iter().find(|row| !was_run(*row)).unwrap_or(open[0])
                }
            };
            return Ok(Proposal { next: Some(next), ..proposal });
        }
        let best_cost = best.map(|probe| probe.secs * self.prices[probe.candidate]);
        match strategy {
            Strategy::Random(seed) => Ok(Proposal { next: Some(start::random(&open, seed, probes.len())), ..proposal }),
            Strategy::Saving => {
                let expected = self.by_predictor(probes, &open)?;
                Ok(self.choose(&expected, best_cost, deadline, proposal))
            }
            Strategy::ExpectedImprovement => {
                let expected = Process::fit(self, probes).expect_of(&open);
                let chosen = self.improvement(&expected, best_cost, deadline, proposal);
                Ok(Proposal { is_enough: chosen.is_enough && configurations_run >= CHERRYPICK_RUNS, ..chosen })
            }
        }
    }

    /// Predicts the open configurations with Foreglow's predictor.
    fn by_predictor(&self, probes: &[Probe], open: &[usize]) -> Result<Vec<Expected>, FitError> {
        let rows: Vec<usize> = probes.iter().map(|probe| probe.candidate).collect();
        let secs = probes.iter().map(|probe| probe.secs).collect();
        let runs = Dataset::new(self.features.select(&rows), secs, vec![false; rows.len()])?;
        let known: Vec<(&str, Meaning)> = self.known.iter().map(|(name, meaning)| (name.as_str(), *meaning)).collect();
        let predictor = TablePredictor::fit(&runs, &known)?;
        let predictions = predictor.predict(&self.features.select(open))?;
        // A configuration without a predicted time gets the geometric mean of the measured ones,
        // with a wide spread.
        let logs: Vec<f64> = probes.iter().map(|probe| libm::log(probe.secs)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let expected = |(candidate, prediction): (&usize, crate::Prediction)| {
            let deviation = prediction.spread.as_ref().map_or(1.0, |spread| libm::log(spread.quantile(ONE_DEVIATION)));
            Expected {
                candidate: *candidate,
                secs: prediction.completion_time_secs.unwrap_or_else(|| libm::exp(mean)),
                deviation: deviation.clamp(0.01, 1.0),
            }
        };
        Ok(open.iter().zip(predictions).map(expected).collect())
    }

    /// Chooses the run with the highest expected saving per cost. Before a run has met the
    /// deadline, chooses the one with the highest probability to meet it per cost.
    fn choose(&self, expected: &[Expected], best: Option<f64>, deadline: f64, proposal: Proposal) -> Proposal {
        let cost = |one: &Expected| one.secs * self.prices[one.candidate];
        let saving = |one: &Expected| match best {
            Some(best) => saving(best, cost(one), one, deadline),
            None => in_time(one, deadline),
        };
        let worth = |one: &Expected| saving(one) / cost(one);
        let next = expected.iter().max_by(|a, b| worth(a).total_cmp(&worth(b)));
        let most = expected.iter().map(saving).fold(0.0, f64::max);
        let share = best.map(|best| most / best);
        Proposal {
            next: next.map(|one| one.candidate),
            cost: next.map(cost),
            expected_saving: share,
            is_enough: Strategy::Saving.stops_at(share),
            ..proposal
        }
    }

    /// Chooses the run with the highest expected improvement times its probability to meet the
    /// deadline.
    fn improvement(&self, expected: &[Expected], best: Option<f64>, deadline: f64, proposal: Proposal) -> Proposal {
        let cost = |one: &Expected| one.secs * self.prices[one.candidate];
        let gain = |one: &Expected| match best {
            Some(best) => improvement(best, cost(one), one.deviation) * in_time(one, deadline),
            None => in_time(one, deadline),
        };
        let next = expected.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
        let share = next.zip(best).map(|(one, best)| gain(one) / best);
        Proposal {
            next: next.map(|one| one.candidate),
            cost: next.map(cost),
            expected_saving: share,
            is_enough: Strategy::ExpectedImprovement.stops_at(share),
            ..proposal
        }
    }
}

/// Returns the times of each configuration that was run, in the order of the first runs.
fn times(probes: &[Probe]) -> Vec<(usize, Vec<f64>)> {
    let mut times: Vec<(usize, Vec<f64>)> = Vec::new();
    for Probe { candidate, secs } in probes {
        match times.iter_mut().find(|(known, _)| known == candidate) {
            Some((_, of_candidate)) => of_candidate.push(*secs),
            None => times.push((*candidate, vec![*secs])),
        }
    }
    times
}

/// Returns the median time of each configuration that was run.
fn medians(probes: &[Probe]) -> Vec<Probe> {
    times(probes).into_iter().map(|(candidate, times)| Probe { candidate, secs: median(times) }).collect()
}

/// Probability one standard deviation above the median of a normal distribution.
const ONE_DEVIATION: f64 = 0.841_344_746_068_542_9;

/// Expected saving over `best` of a run that counts only if it meets the deadline: E[(best − C)⁺;
/// T ≤ deadline], where the cost C is proportional to the lognormal time T. Both conditions bound
/// T, so the tighter one counts.
fn saving(best: f64, cost: f64, one: &Expected, deadline: f64) -> f64 {
    let price = cost / one.secs;
    let bound = (best / price).min(deadline);
    if bound.is_nan() || bound <= 0.0 {
        return 0.0;
    }
    let limit = libm::log(bound / one.secs) / one.deviation;
    let mean = cost * libm::exp(one.deviation * one.deviation / 2.0);
    (best * normal_below(limit) - mean * normal_below(limit - one.deviation)).max(0.0)
}

/// Expected improvement over `best` of a lognormal cost.
fn improvement(best: f64, cost: f64, deviation: f64) -> f64 {
    let limit = libm::log(best / cost) / deviation;
    let mean = cost * libm::exp(deviation * deviation / 2.0);
    (best * normal_below(limit) - mean * normal_below(limit - deviation)).max(0.0)
}

/// Probability that a configuration meets the deadline.
fn in_time(one: &Expected, deadline: f64) -> f64 {
    if deadline.is_infinite() { 1.0 } else { normal_below(libm::log(deadline / one.secs) / one.deviation) }
}

fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}
