//! Fields that a table of another tool needs to become runs.

use serde::{Deserialize, Serialize};

/// A property of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Executor processes, E.
    Executors,
    /// Task threads of an executor, C.
    CoresPerExecutor,
    /// Processed part of the job, in the unit [`super::Extent`].
    Extent,
    /// Wall clock from submission to the last result, in a [`super::TimeUnit`].
    CompletionTime,
    /// Outcome of the run, as in the sample format.
    Outcome,
    /// Name of the CNN.
    Model,
    /// `inference` or `training`.
    Mode,
    /// Images of the whole job.
    Images,
    /// Side of the input image, pixels.
    ImagePx,
    /// Passes over the images.
    Epochs,
    /// Images that go through the CNN at once.
    BatchSize,
    /// Upper bound on an executor's memory, MiB.
    MemoryPerExecutorMib,
    /// Images of one task, P.
    PartitionSize,
}

impl Field {
    /// All fields, the most important first.
    pub const ALL: [Self; 13] = [
        Self::Executors,
        Self::CoresPerExecutor,
        Self::Extent,
        Self::CompletionTime,
        Self::Outcome,
        Self::Model,
        Self::Mode,
        Self::Images,
        Self::ImagePx,
        Self::Epochs,
        Self::BatchSize,
        Self::MemoryPerExecutorMib,
        Self::PartitionSize,
    ];

    /// Returns the name shown to users.
    pub fn label(self) -> &'static str {
        match self {
            Self::Executors => "executors",
            Self::CoresPerExecutor => "cores per executor",
            Self::Extent => "how much of the job ran",
            Self::CompletionTime => "completion time",
            Self::Outcome => "outcome",
            Self::Model => "CNN",
            Self::Mode => "mode",
            Self::Images => "images of the whole job",
            Self::ImagePx => "image side, pixels",
            Self::Epochs => "epochs",
            Self::BatchSize => "batch size",
            Self::MemoryPerExecutorMib => "memory per executor, MiB",
            Self::PartitionSize => "images per partition",
        }
    }

    /// Returns the default for every row; `None` if the field has no sensible default.
    pub fn usual(self) -> Option<&'static str> {
        match self {
            Self::Executors | Self::CoresPerExecutor | Self::CompletionTime | Self::Images => None,
            Self::Extent | Self::Epochs | Self::BatchSize | Self::PartitionSize | Self::ImagePx => Some("1"),
            Self::Outcome => Some("completed"),
            Self::Model => Some("unnamed"),
            Self::Mode => Some("inference"),
            Self::MemoryPerExecutorMib => Some("1024"),
        }
    }

    /// Returns typical column names, in lower case without punctuation, the most specific first.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Executors => &["executors", "numexecutors", "executorinstances", "machines", "nodes", "workers"],
            Self::CoresPerExecutor => {
                &["coresperexecutor", "executorcores", "corespernode", "cores", "threads", "vcpus"]
            }
            Self::Extent => &["samplingrate", "share", "fraction", "rate", "percent", "imagesprocessed", "scale"],
            Self::CompletionTime => &[
                "completiontimesecs",
                "completiontime",
                "elapsedtime",
                "runtime",
                "duration",
                "walltime",
                "elapsed",
                "seconds",
                "secs",
                "time",
            ],
            Self::Outcome => &["outcome", "status"],
            Self::Model => &["model", "cnn", "network", "architecture"],
            Self::Mode => &["mode"],
            Self::Images => &["images", "numimages", "datasetsize"],
            Self::ImagePx => &["imagepx", "imagesize", "resolution"],
            Self::Epochs => &["epochs"],
            Self::BatchSize => &["batchsize", "batch"],
            Self::MemoryPerExecutorMib => &["memoryperexecutormib", "executormemory", "memory", "memorymib"],
            Self::PartitionSize => &["partitionsize"],
        }
    }
}
