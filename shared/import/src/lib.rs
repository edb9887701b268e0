//! Timing samples from the files of other programs, for the command line and the page alike.
//!
//! Each format has an [`Importer`] in the table [`IMPORTERS`]. [`import`] decides by the first
//! bytes which one reads a file:
//!
//! ```
//! use foreglow_import::{Given, Input, import};
//!
//! let file = Input::from_bytes(b"JobID|State\n7|COMPLETED\n");
//! let error = import(file, &Given::default()).unwrap_err();
//! assert!(error.to_string().starts_with("the output of sacct lacks JobName"));
//! ```

mod cluster;
mod compression;
mod error;
mod given;
mod hyperfine;
mod identity;
mod input;
mod name;
mod samples;
mod spark;
mod training;

use std::collections::BTreeMap;

use foreglow_shared::{Label, Sample, Uuid};
pub use foreglow_spark_log::{LoggedRun, StageSpan};

pub use crate::cluster::{KUBERNETES_LABEL, SLURM_NAME};
pub use crate::compression::{Compression, LZ4_MAGIC, LZF_MAGIC, SNAPPY_MAGIC};
pub use crate::error::ImportError;
pub use crate::given::Given;
pub use crate::input::{Input, Part, Piece};
pub use crate::name::run_name;
pub use crate::spark::{application, is_event_log, notes};
pub use crate::training::steps_of_trainer;

/// All importers. The first whose [`Importer::sniff`] accepts a file reads it; the last accepts
/// every file.
pub const IMPORTERS: [&dyn Importer; 11] = [
    &spark::SparkLog,
    &cluster::Slurm,
    &cluster::Kubernetes,
    &hyperfine::Hyperfine,
    &training::TrainerState,
    &training::TensorBoard,
    &training::MlflowMetric,
    &training::ProfilerTrace,
    &training::History,
    &training::Log,
    &samples::SampleFile,
];

/// Whether a file that begins so is of a training run.
pub fn is_training_run(start: &str) -> bool {
    IMPORTERS.into_iter().find(|importer| importer.sniff(start)).is_some_and(Importer::is_of_training)
}

/// The reader of one format.
pub trait Importer: Sync {
    /// Returns whether a file has this format, also in a form that [`read`](Self::read) refuses
    /// with the form to use. `start` is the beginning of its text, without a byte order mark.
    fn sniff(&self, start: &str) -> bool;

    /// Whether the files of this format are left behind by a training.
    fn is_of_training(&self) -> bool {
        false
    }

    /// Reads the samples of a file.
    ///
    /// # Errors
    /// The file has no usable sample, or contradicts what the user gave.
    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError>;
}

/// The samples of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// The samples, in the order of the file.
    pub samples: Vec<Sample>,
    /// Remarks for the user.
    pub notes: Vec<String>,
    /// Labels that neither the file nor the user told, so that usual values stand for them.
    pub assumed: Vec<Label>,
    /// Why some runs of the file are not among the samples, although they should be.
    pub problems: Vec<String>,
    /// The work of the runs whose sampling rate only the user told, without failed runs; `None` if
    /// the file does not record it.
    pub rated: BTreeMap<Uuid, Option<Work>>,
    /// What the runs of event logs used, and when, with the name of the log.
    pub logged: Vec<(String, LoggedRun)>,
}

/// An amount of work, with its unit before it.
pub type Work = (&'static str, u64);

/// Reads the samples of a file with the importer of its format.
///
/// # Errors
/// The file has no usable sample, or contradicts what the user gave.
pub fn import(mut input: Input<'_>, given: &Given) -> Result<Import, ImportError> {
    let start = input.start()?;
    if input.is_named("tfevents") && !training::TensorBoard.sniff(&start) {
        return Err(training::no_events());
    }
    let importer = IMPORTERS.into_iter().find(|importer| importer.sniff(&start)).unwrap_or(&samples::SampleFile);
    let mut import = importer.read(&mut input, given)?;
    let is_training = import.samples.iter().any(|sample| sample.progress.is_some());
    if let Some(flag) = given.of_training_runs().filter(|_| !is_training) {
        return Err(ImportError::TrainingOnly(flag));
    }
    given.check_rate(&import.rated)?;
    given.name_machine(&mut import.samples)?;
    Ok(import)
}
