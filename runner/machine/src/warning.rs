//! Conditions that spoil a measurement, with advice.

use std::fmt;

use foreglow_model::Repetitions;
use foreglow_shared::Sample;
use serde::{Deserialize, Serialize};

use super::WARNINGS;

/// Reason why a time may not be representative of the configuration. Displays as one sentence with
/// advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The configuration is oversubscribed: it has more slots than processors.
    MoreSlotsThanProcessors {
        /// E·C.
        slots: u32,
        /// Processors that the run may use.
        processors: u32,
    },
    /// Other processes used processors that the slots needed.
    BusyMachine {
        /// Mean number of processors that others used.
        other_processors: f64,
        /// Processors that the slots left free.
        free_processors: u32,
    },
    /// The host of a virtual machine took processors away.
    StolenProcessors {
        /// Mean number of stolen processors.
        stolen_processors: f64,
    },
    /// The container or the service used up its CPU quota.
    ContainerQuota {
        /// Processors that the quota allows.
        quota_processors: f64,
        /// Share of the quota's periods in which it was used up.
        throttled_share: f64,
    },
    /// The processors are kept at a low clock rate.
    SlowGovernor {
        /// Frequency governor.
        governor: String,
    },
    /// Heat throttled the processors during the run.
    Throttled {
        /// Number of throttling events.
        times: u64,
    },
    /// The accelerator was in use by others before the run.
    SharedAccelerator {
        /// Processes that computed on it.
        processes: u32,
        /// Utilisation, per cent.
        use_percent: u32,
    },
    /// Heat or power limits throttle the accelerator.
    ThrottledAccelerator,
    /// Repeated runs disagree.
    NoisyRepeats {
        /// Number of runs.
        runs: usize,
        /// Number of outliers.
        outliers: usize,
        /// Relative standard deviation, estimated from the median absolute deviation.
        spread: f64,
    },
}

/// Relative spread of repeated runs above which a warning is given.
const NOISY: f64 = 0.05;

impl Warning {
    /// Returns a warning if repeated runs disagree.
    pub fn of_repetitions(runs: usize, repetitions: &Repetitions) -> Option<Self> {
        let Repetitions { spread, outliers, .. } = repetitions;
        let outliers = outliers.len();
        (outliers > 0 || *spread > NOISY).then_some(Self::NoisyRepeats { runs, outliers, spread: *spread })
    }
}

/// Returns the warnings of a sample.
pub fn warnings_of(sample: &Sample) -> Vec<Warning> {
    let warnings = sample.extra.get(WARNINGS).cloned();
    warnings.and_then(|warnings| serde_json::from_value(warnings).ok()).unwrap_or_default()
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreSlotsThanProcessors { slots, processors } => write!(
                f,
                "{slots} threads share {processors} processors of this machine; their times are not those of {slots} cores"
            ),
            Self::BusyMachine { other_processors, free_processors } => write!(
                f,
                "other programs took {other_processors:.1} of the run's processors, and it had {free_processors} to spare; \
                 end them and measure again"
            ),
            Self::StolenProcessors { stolen_processors } => write!(
                f,
                "the host of this virtual machine took {stolen_processors:.1} processors away during the run; \
                measure again, or on dedicated processors"
            ),
            Self::ContainerQuota { quota_processors, throttled_share } => write!(
                f,
                "the container's CPU quota of {quota_processors:.2} processors (limits.cpu of a pod, --cpus of Docker) \
                 was used up in {:.0} % of the run's time, so its times are those of this quota",
                100.0 * throttled_share
            ),
            Self::SlowGovernor { governor } => write!(
                f,
                "the governor {governor} keeps the processors at their lowest clock rate; choose performance, for example with \
                 `cpupower frequency-set -g performance`"
            ),
            Self::Throttled { times } => write!(
                f,
                "the processors were throttled by heat {times} times during the run; let them cool and measure again"
            ),
            Self::SharedAccelerator { processes: 0, use_percent } => {
                write!(
                    f,
                    "another program used the accelerator to {use_percent} % before the run; end it and measure again"
                )
            }
            Self::SharedAccelerator { processes, use_percent } => write!(
                f,
                "{processes} other programs computed on the accelerator before the run, which was {use_percent} % in use; end \
                 them and measure again"
            ),
            Self::NoisyRepeats { runs, outliers, spread } => {
                write!(f, "{runs} equal runs spread by {:.1} %", 100.0 * spread)?;
                match outliers {
                    0 => Ok(()),
                    1 => f.write_str(", with 1 outlier"),
                    _ => write!(f, ", with {outliers} outliers"),
                }?;
                f.write_str(
                    "; end other programs, and repeat until the median is precise, for example with --precision 2%",
                )
            }
            Self::ThrottledAccelerator => {
                f.write_str("heat or power limits slow the accelerator; let it cool and measure again")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_keep_their_json_format() {
        let warnings =
            [Warning::BusyMachine { other_processors: 0.5, free_processors: 0 }, Warning::ThrottledAccelerator];
        let json = serde_json::to_value(&warnings).unwrap();
        assert_eq!(json[0], serde_json::json!({"kind": "busy_machine", "other_processors": 0.5, "free_processors": 0}));
        assert_eq!(json[1]["kind"], "throttled_accelerator");
        assert_eq!(serde_json::from_value::<Vec<Warning>>(json).unwrap(), warnings);
        let noisy = Warning::of_repetitions(6, &Repetitions::of(&[2.0, 2.0, 2.0, 2.0, 2.0, 9.0]).unwrap());
        assert_eq!(noisy, Some(Warning::NoisyRepeats { runs: 6, outliers: 1, spread: 0.0 }));
        let sentence = noisy.unwrap().to_string();
        assert!(sentence.starts_with("6 equal runs spread by 0.0 %, with 1 outlier; end"));
        assert_eq!(Warning::of_repetitions(3, &Repetitions::of(&[2.0, 2.01, 1.99]).unwrap()), None);
        assert!(warnings[0].to_string().contains("took 0.5 of the run"), "{}", warnings[0]);
        let quota = Warning::ContainerQuota { quota_processors: 0.25, throttled_share: 0.936 }.to_string();
        assert!(quota.starts_with("the container's CPU quota of 0.25 processors (limits.cpu of a pod"), "{quota}");
        assert!(quota.contains("was used up in 94 % of the run's time"), "{quota}");
    }
}
