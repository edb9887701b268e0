//! Predictions with intervals and warnings.

use std::fmt;

use foreglow_shared::{format_count, format_duration, format_rate};
use serde::{Deserialize, Serialize};

use crate::{Feature, Interval, Spread};

/// A predicted completion time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Predicted time, seconds; `None` if the samples do not determine it (the warnings say why).
    pub completion_time_secs: Option<f64>,
    /// Prediction interval; `None` if there are too few samples to estimate it.
    pub interval: Option<Interval>,
    /// Distribution of the true time about the predicted one; `None` if there are too few samples
    /// to estimate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Reasons to trust the prediction less.
    pub warnings: Vec<Warning>,
}

/// Why a prediction deserves less trust. `Display` gives one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The question is beyond the measured values.
    OutsideSampledRange {
        /// The feature that is beyond its range.
        feature: String,
        /// Its value in the question.
        asked: f64,
        /// The smallest measured value.
        smallest: f64,
        /// The largest measured value.
        largest: f64,
    },
    /// Each feature is within its range, but nothing was measured near this combination.
    EmptyCell,
    /// No sample has this name.
    UnseenCategory {
        /// The category.
        feature: String,
        /// The name.
        asked: String,
    },
    /// A feature is constant in the samples, and has another value in the question: the time is
    /// unknown.
    EffectUnknown {
        /// The feature.
        feature: String,
        /// Its value in the question.
        asked: String,
        /// Its value in the samples.
        sampled: String,
    },
    /// Two features vary only together in the samples, and independently in the question.
    VaryTogether {
        /// One of the two features.
        first: String,
        /// The other.
        second: String,
    },
    /// A feature is above 0 in every sample, and 0 or less in the question: the time is unknown.
    NotAboveZero {
        /// The feature.
        feature: String,
        /// Its value in the question.
        asked: f64,
    },
    /// The samples of a setting are outliers, with a modified z-score above 3.5 (Iglewicz and
    /// Hoaglin, "How to detect and handle outliers", 1993) among their repeats or among the
    /// residuals of all samples. Or a sample was stopped later than is predicted for its work or
    /// more.
    SamplesDisagree {
        /// Their features.
        at: String,
        /// Number of samples.
        runs: usize,
        /// Their median time, seconds.
        secs: f64,
        /// The time that the other samples predict, seconds.
        expected_secs: f64,
    },
    /// Samples of one setting differ by far more than the noise of other settings, so their median
    /// is unreliable.
    RepeatsContradict {
        /// Their features.
        at: String,
        /// Number of samples.
        runs: usize,
        /// The shortest time, seconds.
        fastest_secs: f64,
        /// The longest time, seconds.
        slowest_secs: f64,
    },
    /// More work took less time on the same configuration, by far more than the noise.
    WorkContradicts {
        /// The features of the sample with more work.
        at: String,
        /// Its time, seconds.
        secs: f64,
        /// The features of the sample with less work.
        less_work_at: String,
        /// Its time, seconds.
        less_work_secs: f64,
    },
    /// There are more distinct samples than can be fitted.
    Subsampled {
        /// Number of distinct samples.
        distinct: usize,
        /// Number of fitted samples.
        fitted: usize,
    },
    /// There are more slots than the host has processors. The time is that of the fastest
    /// fitting configuration in the measured range, if there is one; for training, with the largest
    /// number of executors that fits.
    Oversubscribed {
        /// Slots, E·C.
        slots: u32,
        /// Hardware threads of the host.
        processors: u32,
    },
    /// There are more executors than accelerators of the host, and each executor holds one. The
    /// time is that of the fastest fitting configuration, as for [`Warning::Oversubscribed`].
    TooFewAccelerators {
        /// Executor processes, E.
        executors: u32,
        /// Accelerators of the host.
        accelerators: u32,
    },
    /// Only the amount of work varies in the samples, the question has more of it, and the time did
    /// not grow with it beyond the noise: the time is unknown.
    TimeDoesNotGrow {
        /// The amount of work.
        feature: String,
        /// The smallest measured value.
        smallest: f64,
        /// Its time, seconds.
        smallest_secs: f64,
        /// The largest measured value.
        largest: f64,
        /// Its time, seconds.
        largest_secs: f64,
    },
    /// The prediction is not a number of seconds above 0: the time is unknown.
    NotPositive,
    /// The configuration is invalid.
    Impossible,
}

/// Nominal probability of an interval.
const PROBABILITY: f64 = 0.9;

impl Prediction {
    /// Creates the prediction of a time from its logarithm, with the interval of its spread; `None`
    /// if the time is not finite and above 0.
    pub fn of_log(log: f64, spread: Option<Spread>) -> Option<Self> {
        let secs = libm::exp(log);
        if !(secs.is_finite() && secs > 0.0) {
            return None;
        }
        let interval = spread.as_ref().and_then(|spread| {
            let ends = [0.5 - PROBABILITY / 2.0, 0.5 + PROBABILITY / 2.0].map(|share| secs * spread.quantile(share));
            let [lower_secs, upper_secs] = ends;
            upper_secs.is_finite().then_some(Interval { lower_secs, upper_secs, probability: PROBABILITY })
        });
        Some(Self { completion_time_secs: Some(secs), interval, spread, warnings: Vec::new() })
    }

    /// Multiplies the time and its interval by a factor. The time becomes unknown if the product is
    /// not finite and above 0.
    pub fn scale(&mut self, factor: f64) {
        self.completion_time_secs = self.completion_time_secs.map(|secs| secs * factor);
        if let Some(interval) = &mut self.interval {
            interval.lower_secs *= factor;
            interval.upper_secs *= factor;
        }
        if self.completion_time_secs.is_some_and(|secs| !(secs.is_finite() && secs > 0.0)) {
            self.warnings.push(Warning::NotPositive);
            (self.completion_time_secs, self.interval, self.spread) = (None, None, None);
        }
    }

    /// Widens the interval and the spread by another source of errors.
    pub fn widen(&mut self, uncertainty: &Spread) {
        self.spread = self.spread.as_ref().and_then(|spread| spread.with(uncertainty));
        let Some((secs, spread)) = self.completion_time_secs.zip(self.spread.as_ref()) else {
            self.interval = None;
            return;
        };
        if let Some(interval) = &mut self.interval {
            let ratio = spread.quantile(0.5 + interval.probability / 2.0);
            (interval.lower_secs, interval.upper_secs) = (secs / ratio, secs * ratio);
        }
    }

    /// Moves the time above a lower bound, seconds: to the median of the times that are longer.
    pub(crate) fn stay_above(&mut self, bound: f64) {
        let Some(secs) = self.completion_time_secs.filter(|_| bound > 0.0) else { return };
        if bound > secs {
            let longer = |spread: &Spread| spread.quantile(0.5 + spread.probability_below(bound / secs) / 2.0);
            let factor = self.spread.as_ref().map(longer).filter(|factor| factor.is_finite());
            self.scale(factor.unwrap_or(bound / secs));
        }
        if let Some(interval) = &mut self.interval {
            interval.lower_secs = interval.lower_secs.max(bound);
        }
    }

    /// Widens the interval until a time is in it, seconds.
    pub(crate) fn reach(&mut self, time: f64) {
        if let Some(wider) = self.wider(time) {
            *self = Self { warnings: std::mem::take(&mut self.warnings), ..wider };
        }
    }

    /// Returns the prediction whose interval ends at a time; `None` if it ends later.
    fn wider(&self, time: f64) -> Option<Self> {
        let (secs, upper) = (self.completion_time_secs?, self.interval?.upper_secs);
        let factor = libm::log(time / secs) / libm::log(upper / secs);
        if !(factor.is_finite() && factor > 1.0) {
            return None;
        }
        Self::of_log(libm::log(secs), Some(self.spread.as_ref()?.scaled(factor)))
    }

    /// A prediction without a time, for these reasons.
    pub fn unknown(warnings: Vec<Warning>) -> Self {
        Self { completion_time_secs: None, interval: None, spread: None, warnings }
    }
}

impl Warning {
    /// Limit on the disagreeing samples that get a sentence each.
    const MOST_SAMPLES: usize = 3;

    /// Returns the sentences of warnings, in their order. If many samples disagree with the others,
    /// the worst ones get a sentence each, and one sentence counts the rest.
    pub fn sentences(warnings: &[Self]) -> Vec<String> {
        let mut disagreeing: Vec<f64> = warnings.iter().filter_map(Self::disagreement).map(f64::abs).collect();
        disagreeing.sort_unstable_by(|a, b| b.total_cmp(a));
        let Some(largest) = disagreeing.get(Self::MOST_SAMPLES).copied() else {
            return warnings.iter().map(Self::to_string).collect();
        };
        let (mut described, mut rest, mut share) = (0, 0, 0.0f64);
        let mut sentences = Vec::new();
        for warning in warnings {
            match warning.disagreement() {
                Some(log) if log.abs() <= largest || described == Self::MOST_SAMPLES => {
                    rest += 1;
                    share = share.max(libm::expm1(log).abs());
                }
                deviation => {
                    described += usize::from(deviation.is_some());
                    sentences.push(warning.to_string());
                }
            }
        }
        let percent = 100.0 * share;
        let (differ, them) = if rest == 1 { ("sample differs by", "it") } else { ("samples differ by up to", "them") };
        sentences.push(format!(
            "{rest} more {differ} {percent:.0} % from what the other samples predict; measure {them} again, or remove {them}"
        ));
        sentences
    }

    /// Returns whether the warning names samples with their times.
    pub fn names_samples(&self) -> bool {
        matches!(self, Self::SamplesDisagree { .. } | Self::RepeatsContradict { .. } | Self::WorkContradicts { .. })
    }

    /// Returns the deviation of a sample from the others, log units; below 0 if it took less.
    fn disagreement(&self) -> Option<f64> {
        let Self::SamplesDisagree { secs, expected_secs, .. } = self else { return None };
        Some(libm::log(*secs) - libm::log(*expected_secs))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideSampledRange { feature, asked, smallest, largest } => {
                let [asked, smallest, largest] = [asked, smallest, largest].map(|value| show(feature, *value));
                write!(
                    f,
                    "{feature} {asked} lies outside the measured samples ({smallest} to {largest}); collect one there to \
                     check this"
                )
            }
            Self::EmptyCell => f.write_str(
                "each feature lies within what was measured, but no sample is near this combination of them; collect one \
                 there to check this",
            ),
            Self::UnseenCategory { feature, asked } => {
                write!(f, "no sample has {feature} {asked}, so its effect is taken as average; collect one that has")
            }
            Self::EffectUnknown { feature, asked, sampled } => write!(
                f,
                "every sample has {feature} {sampled}, so what {feature} {asked} would take is unknown; collect a sample \
                 with another"
            ),
            Self::VaryTogether { first, second } => write!(
                f,
                "{first} and {second} vary only together in the samples, so the effect of one without the other is a \
                 guess; collect a sample that changes one alone"
            ),
            Self::NotAboveZero { feature, asked } => {
                write!(f, "{feature} is {asked} here and above 0 in every sample; give a number above 0")
            }
            Self::SamplesDisagree { at, runs, secs, expected_secs } => {
                let (secs, expected) = (format_duration(*secs), format_duration(*expected_secs));
                let several = || (format_count(*runs, "sample"), "them");
                let (sample, them) = if *runs > 1 { several() } else { ("sample".to_owned(), "it") };
                write!(
                    f,
                    "the {sample} with {at} took {secs}, and the other samples predict {expected}; measure {them} again, or \
                     remove {them}"
                )
            }
            Self::RepeatsContradict { at, runs, fastest_secs, slowest_secs } => {
                let (fastest, slowest) = (format_duration(*fastest_secs), format_duration(*slowest_secs));
                write!(
                    f,
                    "{runs} samples with {at} contradict each other: they took {fastest} to {slowest}; measure this \
                     setting again, and remove the wrong ones"
                )
            }
            Self::WorkContradicts { at, secs, less_work_at, less_work_secs } => {
                let (secs, less_work) = (format_duration(*secs), format_duration(*less_work_secs));
                write!(
                    f,
                    "the sample with {at} took {secs}, and one with less work, {less_work_at}, took {less_work}; measure \
                     both again, and remove the wrong one"
                )
            }
            Self::Subsampled { distinct, fitted } => write!(
                f,
                "only {fitted} of {distinct} distinct samples were fitted, including the ends of each range; give fewer \
                 samples to choose them yourself"
            ),
            Self::Oversubscribed { slots, processors } => write!(
                f,
                "{slots} slots take turns on the {processors} processors of this machine and gain nothing over the fastest \
                 configuration that fits; choose one with at most {processors} slots"
            ),
            Self::TooFewAccelerators { executors, accelerators } => write!(
                f,
                "{executors} executors exceed the {accelerators} GPUs of this machine, and each executor needs its own; \
                 choose at most {accelerators}, or measure with --share-gpu how several share one"
            ),
            Self::TimeDoesNotGrow { feature, smallest, smallest_secs, largest, largest_secs } => {
                let [smallest, largest] = [smallest, largest].map(|value| show(feature, *value));
                let [shorter, longer] = [smallest_secs, largest_secs].map(|secs| format_duration(*secs));
                write!(
                    f,
                    "{feature} {smallest} took {shorter} and {feature} {largest} took {longer}, so the samples are mostly \
                     start-up and do not show the time of more work; collect a sample with more"
                )
            }
            Self::NotPositive => f.write_str(
                "the predicted time is not above 0, so it is unknown; collect a sample closer to this configuration",
            ),
            Self::Impossible => f.write_str(
                "this configuration is invalid; give at least one executor, one core, and a sampling rate above 0 and at most 1",
            ),
        }
    }
}

/// Formats a value for users.
pub fn show(feature: &str, value: f64) -> String {
    match feature {
        _ if feature == Feature::SamplingRate.noun() => format_rate(value),
        // The mean of an uneven split.
        _ if feature == Feature::InverseCores.noun() => (libm::round(value * 100.0) / 100.0).to_string(),
        _ => value.to_string(),
    }
}
