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
        found.notes.iter().for_each(|of_log| note(&format!("{}: {}", log.name, with_command(of_log))));
        samples.extend(found.samples);
    }
    Ok(Some(samples))
}

/// Adds to a remark that proposes options which command has them.
fn with_command(remark: &str) -> String {
    if remark.contains("--") { format!("{remark}; `foreglow import` takes these options") } else { remark.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_that_proposes_options_names_the_command_that_has_them() {
        let remark = "name a GPU with --accelerator, or the machine type with --machine";
        assert_eq!(with_command(remark), format!("{remark}; `foreglow import` takes these options"));
        assert_eq!(
            with_command("its progress ends after 495 of 1000 steps"),
            "its progress ends after 495 of 1000 steps"
        );
    }

    #[test]
    fn labels_describe_the_runs_of_a_folder_in_several_formats() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        };
        macro_rules! fixture {
            ($name:literal) => {
                include_bytes!(concat!("../../../shared/import/tests/training/", $name))
            };
        }
        write("events/events.out.tfevents.1.host", fixture!("tensorboardx.tfevents"));
        write("trainer/all_results.json", fixture!("all_results.json"));
        write("yolo/results.csv", fixture!("ultralytics_results.csv"));
        write("wandb/files/wandb-summary.json", fixture!("wandb-summary.json"));
        write("mlflow/meta.yaml", b"");
        write("mlflow/metrics/loss", fixture!("mlflow_loss"));
        let log = "2026-11-28 10:00:00 step 1/9\n2026-11-28 10:00:01 step 2/9\n2026-11-28 10:00:02 step 9/9\n";
        write("log/train.log", log.as_bytes());
        let rows = "run,model,steps,epochs,machine\nevents,a,120,,g5.xlarge\ntrainer,b,120,,g5.xlarge\n\
                    yolo,c,,3,g5.xlarge\nwandb,d,30,,g5.xlarge\nmlflow,e,20,,g5.xlarge\nlog,f,,,g5.xlarge\n";
        write("labels.csv", rows.as_bytes());
        let runs = samples(folder.path()).unwrap().unwrap();
        let told = |sample: &Sample| {
            let done = sample.progress.as_ref().and_then(|curve| curve.last()).map_or(0.0, |last| last.1);
            (sample.workload.model.clone(), done, sample.whole_units().unwrap_or(0.0))
        };
        let mut told: Vec<(String, f64, f64)> = runs.iter().map(told).collect();
        told.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("a", 30.0, 120.0),
            ("b", 120.0, 120.0),
            ("c", 3.0, 3.0),
            ("d", 29.0, 30.0),
            ("e", 20.0, 20.0),
            ("f", 9.0, 9.0),
        ];
        assert_eq!(told, expected.map(|(model, done, whole)| (model.to_owned(), done, whole)));
    }
}
