//! Errors of fits; every message says what to do.

use foreglow_shared::{format_duration, format_rate};

use crate::Setting;

/// Why no predictor can be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are no completed runs.
    #[error(
        "there are no completed samples; collect the same configurations at two sampling rates, such as 0.01 and 0.1"
    )]
    NoObservations,
    /// There is only one completed run.
    #[error(
        "there is one completed sample, and nothing can be learned from one; collect the same configuration at another sampling rate below 1"
    )]
    OneObservation,
    /// All runs have the same setting.
    #[error(
        "all {runs} samples are of one setting ({}, sampling rate {}); collect others with another sampling rate, \
         number of executors or number of cores",
        .setting.split(), .setting.sampling_rate
    )]
    AllEqual {
        /// Number of runs.
        runs: usize,
        /// Their setting.
        setting: Setting,
    },
    /// All runs were stopped at a time limit.
    #[error("no run completed (of {runs}), and lower bounds alone cannot be fitted; let some of them run to the end")]
    AllStopped {
        /// Number of runs.
        runs: usize,
    },
    /// The times of a program do not depend on its work.
    #[error(
        "{} and {} of the work take equally long ({} and {}), so that the time of the whole job cannot be predicted; \
         check that the program uses the placeholder that bounds its work, or measure larger shares of it",
        format_rate(*.low), format_rate(*.high), format_duration(*.low_secs), format_duration(*.high_secs)
    )]
    WorkWithoutEffect {
        /// Smallest sampling rate.
        low: f64,
        /// Largest sampling rate.
        high: f64,
        /// Median time at the smallest rate, seconds.
        low_secs: f64,
        /// Median time at the largest rate, seconds.
        high_secs: f64,
    },
    /// A completion time is not from 1e-9 to 1e9 seconds.
    #[error(
        "a sample has the completion time {0} s; it must be a number of seconds from 1e-9 to 1e9, so remove that sample or measure it again"
    )]
    Time(f64),
    /// A start-up time is not from 0 to 1e9 seconds.
    #[error(
        "a sample has the start-up time {0} s; it must be a number of seconds from 0 to 1e9, so remove that sample or measure it again"
    )]
    Startup(f64),
    /// A sampling rate is outside (0, 1].
    #[error(
        "a sample has the sampling rate {0}; it must be from 1e-12 to 1, so remove that sample or measure it again"
    )]
    SamplingRate(f64),
    /// A run has no executor or no core, or more than samples may have.
    #[error(
        "a sample has {executors} executors of {cores_per_executor} cores; there must be 1 to 10,000 executors of 1 to 1,000 cores, so remove that sample or measure it again"
    )]
    Configuration {
        /// Executors, E.
        executors: u32,
        /// Cores per executor, C.
        cores_per_executor: u32,
    },
    /// There are too many machine types and batch sizes to compare.
    #[error(
        "the samples have {count} combinations of machine type and batch size, and at most {most} can be compared; \
         give fewer samples, such as those of one machine type or of one --batch-size"
    )]
    TooManyArms {
        /// Number of combinations.
        count: usize,
        /// Largest number that is compared.
        most: usize,
    },
    /// The runs do not form a valid table.
    #[error(transparent)]
    Table(#[from] crate::DatasetError),
    /// There are too few configurations at sampling rate 1 for this scenario.
    #[error(
        "this scenario needs 3 configurations at sampling rate 1 and there are {0}; collect others at sampling rate 1"
    )]
    TooFewConfigurations(usize),
    /// There are too few sampling rates below 1 for this scenario.
    #[error(
        "this scenario needs 2 sampling rates below 1 and there are {0}; collect the same configurations at two, such as 0.01 and 0.1"
    )]
    TooFewRates(usize),
    /// No configuration has two sampling rates below 1.
    #[error(
        "no configuration was measured at two sampling rates below 1, so their effect is unknown; collect one of the \
         configurations at another of the sampling rates"
    )]
    NoSharedConfiguration,
    /// No two configurations differ in one resource only.
    #[error(
        "no two configurations differ only in executors or only in cores, so their effects cannot be separated; \
         collect such a pair"
    )]
    NoFeatureAlone,
}
