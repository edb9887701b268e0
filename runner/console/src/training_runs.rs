//! Training runs: what their paths and the files next to them say, and their samples in the place
//! of a file of samples.

use std::path::{Path, PathBuf};

use foreglow_event_log::{LogFiles, find, trainer_state};
use foreglow_exit::{Temporary, unreadable, unusable};
use foreglow_import::{Given, import, is_training_run, run_name, steps_of_trainer};
use foreglow_shared::{Sample, Timestamp};

use crate::progress::note;
use crate::run_labels::RunLabels;

/// Adds to what the options say what the path of a log, the files beside it and the labels of its
/// folder do.
///
/// # Errors
/// The state of the Trainer beside it cannot be read.
pub fn given_of(log: &LogFiles, given: Given, labels: &RunLabels) -> anyhow::Result<Given> {
    let mut given = Given { written_at: written_at(log), ..given };
    if let Some(file) = log.files.first() {
        given = labels.add_to(given, file);
        let named = Path::new(&log.name);
        let path = std::path::absolute(if named.is_dir() { named } else { file }).ok();
        given.name = path.and_then(|path| run_name(path.to_str()?, named.is_dir()));
    }
    let is_work_known = ["images", "steps", "epochs"].iter().any(|label| given.labels.get(label).is_some());
    if let Some(state) = trainer_state(log).filter(|_| !is_work_known) {
        let bytes = std::fs::read(&state).map_err(|error| unreadable(&state, &error))?;
        given.labels.set("steps", steps_of_trainer(&bytes).map(|steps| steps.to_string()).unwrap_or_default());
    }
    Ok(given)
}

/// Returns when a log was last written; `None` for standard input.
fn written_at(log: &LogFiles) -> Option<Timestamp> {
    let modified = |file: &PathBuf| std::fs::metadata(file).and_then(|data| data.modified()).ok();
    log.files.iter().filter_map(modified).max().and_then(|at| Timestamp::try_from(at).ok())
}

/// Returns the samples of the training runs at a path; `None` if it is neither a file nor a folder
/// of such runs.
///
/// # Errors
/// A run lacks what a sample needs, or cannot be read.
pub(crate) fn samples(path: &Path) -> anyhow::Result<Option<Vec<Sample>>> {
    // A pipe can be read only once.
    if !path.is_file() && !path.is_dir() {
        return Ok(None);
    }
    let folder = Temporary::folder()?;
    let logs: Vec<LogFiles> = find(&[path], &[], folder.path()).into_iter().filter_map(Result::ok).collect();
    let is_run = |log: &LogFiles| log.input().and_then(|mut input| Ok(is_training_run(&input.start()?)));
    let labels = RunLabels::in_folders([path])?;
    let mut runs = Vec::new();
    for log in logs {
        if is_run(&log).unwrap_or(false) {
            runs.push(log);
        } else if !log.files.iter().all(|file| labels.contains(file)) {
            return Ok(None);
        }
    }
    if runs.is_empty() {
        return Ok(None);
    }
    let mut samples = Vec::new();
    for log in &runs {
        let given = given_of(log, Given::default(), &labels)?;
        let found = import(log.input()?, &given).map_err(|error| {
            unusable(format!("{}: {error}; `foreglow import` takes such options and keeps the run", log.name))
        })?;
        found.notes.iter().for_each(|of_log| note(&format!("{}: {of_log}", log.name)));
        samples.extend(found.samples);
    }
    Ok(Some(samples))
}
