//! The protocols of the test bed.
//!
//! To add a protocol, add a line to the file of its data set. To add a data set, add a file with
//! its protocols, a [`Set`], and a line in [`protocols`].

mod clouds;
mod gpus;
mod hard_axes;
mod jobs;
mod machines;
mod own_runs;
mod profet;
mod repeats;
mod simulated;
mod single_runs;
mod splits;
mod timm;
mod trimtuner;
mod unseen;

use std::path::{Path, PathBuf};

use crate::protocol::splits::TablePart;
use crate::trial::Trial;

/// A data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// Whether the structure or constants of the predictor were developed on this data.
    pub is_development: bool,
    /// Source of the data.
    pub source: Source,
}

impl Set {
    /// A hold-out set, on which no part of the predictor was chosen.
    const fn cloned(name: &'static str, folder: &'static str) -> Self {
        Self { name, is_development: false, source: Source::Cloned(folder) }
    }
}

/// Source of the data of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The project.
    Project,
    /// The data folder, outside the project.
    Shared,
    /// This folder of the data folder, which `tests/accuracy/clouds.py` or `gpus.py` writes. Such a
    /// set is never in the gate, so that the predictor is not tuned to it gradually.
    Cloned(&'static str),
}

/// A protocol; its figure is the mean over its parts.
pub struct Protocol {
    /// The data.
    pub set: Set,
    /// The name of the protocol.
    pub name: String,
    /// Builds the parts.
    pub parts: Parts,
    /// Maximum number of trials of a part that are repeated with slow runs.
    pub slowed_trials: usize,
    /// Maximum number of trials of a part in a quick run.
    pub quick_trials: usize,
    /// Whether a fit takes seconds. A quick run then has slow runs of only one kind, and the gate
    /// omits the protocol.
    pub is_costly: bool,
    /// Time limit of a predictor, seconds; each then runs alone in its own process.
    pub limit_secs: Option<f64>,
}

impl Protocol {
    /// Returns the names of the data set and the protocol.
    pub fn title(&self) -> String {
        format!("{}: {}", self.set.name, self.name)
    }

    /// Creates a protocol on tables: two trials of each in a quick run, six with slow runs.
    fn of_tables(set: Set, name: &str, tables: Vec<TablePart>) -> Self {
        Self {
            set,
            name: name.to_owned(),
            parts: Box::new(move |places| tables.iter().map(|table| table.read(&places.data)).collect()),
            slowed_trials: 6,
            quick_trials: 2,
            is_costly: false,
            limit_secs: None,
        }
    }
}

/// Builds the parts of a protocol.
pub type Parts = Box<dyn Fn(&Places) -> anyhow::Result<Vec<Part>> + Sync>;

/// A table or a job, with one or several splits.
pub struct Part {
    /// The arguments of `foreglow evaluate` for the same protocol; empty if there are none.
    pub command: Vec<String>,
    /// The splits.
    pub trials: Vec<Trial>,
}

/// Locations of the data.
#[derive(Clone, Debug)]
pub struct Places {
    /// The folder of the public data sets.
    pub data: PathBuf,
    /// The root of the project.
    pub project: PathBuf,
}

impl Places {
    /// Returns the locations for the public data in `data`, `../shared/data` by default.
    pub fn new(data: Option<&Path>) -> Self {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let data = data.map_or_else(|| project.join("../shared/data"), Path::to_owned);
        Self { data, project }
    }

    /// Returns whether data from this source exists.
    pub fn has(&self, source: Source) -> bool {
        match source {
            Source::Project => true,
            Source::Shared => self.data.join("c3o").is_dir(),
            Source::Cloned(folder) => self.data.join(folder).is_dir(),
        }
    }
}

/// Returns every protocol.
pub fn protocols() -> Vec<Protocol> {
    let sets = [
        own_runs::protocols(),
        machines::protocols(),
        simulated::protocols(),
        repeats::protocols(),
        single_runs::protocols(),
        jobs::protocols(),
        clouds::protocols(),
        trimtuner::protocols(),
        profet::protocols(),
        timm::protocols(),
        unseen::protocols(),
        gpus::protocols(),
        hard_axes::protocols(),
    ];
    sets.into_iter().flatten().collect()
}
