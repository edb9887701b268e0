//! What spoils a measurement, and what to do about it.

use std::fmt;

use foreglow_model::Repetitions;
use foreglow_shared::Sample;
use serde::{Deserialize, Serialize};

use super::WARNINGS;

/// Why a time may not be that of the configuration. Displays as one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The configuration has more slots than there are processors for them.
    MoreSlotsThanProcessors {
        /// E·C.
        slots: u32,
        /// Processors that the run may use.
        processors: u32,
    },
    /// Other processes took processors that the slots needed.
    BusyMachine {
        /// Mean number of processors that others took.
        other_processors: f64,
        /// Processors that the slots left free.
        free_processors: u32,
    },
    /// The host of a virtual machine took processors away.
    StolenProcessors {
        /// Mean number of them.
        stolen_processors: f64,
    },
    /// The processors keep to a low clock rate.
    SlowGovernor {
        /// Who keeps them there.
        governor: String,
    },
    /// Heat slowed the processors during the run.
    Throttled {
        /// How often.
        times: u64,
    },
    /// Somebody else used the accelerator before the run.
    SharedAccelerator {
        /// Processes that computed on it.
        processes: u32,
        /// Its use, per cent.
        use_percent: u32,
    },
    /// Heat or power slows the accelerator.
    ThrottledAccelerator,
    /// Equal runs disagree.
    NoisyRepeats {
        /// How many they are.
        runs: usize,
        /// Those that lie far from the others.
        outliers: usize,
        /// Their relative standard deviation, as their median absolute deviation has it.
        spread: f64,
    },
}

/// Equal runs that spread by more are warned of.
const NOISY: f64 = 0.05;

impl Warning {
    /// A warning where equal runs disagree.
    pub fn of_repetitions(runs: usize, repetitions: &Repetitions) -> Option<Self> {
        let Repetitions { spread, outliers, .. } = repetitions;
        let outliers = outliers.len();
        (outliers > 0 || *spread > NOISY).then_some(Self::NoisyRepeats { runs, outliers, spread: *spread })
    }
}

/// The warnings of a sample.
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
                "other programs took {other_processors:.1} processors during the run, and {free_processors} were free; end \
                 them and measure again"
            ),
            Self::StolenProcessors { stolen_processors } => write!(
                f,
                "the host of this virtual machine took {stolen_processors:.1} processors away during the run; measure again, \
                 or on processors that are yours alone"
            ),
            Self::SlowGovernor { governor } => write!(
                f,
                "the governor {governor} keeps the processors at their lowest clock rate; choose performance, for example with \
                 `cpupower frequency-set -g performance`"
            ),
            Self::Throttled { times } => write!(
                f,
                "the processors were slowed for their heat {times} times during the run; let them cool and measure again"
            ),
            Self::SharedAccelerator { processes, use_percent } => write!(
                f,
                "{processes} other programs computed on the accelerator before the run, which was {use_percent} % in use; end \
                 them and measure again"
            ),
            Self::NoisyRepeats { runs, outliers, spread } => {
                write!(f, "{runs} equal runs spread by {:.1} %", 100.0 * spread)?;
                match outliers {
                    0 => Ok(()),
                    1 => f.write_str(", and 1 of them lies far from the others"),
                    _ => write!(f, ", and {outliers} of them lie far from the others"),
                }?;
                f.write_str(
                    "; end other programs, and repeat until the median is known, for example with --precision 2%",
                )
            }
            Self::ThrottledAccelerator => {
                f.write_str("heat or power slows the accelerator; let it cool, or expect no better of it")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_keeps_its_form_in_a_sample() {
        let warnings =
            [Warning::BusyMachine { other_processors: 0.5, free_processors: 0 }, Warning::ThrottledAccelerator];
        let json = serde_json::to_value(&warnings).unwrap();
        assert_eq!(json[0], serde_json::json!({"kind": "busy_machine", "other_processors": 0.5, "free_processors": 0}));
        assert_eq!(json[1]["kind"], "throttled_accelerator");
        assert_eq!(serde_json::from_value::<Vec<Warning>>(json).unwrap(), warnings);
        let noisy = Warning::of_repetitions(6, &Repetitions::of(&[2.0, 2.0, 2.0, 2.0, 2.0, 9.0]).unwrap());
        assert_eq!(noisy, Some(Warning::NoisyRepeats { runs: 6, outliers: 1, spread: 0.0 }));
        let sentence = noisy.unwrap().to_string();
        assert!(sentence.starts_with("6 equal runs spread by 0.0 %, and 1 of them lies far from the others; end"));
        assert_eq!(Warning::of_repetitions(3, &Repetitions::of(&[2.0, 2.01, 1.99]).unwrap()), None);
        assert!(warnings[0].to_string().contains("took 0.5 processors"), "{}", warnings[0]);
    }
}
