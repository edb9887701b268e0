//! The plan of a job that runs, for a restart on another configuration.

use foreglow_model::{Interval, RestartReason, RunningJob, WholeRun};
use foreglow_shared::{CoreSplit, Estimate, format_duration};
use serde::{Deserialize, Serialize};

/// A plan that `foreglow plan --format json` wrote.
#[derive(Clone, Debug, Deserialize)]
pub struct RestartPlan {
    currency: String,
    candidates: Vec<Candidate>,
    #[serde(default)]
    startup: Option<Startup>,
}

#[derive(Clone, Debug, Deserialize)]
struct Candidate {
    machine: Option<String>,
    #[serde(default)]
    is_named: bool,
    machines: Option<u32>,
    #[serde(flatten)]
    split: CoreSplit,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    cost: Option<f64>,
    exclusion: Option<serde_json::Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Startup {
    median_secs: f64,
}

/// A restart that is worth it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestartAdvice {
    /// Machine type; `None` if the samples name none.
    machine: Option<String>,
    machines: Option<u32>,
    #[serde(flatten)]
    split: CoreSplit,
    /// Time left after the restart, seconds.
    pub(super) left_secs: f64,
    left_interval: Interval,
    /// How much sooner it ends, seconds; negative if later.
    sooner_secs: f64,
    /// Cost of the time left.
    cost: Option<f64>,
    /// `meets_deadline`, `costs_less` or `ends_sooner`.
    pub(super) reason: &'static str,
}

impl RestartPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The text is no plan; one sentence.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text)
            .map_err(|error| format!("that is not a plan ({error}); write one with `foreglow plan … --format json`"))
    }

    /// Returns the currency of the costs.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the restart that is worth it.
    pub(super) fn advice(&self, job: &RunningJob) -> Option<RestartAdvice> {
        let startup_secs = self.startup.map_or(0.0, |startup| startup.median_secs);
        let run = |candidate: &Candidate| {
            let secs = candidate.completion_time_secs.filter(|_| candidate.exclusion.is_none())?;
            Some(WholeRun { secs, interval: candidate.interval?, startup_secs, cost: candidate.cost })
        };
        let (candidates, runs): (Vec<&Candidate>, Vec<WholeRun>) =
            self.candidates.iter().filter_map(|candidate| Some((candidate, run(candidate)?))).unzip();
        let restart = job.restart(&runs)?;
        let Candidate { machine, is_named, machines, split, .. } = candidates[restart.place];
        Some(RestartAdvice {
            machine: machine.clone().filter(|_| *is_named),
            machines: *machines,
            split: *split,
            left_secs: restart.left_secs,
            left_interval: restart.left,
            sooner_secs: job.left_secs - restart.left_secs,
            cost: restart.cost,
            reason: match restart.reason {
                RestartReason::MeetsDeadline => "meets_deadline",
                RestartReason::CostsLess => "costs_less",
                RestartReason::EndsSooner => "ends_sooner",
            },
        })
    }
}

impl RestartAdvice {
    /// Describes the restart: `a restart on 2 × g5.xlarge, 2 × 4, is worth it: left 2 h (1 h 50 min
    /// to 2 h 10 min), 3 h sooner, for USD 4.10`.
    pub(super) fn line(&self, currency: &str) -> String {
        let machines = match (&self.machine, self.machines) {
            (Some(machine), Some(count @ 2..)) => format!("{count} × {machine}, "),
            (Some(machine), _) => format!("{machine}, "),
            (None, _) => String::new(),
        };
        let error = self.left_interval.error_secs();
        let rounded = |secs: f64| Estimate::new(secs, error).duration();
        let Interval { lower_secs, upper_secs, .. } = self.left_interval;
        let change = match self.sooner_secs {
            0.0.. => format!("{} sooner", format_duration(self.sooner_secs.round())),
            secs => format!("{} later", format_duration(-secs.round())),
        };
        let money = |cost: f64| Estimate::new(cost, cost * error / self.left_secs).money(currency);
        let cost = self.cost.map_or_else(String::new, |cost| format!(", for {}", money(cost)));
        format!(
            "a restart on {machines}{} is worth it: left {} ({} to {}), {change}{cost}",
            self.split.short(),
            rounded(self.left_secs),
            rounded(lower_secs),
            rounded(upper_secs),
        )
    }
}
