//! Errors of requests; every message says what to do.

use foreglow_shared::{CatalogError, PriceError};

/// Why a question cannot be answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The question has no configurations.
    #[error(
        "there is no configuration to choose from; name at least one number of executors and one of cores per executor"
    )]
    NoConfiguration,
    /// A configuration has a count of zero.
    #[error("a configuration has no executor, no core or no memory; give numbers of 1 or more")]
    ZeroConfiguration,
    /// The question has too many configurations.
    #[error("there are {0} configurations to choose from, and {max} is the most; name fewer", max = crate::plan::MAX_CONFIGURATIONS)]
    TooMany(usize),
    /// The deadline is not finite and above 0.
    #[error("the deadline is {0} s; it must be a number of seconds above 0")]
    Deadline(f64),
    /// The budget is not finite and above 0.
    #[error("the budget is {0}; it must be an amount of money above 0")]
    Budget(f64),
    /// The probability is outside (0, 1).
    #[error("the probability is {0}; it must be between 0 and 1, such as 0.9")]
    Probability(f64),
    /// The minimum accuracy is outside (0, 1].
    #[error("the minimum accuracy is {0}; it must be above 0 and at most 1, such as 0.97")]
    Accuracy(f64),
    /// The price sheet is invalid or lacks a price.
    #[error("the price sheet cannot be used: {0}")]
    Prices(#[from] PriceError),
    /// The catalog of machine types cannot be used together with the price sheet.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The largest hourly cost is not finite and above 0.
    #[error("the largest hourly cost is {0}; it must be an amount of money above 0")]
    HourlyCost(f64),
}

/// The runs do not show the effect of the requested partition size on the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its runs do not tell how the partition size changes the time; collect some with several sizes, --partition-size"
)]
pub struct PartitionSizeUnknown;
