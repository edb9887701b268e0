//! What the predictor answers.

use std::fmt;

use foreglow_shared::format_rate;
use serde::{Deserialize, Serialize};

use crate::{Feature, Spread};

/// A predicted completion time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Seconds; `None` where the samples cannot say (the warnings tell why).
    pub completion_time_secs: Option<f64>,
    /// Where the completion time is expected to lie; `None` where the samples cannot say.
    pub interval: Option<Interval>,
    /// How the completion time is distributed about the predicted one; `None` where the samples cannot say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What a person should know before trusting it.
    pub warnings: Vec<Warning>,
}

/// A range of completion times, with the share of jobs that it is meant to hold.
///
/// Its coverage has not been measured yet: `probability` is the nominal one, and it presumes that the asked setting is
/// like the measured ones, which a larger sampling rate is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Seconds, 0 or more.
    pub lower_secs: f64,
    /// Seconds.
    pub upper_secs: f64,
    /// Nominal probability, at most 0.9; with n rows at most n/(n + 1).
    pub probability: f64,
}

/// Why a prediction deserves less trust. Displays as one sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The setting lies beyond the values that were fitted.
    OutsideSampledRange {
        /// The feature that leaves its range.
        feature: Feature,
        /// The asked E, C or SR.
        asked: f64,
        /// The smallest that was fitted.
        smallest: f64,
        /// The largest that was fitted.
        largest: f64,
    },
    /// A feature varies in the samples, but never alone, so that its effect is unknown and taken as none.
    EffectUnknown {
        /// That feature.
        feature: Feature,
    },
    /// More task threads than the host has processors: the time is that of the fastest fitted configuration that
    /// fits, where there is one.
    Oversubscribed {
        /// Task threads, E·C.
        slots: u32,
        /// Hardware threads of the host.
        processors: u32,
    },
    /// The fitted line is not above zero here, so that the time is unknown.
    NotPositive,
    /// No job can run so.
    Impossible,
}

impl Prediction {
    pub(crate) fn unknown(warnings: Vec<Warning>) -> Self {
        Self { completion_time_secs: None, interval: None, spread: None, warnings }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OutsideSampledRange { feature, asked, smallest, largest } => {
                let show = |value: f64| match feature {
                    Feature::SamplingRate => format_rate(value),
                    Feature::InverseExecutors | Feature::InverseCores => value.to_string(),
                };
                let (asked, smallest, largest) = (show(asked), show(smallest), show(largest));
                let noun = feature.noun();
                if smallest == largest {
                    write!(
                        f,
                        "every fitted sample has {noun} {smallest}; collect one with {noun} {asked} to check this"
                    )
                } else {
                    write!(
                        f,
                        "{noun} {asked} lies outside the fitted samples ({smallest} to {largest}); collect one there to \
                         check this"
                    )
                }
            }
            Self::EffectUnknown { feature } => {
                let noun = feature.noun();
                write!(
                    f,
                    "no two samples differ in {noun} alone, so its effect is unknown and taken as none; collect two such \
                     samples"
                )
            }
            Self::Oversubscribed { slots, processors } => write!(
                f,
                "{slots} task threads take turns on the {processors} processors of this machine and gain nothing over \
                 the fastest configuration that fits; choose one with at most {processors} threads"
            ),
            Self::NotPositive => f.write_str(
                "the fitted line is not above zero here, so the time is unknown; collect a sample nearer to this \
                 configuration",
            ),
            Self::Impossible => f.write_str(
                "no job can run so; give at least one executor, one core, and a sampling rate above 0 and at most 1",
            ),
        }
    }
}
