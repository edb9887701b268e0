//! What can be wrong with a request, and what to do about it.

use foreglow_shared::PriceError;

use crate::Setting;

/// Why no predictor can be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No completed run.
    #[error(
        "there are no completed samples; collect the same configurations at two sampling rates, such as 0.01 and 0.1"
    )]
    NoObservations,
    /// One completed run.
    #[error(
        "there is one completed sample, and nothing can be learned from one; collect the same configuration at another sampling rate below 1"
    )]
    OneObservation,
    /// Every run has the same setting.
    #[error(
        "all {runs} samples are of one setting (executors {}, cores per executor {}, sampling rate {}); collect others with another sampling rate, \
         number of executors or number of cores",
        .setting.executors, .setting.cores_per_executor, .setting.sampling_rate
    )]
    AllEqual {
        /// How many.
        runs: usize,
        /// The one setting.
        setting: Setting,
    },
    /// Every run was stopped before it completed.
    #[error(
        "none of the {runs} runs completed, and times that are only lower bounds say nothing of how long it takes; let some of them run to the end"
    )]
    AllStopped {
        /// How many.
        runs: usize,
    },
    /// A time that is not finite and above 0.
    #[error(
        "a sample has the completion time {0} s; it must be a number of seconds above 0, so remove that sample or measure it again"
    )]
    Time(f64),
    /// A start-up that is not finite and 0 or more.
    #[error(
        "a sample has the start-up time {0} s; it must be a number of seconds, 0 or more, so remove that sample or measure it again"
    )]
    Startup(f64),
    /// A sampling rate outside (0, 1].
    #[error(
        "a sample has the sampling rate {0}; it must be above 0 and at most 1, so remove that sample or measure it again"
    )]
    SamplingRate(f64),
    /// No executor or no core.
    #[error(
        "a sample has {executors} executors of {cores_per_executor} cores; both must be 1 or more, so remove that sample or measure it again"
    )]
    Configuration {
        /// E.
        executors: u32,
        /// C.
        cores_per_executor: u32,
    },
    /// Runs that make no table.
    #[error(transparent)]
    Table(#[from] crate::DatasetError),
    /// Not enough for the scenarios on whole jobs.
    #[error(
        "this scenario needs 3 configurations at sampling rate 1 and there are {0}; collect others at sampling rate 1"
    )]
    TooFewConfigurations(usize),
    /// Not enough for the scenarios on samples of the images.
    #[error(
        "this scenario needs 2 sampling rates below 1 and there are {0}; collect the same configurations at two, such as 0.01 and 0.1"
    )]
    TooFewRates(usize),
    /// The sampling rates never vary on one configuration.
    #[error(
        "no configuration was measured at two sampling rates below 1, so their effect is unknown; collect one of the \
         configurations at another of the sampling rates"
    )]
    NoSharedConfiguration,
    /// Every two configurations differ in more than one feature.
    #[error(
        "no two configurations differ in the executors alone or in the cores alone, so that no effect can be told from the \
         others; collect two that do"
    )]
    NoFeatureAlone,
}

/// Why there is no decision.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// Nothing to choose from.
    #[error(
        "there is no configuration to choose from; name at least one number of executors and one of cores per executor"
    )]
    NoConfiguration,
    /// A configuration with nothing in it.
    #[error("a configuration has no executor, no core or no memory; give numbers of 1 or more")]
    ZeroConfiguration,
    /// More than a decision can hold.
    #[error("there are {0} configurations to choose from, and {max} is the most; name fewer", max = crate::decision::MAX_CONFIGURATIONS)]
    TooMany(usize),
    /// A deadline that is no time.
    #[error("the deadline is {0} s; it must be a number of seconds above 0")]
    Deadline(f64),
    /// A budget that is no money.
    #[error("the budget is {0}; it must be an amount of money above 0")]
    Budget(f64),
    /// A probability that is none.
    #[error("the probability is {0}; it must lie between 0 and 1, such as 0.9")]
    Probability(f64),
    /// A price sheet that cannot be used.
    #[error("the price sheet cannot be used: {0}")]
    Prices(#[from] PriceError),
}

/// Why an error measure cannot be calculated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// Nothing to measure.
    #[error("there is nothing to compare; give at least one measured time")]
    Empty,
    /// Lists of different lengths.
    #[error("there are {actual} measured and {predicted} predicted times; give one prediction for each measured time")]
    Length {
        /// Measured.
        actual: usize,
        /// Predicted.
        predicted: usize,
    },
    /// A measured time to which no error is relative.
    #[error("a measured time is {0} s; it must be a number of seconds above 0")]
    Actual(f64),
    /// A prediction that is none.
    #[error("a predicted time is {0} s; leave predictions that are unknown out, and say how many")]
    Predicted(f64),
}
