//! Why a file has no usable samples.

use foreglow_shared::{Label, LabelError, ReadError, Uuid};
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
    /// A training run does not tell the work of the whole job.
    #[error("it counts {unit}, and does not tell how many the whole job has; give {} of the whole job", flag_of(.label))]
    UnknownWork {
        /// Plural noun for what it counts.
        unit: String,
        /// The label with the work of the whole job.
        label: Label,
        /// Other labels that neither the file nor the user told, and that have usual values.
        assumed: Vec<Label>,
    },
    /// A value is missing in the file and in the flags, or invalid.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The file is not one of samples.
    #[error(transparent)]
    Samples(#[from] ReadError),
    /// The engine given is not that of the log.
    #[error("it is the log of a run on Spark, but --engine says {0}; omit --engine")]
    Engine(&'static str),
    /// An option of training runs was given for another file.
    #[error("{0} is only for the files of training runs; omit {0}")]
    TrainingOnly(&'static str),
    /// One sampling rate was given for several runs of different or unknown work.
    #[error(
        "--sampling-rate gives one rate for {0} runs, whose work differs or is not recorded; give the rate of each run of \
         a file, in their order, such as --sampling-rate 0.1,1, and import files with different rates separately"
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

fn flag_of(label: &Label) -> &'static str {
    label.flag.unwrap_or("the work")
}

impl ImportError {
    /// Returns the labels that are needed and neither the file nor the user told; empty if a label
    /// would not help.
    pub fn missing(&self) -> &[Label] {
        match self {
            Self::UnknownWork { label, .. } => std::slice::from_ref(label),
            Self::Label(LabelError::Missing(labels)) | Self::NoSample(NoSample::Label(LabelError::Missing(labels))) => {
                labels
            }
            _ => &[],
        }
    }

    /// Returns other labels that were not told, and that have usual values.
    pub fn assumed(&self) -> &[Label] {
        if let Self::UnknownWork { assumed, .. } = self { assumed } else { &[] }
    }
}
