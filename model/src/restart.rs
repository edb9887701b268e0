//! Whether another configuration is worth a restart of a job that runs.

use foreglow_predictor::Interval;

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningJob {
    /// Time since it started, seconds.
    pub elapsed_secs: f64,
    /// Time left, seconds.
    pub left_secs: f64,
    /// Interval of the time left.
    pub left: Interval,
    /// Cost of the time left; `None` without a price.
    pub left_cost: Option<f64>,
    /// Share of the work that its last checkpoint has, in [0, 1].
    pub kept: f64,
    /// Deadline, seconds since its start, and the probability to meet it.
    pub deadline: Option<(f64, f64)>,
}

/// The whole job on another configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeRun {
    /// Completion time, seconds.
    pub secs: f64,
    /// Its interval.
    pub interval: Interval,
    /// Start-up, seconds, which a restart needs again.
    pub startup_secs: f64,
    /// Cost; `None` without a price.
    pub cost: Option<f64>,
}

/// The work that is left after the last checkpoint, on another configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// Position of the configuration.
    pub place: usize,
    /// Time left, seconds.
    pub left_secs: f64,
    /// Its interval.
    pub left: Interval,
    /// Cost of the time left.
    pub cost: Option<f64>,
    /// Why it is worth it.
    pub reason: RestartReason,
}

/// Why a restart is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartReason {
    /// It meets a deadline that the job would probably miss.
    MeetsDeadline,
    /// What is left costs less.
    CostsLess,
    /// It ends sooner, and no price is known.
    EndsSooner,
}

impl RunningJob {
    /// Returns the configuration whose restart is worth it: one that meets the deadline, if the job
    /// would probably miss it; or else one that certainly costs less, without missing a deadline
    /// that the job meets. Certain means that the intervals do not overlap. `None` if a restart is
    /// not worth it.
    pub fn restart(&self, others: &[WholeRun]) -> Option<Restart> {
        let restarts = || others.iter().enumerate().map(|(place, run)| self.on(place, run));
        let is_in_time = |restart: &Restart| match self.deadline {
            Some((secs, _)) => self.elapsed_secs + restart.left.upper_secs <= secs,
            None => true,
        };
        let cheapest = |restarts: &mut dyn Iterator<Item = Restart>| {
            let key = |restart: &Restart| (restart.cost.unwrap_or(f64::INFINITY), restart.left_secs);
            restarts.min_by(|one, other| key(one).partial_cmp(&key(other)).unwrap_or(std::cmp::Ordering::Equal))
        };
        if self.deadline.is_some_and(|(_, probability)| probability < 0.5) {
            let in_time = cheapest(&mut restarts().filter(is_in_time))?;
            return Some(Restart { reason: RestartReason::MeetsDeadline, ..in_time });
        }
        let Some(left_cost) = self.left_cost else {
            let sooner = |restart: &Restart| restart.left.upper_secs < self.left.lower_secs && restart.cost.is_none();
            return cheapest(&mut restarts().filter(sooner));
        };
        let least = left_cost * self.left.lower_secs / self.left_secs;
        let is_cheaper = |restart: &Restart| {
            let most = restart.cost.map(|cost| cost * restart.left.upper_secs / restart.left_secs);
            most.is_some_and(|most| most < least)
        };
        let cheaper = cheapest(&mut restarts().filter(is_in_time).filter(is_cheaper))?;
        Some(Restart { reason: RestartReason::CostsLess, ..cheaper })
    }

    fn on(&self, place: usize, run: &WholeRun) -> Restart {
        let share = 1.0 - self.kept;
        let left = |secs: f64| run.startup_secs + share * secs;
        let Interval { lower_secs, upper_secs, probability } = run.interval;
        Restart {
            place,
            left_secs: left(run.secs),
            left: Interval { lower_secs: left(lower_secs), upper_secs: left(upper_secs), probability },
            cost: run.cost.map(|cost| cost * left(run.secs) / run.secs),
            reason: RestartReason::EndsSooner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(secs: f64, share: f64) -> Interval {
        Interval { lower_secs: secs * (1.0 - share), upper_secs: secs * (1.0 + share), probability: 0.9 }
    }

    fn run(secs: f64, cost: Option<f64>) -> WholeRun {
        WholeRun { secs, interval: interval(secs, 0.1), startup_secs: 10.0, cost }
    }

    /// A job of 1,000 s, of which 200 s have passed and 100 s are in the last checkpoint.
    fn job() -> RunningJob {
        RunningJob {
            elapsed_secs: 200.0,
            left_secs: 800.0,
            left: interval(800.0, 0.05),
            left_cost: Some(8.0),
            kept: 0.1,
            deadline: None,
        }
    }

    #[test]
    fn a_restart_has_to_cost_certainly_less() {
        // 0.9 of the work and the start-up: 460 s for 4.6.
        let restart = job().restart(&[run(700.0, Some(9.0)), run(500.0, Some(5.0))]).unwrap();
        assert_eq!((restart.place, restart.reason), (1, RestartReason::CostsLess));
        assert!((restart.left_secs - 460.0).abs() < 1e-9 && (restart.cost.unwrap() - 4.6).abs() < 1e-9, "{restart:?}");
        // 7.3 and a tenth is more than 8 less a twentieth.
        assert_eq!(job().restart(&[run(500.0, Some(7.93))]), None);
        let nothing_kept = RunningJob { kept: 0.0, ..job() };
        assert_eq!(nothing_kept.restart(&[run(500.0, Some(7.0))]), None);
        assert_eq!(job().restart(&[run(100.0, None)]), None);
    }

    #[test]
    fn a_restart_may_cost_more_to_meet_the_deadline() {
        let late = RunningJob { deadline: Some((700.0, 0.01)), ..job() };
        let others = [run(700.0, Some(7.0)), run(300.0, Some(30.0)), run(200.0, Some(50.0))];
        let restart = late.restart(&others).unwrap();
        assert_eq!((restart.place, restart.reason), (1, RestartReason::MeetsDeadline));
        assert_eq!(late.restart(&others[..1]), None);
        // In time as it is: a cheaper one that would be late is not worth it.
        let in_time = RunningJob { deadline: Some((1_100.0, 0.99)), ..job() };
        assert_eq!(in_time.restart(&[run(1_200.0, Some(1.0))]), None);
        assert_eq!(in_time.restart(&[run(500.0, Some(1.0))]).unwrap().reason, RestartReason::CostsLess);
    }

    #[test]
    fn without_prices_a_restart_ends_sooner() {
        let free = RunningJob { left_cost: None, ..job() };
        assert_eq!(free.restart(&[run(400.0, None)]).unwrap().reason, RestartReason::EndsSooner);
        assert_eq!(free.restart(&[run(800.0, None)]), None);
    }
}
