//! Why a file has no usable samples.

use foreglow_shared::{LabelError, ReadError, Uuid};
use foreglow_spark_log::{EventLogError, NoRun, NoSample};

/// Why a file has no usable samples.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be decompressed, or a part of it is missing.
    #[error("{0}")]
    Damaged(String),
    /// The file is not an event log.
    #[error(transparent)]
    EventLog(#[from] EventLogError),
    /// The event log has no usable run.
    #[error(transparent)]
    NoRun(#[from] NoRun),
    /// A run of the event log is not a sample.
    #[error(transparent)]
    NoSample(#[from] NoSample),
    /// The records of a cluster have no usable job.
    #[error("{0}")]
    Records(String),
    /// A training run lacks what a sample needs.
    #[error("{0}")]
    Training(String),
    /// A value is missing in the file and in the flags, or invalid.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The file is not one of samples.
    #[error(transparent)]
    Samples(#[from] ReadError),
    /// The engine given is not that of the log.
    #[error("it is the log of a run on Spark, but --engine says {0}; omit --engine")]
    Engine(&'static str),
    /// One sampling rate was given for several runs.
    #[error(
        "it has {0} runs without a sampling rate, and --sampling-rate gives only one; give the rate of each run, in the \
         order in which they were submitted, such as --sampling-rate 0.1,1"
    )]
    OneRate(usize),
    /// The number of sampling rates is not that of the runs.
    #[error("--sampling-rate gives {rates} rates, and the file has {runs}; give one rate per run, in their order")]
    Rates {
        /// Number of rates.
        rates: usize,
        /// The runs.
        runs: String,
    },
    /// A value given by the user contradicts a sample, whose values are complete.
    #[error(
        "the sample {id} has {value} for {label}, but {flag} says {given:?}; omit {flag}, which is for logs and finished \
         jobs"
    )]
    Contradiction {
        /// The sample.
        id: Uuid,
        /// Name of the value.
        label: &'static str,
        /// Value of the sample.
        value: String,
        /// Flag of the value.
        flag: &'static str,
        /// Value of the flag.
        given: String,
    },
}
