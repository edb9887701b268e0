//! What is asked: every protocol of the test bed.
//!
//! To add one: a line in the file of its data set. To add a data set: a file with its protocols, a [`Set`], and a line in [`protocols`].

mod jobs;
mod own_runs;
mod profet;
mod simulated;
mod timm;
mod trimtuner;

use std::path::{Path, PathBuf};

use crate::trial::Trial;

/// A source of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// Whether structure or constants of the predictor were chosen while looking at figures of this data.
    pub is_development: bool,
    /// Whether it is in the data folder, and no part of the project.
    pub is_public: bool,
}

/// A question: its figure is the mean over its parts.
pub struct Protocol {
    /// The data.
    pub set: Set,
    /// What is asked.
    pub name: String,
    /// Makes the parts.
    pub parts: Parts,
    /// Trials of a part that are repeated with slow runs, at most.
    pub slowed_trials: usize,
    /// Trials of a part in a quick run, at most.
    pub quick_trials: usize,
    /// Seconds after which a predictor counts as having no answer; each is then asked in a process of its own, alone.
    pub limit_secs: Option<f64>,
}

impl Protocol {
    /// The set and the protocol.
    pub fn title(&self) -> String {
        format!("{}: {}", self.set.name, self.name)
    }
}

/// Makes the parts of a protocol.
pub type Parts = Box<dyn Fn(&Places) -> anyhow::Result<Vec<Part>> + Sync>;

/// A table or a job, in one or several splits.
pub struct Part {
    /// The arguments of `foreglow evaluate` that ask the same; empty where there are none.
    pub command: Vec<String>,
    /// The splits.
    pub trials: Vec<Trial>,
}

/// Where data is.
#[derive(Clone, Debug)]
pub struct Places {
    /// The folder of the public data sets.
    pub data: PathBuf,
    /// The root of the project.
    pub project: PathBuf,
}

impl Places {
    /// The public data in `data`, `../shared/data` by default.
    pub fn new(data: Option<&Path>) -> Self {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let data = data.map_or_else(|| project.join("../shared/data"), Path::to_owned);
        Self { data, project }
    }

    /// Whether the public data sets are there.
    pub fn has_data(&self) -> bool {
        self.data.join("c3o").is_dir()
    }
}

/// Every protocol.
pub fn protocols() -> Vec<Protocol> {
    let sets = [
        own_runs::protocols(),
        simulated::protocols(),
        jobs::protocols(),
        trimtuner::protocols(),
        profet::protocols(),
        timm::protocols(),
    ];
    sets.into_iter().flatten().collect()
}
