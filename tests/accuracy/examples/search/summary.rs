//! Results of the searches of one strategy.

use foreglow_model::Replay;

/// A result within this share of the optimum is good.
const GOOD: f64 = 0.1;

pub const HEADER: &str = "\
| search | mean regret | its 95 % interval | within 10 % of the optimum | misses the deadline | money spent ÷ optimum | \
stops by itself after | regret when it stops |
|---|---:|---:|---:|---:|---:|---:|---:|";

/// Results of all searches of one strategy.
pub struct Summary {
    /// Mean regret of the searches that found a configuration in time.
    pub regret: f64,
    half_width: f64,
    /// Share of all searches that end within 10 % of the optimum.
    pub good: f64,
    /// Share of all searches without a run that met the deadline.
    pub missed: f64,
    spent: f64,
    stopped: f64,
    /// Mean regret when the strategy's own rule says to stop.
    regret_at_stop: f64,
}

impl Summary {
    pub fn of(outcomes: &[Replay]) -> Self {
        let count = outcomes.len() as f64;
        let share = |holds: &dyn Fn(&Replay) -> bool| outcomes.iter().filter(|one| holds(one)).count() as f64 / count;
        let regrets: Vec<f64> = outcomes.iter().filter_map(|one| one.regret).collect();
        let at_stop: Vec<f64> = outcomes.iter().filter_map(|one| one.regret_at_stop).collect();
        let regret = mean(&regrets);
        let squares: Vec<f64> = regrets.iter().map(|one| (one - regret) * (one - regret)).collect();
        let stops: Vec<f64> = outcomes.iter().map(|one| one.stopped_after.unwrap_or(one.probes) as f64).collect();
        let spent: Vec<f64> = outcomes.iter().map(|one| one.spent).collect();
        Self {
            regret,
            half_width: 1.96 * (mean(&squares) / regrets.len() as f64).sqrt(),
            good: share(&|one| one.regret.is_some_and(|regret| regret <= GOOD)),
            missed: share(&|one| one.regret.is_none()),
            spent: mean(&spent),
            stopped: mean(&stops),
            regret_at_stop: mean(&at_stop),
        }
    }

    pub fn row(&self, name: &str) -> String {
        let Self { regret, half_width, good, missed, spent, stopped, regret_at_stop } = self;
        format!(
            "| {name} | {:.1} % | ± {:.1} | {:.0} % | {:.1} % | {spent:.1} | {stopped:.1} runs | {:.1} % |",
            100.0 * regret,
            100.0 * half_width,
            100.0 * good,
            100.0 * missed,
            100.0 * regret_at_stop
        )
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
