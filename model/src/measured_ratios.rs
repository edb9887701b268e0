//! Slowdowns of oversubscribed configurations beyond the bound.
//!
//! A configuration with more task threads than processors is no faster than the fastest one that
//! fits ([`Capacity`]), and often slower, because its threads compete for caches and memory. Its
//! own runs show the slowdown; the runs of others show how it grows with the threads that wait.

use foreglow_predictor::Spread;
use foreglow_shared::{Observation, sort_by};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::{Prediction, Setting};
use foreglow_numeric::median;

/// Standard deviation of ln(time / bound) if nearly all threads wait, before any run shows it. With
/// twice the threads that a machine has, half of them wait; such jobs took 1.2 to 1.9 times as
/// long.
const SLOWDOWN: f64 = 0.6;
/// Standard deviation of ln t between runs of an oversubscribed setting, and between settings with
/// the same share of threads that wait.
const NOISE: f64 = 0.1;
/// Weight of the bound itself, in runs: a short run of more threads than processors is mostly
/// noise. On own runs of 1 and 10 % of four jobs, a tenth of this had up to a third more error.
const PRIOR_RUNS: f64 = 1.0;
/// Degrees of freedom of an unknown slowdown.
const DEGREES_OF_FREEDOM: f64 = 4.0;

/// Measured times of oversubscribed configurations, relative to the bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredRatios(Vec<MeasuredRatio>);

/// The runs of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct MeasuredRatio {
    setting: Setting,
    /// Median of ln(measured time / bound).
    log_ratio: f64,
    /// Number of runs.
    runs: f64,
}

/// The time of an oversubscribed configuration relative to that of the fastest one that fits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slowdown {
    /// The median.
    pub(crate) factor: f64,
    /// Its distribution about the median, without runs of the configuration.
    pub(crate) spread: Option<Spread>,
}

impl Slowdown {
    /// Slows the prediction of the fastest configuration that fits. The interval does not begin
    /// earlier, because more threads are never faster.
    pub(crate) fn apply(&self, prediction: &mut Prediction) {
        prediction.scale(self.factor);
        let Some(spread) = &self.spread else { return };
        let least = prediction.interval.map(|interval| interval.lower_secs);
        prediction.widen(spread);
        if let Some((interval, least)) = prediction.interval.as_mut().zip(least) {
            interval.lower_secs = interval.lower_secs.max(least);
        }
    }
}

impl MeasuredRatios {
    /// Compares completed runs with the bound of their settings, in seconds.
    pub(crate) fn of(runs: &[Observation], bound_secs: impl Fn(Setting) -> Option<f64>) -> Self {
        let mut settings: Vec<Setting> = runs.iter().map(Setting::of).collect();
        sort_by(&mut settings, Setting::order);
        settings.dedup();
        let ratio = |setting: Setting| {
            let bound = bound_secs(setting)?;
            let of_setting = runs.iter().filter(|run| Setting::of(run) == setting);
            let logs: Vec<f64> = of_setting.map(|run| libm::log(run.completion_time_secs / bound)).collect();
            let (log_ratio, runs) = (median(&logs), logs.len() as f64);
            log_ratio.is_finite().then_some(MeasuredRatio { setting, log_ratio, runs })
        };
        Self(settings.into_iter().filter_map(ratio).collect())
    }

    /// Returns the slowdown of a setting beyond the capacity: from the runs of its configuration,
    /// at the nearest sampling rate, or else by the share of threads that wait from the runs of
    /// other configurations. `None` if its distribution is unknown.
    pub(crate) fn slowdown(&self, setting: Setting, capacity: Capacity) -> Option<Slowdown> {
        if let Some(MeasuredRatio { log_ratio, runs, .. }) = self.own(setting) {
            return Some(Slowdown { factor: libm::exp(log_ratio * runs / (runs + PRIOR_RUNS)), spread: None });
        }
        let (log, deviation) = self.unmeasured(capacity.waiting(setting), capacity);
        let spread = Spread::student_t(deviation, DEGREES_OF_FREEDOM).ok()?;
        Some(Slowdown { factor: libm::exp(log), spread: Some(spread) })
    }

    fn own(&self, setting: Setting) -> Option<&MeasuredRatio> {
        let distance = |at: &MeasuredRatio| libm::fabs(libm::log(at.setting.sampling_rate / setting.sampling_rate));
        let is_of = |at: &&MeasuredRatio| at.setting.split() == setting.split();
        self.0.iter().filter(is_of).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Returns the logarithm of the slowdown of a configuration without runs, and its standard
    /// deviation: it is proportional to the share of threads that wait, with a normal prior about
    /// 0. More threads are never faster.
    fn unmeasured(&self, waiting: f64, capacity: Capacity) -> (f64, f64) {
        let (mut precision, mut sum) = (1.0 / (SLOWDOWN * SLOWDOWN), 0.0);
        for MeasuredRatio { setting, log_ratio, runs } in &self.0 {
            let waiting = capacity.waiting(*setting);
            let weight = waiting / (NOISE * NOISE * (1.0 + 1.0 / runs));
            precision += weight * waiting;
            sum += weight * log_ratio;
        }
        let log = (sum / precision).max(0.0) * waiting;
        (log, (waiting * waiting / precision + NOISE * NOISE).sqrt())
    }

    /// Returns the measured configurations of equal executors, E and C.
    pub(crate) fn configurations(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().filter_map(|at| at.setting.split().equal_counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Capacity = Capacity { processors: Some(2), accelerators: None, averages: false };

    /// Runs of 1 s where the bound is the divisor of their slowdown.
    fn of(runs: &[(u32, u32, f64)]) -> MeasuredRatios {
        let rows = runs.iter().map(|(e, c, slowdown)| serde_json::json!([e, c, 512, 8, 0.1, slowdown, null]));
        let runs: Vec<Observation> = serde_json::from_value(rows.collect()).unwrap();
        MeasuredRatios::of(&runs, |_| Some(1.0))
    }

    fn slowdown(of: &MeasuredRatios, executors: u32, cores: u32) -> Slowdown {
        of.slowdown(Setting::even(executors, cores, 1.0), TWO).unwrap()
    }

    #[test]
    fn a_measured_configuration_has_the_slowdown_of_its_runs() {
        // One run counts as much as the bound.
        let one = slowdown(&of(&[(2, 2, 1.5)]), 2, 2);
        assert!((one.factor - 1.5_f64.sqrt()).abs() < 1e-9, "{one:?}");
        let many = slowdown(&of(&[(2, 2, 1.5); 9]), 2, 2);
        assert!((1.43..1.5).contains(&many.factor), "{many:?}");
    }

    #[test]
    fn the_slowdown_of_others_grows_with_the_threads_and_narrows_the_distribution() {
        let unknown = MeasuredRatios::default();
        let known = of(&[(2, 2, 1.5), (2, 2, 1.5), (1, 4, 1.5)]);
        // Half of four threads wait, and three quarters of eight.
        for (executors, cores, share) in [(4, 1, 1.0), (4, 2, 1.5)] {
            let (before, after) = (slowdown(&unknown, executors, cores), slowdown(&known, executors, cores));
            assert_eq!(before.factor, 1.0);
            let expected = libm::pow(1.5, share);
            assert!((0.9 * expected..expected).contains(&after.factor), "{after:?}");
            let late = |slowdown: Slowdown| slowdown.spread.unwrap().quantile(0.95);
            assert!(late(after) < late(before));
        }
        assert_eq!(slowdown(&of(&[(2, 2, 0.8)]), 4, 1).factor, 1.0, "more threads are never faster");
    }
}
