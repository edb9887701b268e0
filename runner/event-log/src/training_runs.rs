//! Folders of training runs.
//!
//! A run leaves several files with the same steps behind, of which one is imported: event files of
//! TensorBoard, or else the results of Ultralytics or of Hugging Face's Trainer, the summary of
//! Weights & Biases, a metric of MLflow, a log, or a trace of PyTorch's profiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::files::{LogFiles, entries, file_name};

/// Limit on the depth of a folder below the one that the user names.
const MOST_DEPTH: usize = 4;
/// Limit on the files and folders that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Folders with the events of evaluations, which are no runs.
const EVALUATIONS: [&str; 5] = ["eval", "evaluation", "test", "val", "validation"];
/// The state of Hugging Face's Trainer.
const STATE: &str = "trainer_state.json";
/// Logs of Weights & Biases itself.
const OWN_LOGS: [&str; 2] = ["debug.log", "debug-internal.log"];
/// Folders in which programs order the files of a run.
const PARTS: [&str; 3] = ["files", "metrics", "train"];
/// Folders above an event file that may hold the state of its run.
const MOST_ABOVE: usize = 3;

/// Kinds of files; the first that a run has is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Events,
    Table,
    State,
    Results,
    Metric,
    Log,
    Trace,
}

impl Kind {
    fn of(file: &Path) -> Option<Self> {
        let name = file_name(file);
        let is_in = |folder: &str| file.parent().is_some_and(|parent| file_name(parent) == folder);
        let is_log = || Path::new(&name).extension().is_some_and(|end| end == "log");
        match name.as_str() {
            STATE => Some(Self::State),
            "all_results.json" | "train_results.json" | "wandb-summary.json" => Some(Self::Results),
            "results.csv" => Some(Self::Table),
            name if name.contains(".tfevents.") || name.ends_with(".tfevents") => Some(Self::Events),
            _ if is_in("metrics") && file.ancestors().nth(2).is_some_and(|run| run.join("meta.yaml").is_file()) => {
                Some(Self::Metric)
            }
            _ if is_log() && !OWN_LOGS.contains(&&*name) => Some(Self::Log),
            name if name.contains(".pt.trace.json") => Some(Self::Trace),
            _ => None,
        }
    }
}

/// Returns the training runs in a folder, sorted by their folders; none if it is another folder,
/// also if it holds only logs beside each other.
///
/// # Errors
/// The folder cannot be read.
pub fn training_runs(folder: &Path) -> anyhow::Result<Vec<LogFiles>> {
    let mut walk = Walk::default();
    walk.collect(folder, MOST_DEPTH)?;
    let found = walk.found;
    let is_no_run = |(kind, file): &(Kind, PathBuf)| *kind == Kind::Log && file.parent() == Some(folder);
    if found.iter().all(is_no_run) {
        return Ok(Vec::new());
    }
    let is_trainer = |kind: Kind| matches!(kind, Kind::State | Kind::Results);
    let of_trainers: BTreeSet<PathBuf> =
        found.iter().filter(|(kind, _)| is_trainer(*kind)).map(|(_, file)| own_folder(file)).collect();
    let mut runs: BTreeMap<PathBuf, (Kind, Vec<PathBuf>)> = BTreeMap::new();
    for (kind, file) in found {
        let own = own_folder(&file);
        let run = own.ancestors().find(|above| of_trainers.contains(*above)).map_or(own.clone(), Path::to_owned);
        let (best, files) = runs.entry(run).or_insert((kind, Vec::new()));
        if kind < *best {
            (*best, *files) = (kind, Vec::new());
        }
        if kind == *best {
            files.push(file);
        }
    }
    Ok(runs.into_iter().map(|(run, (kind, files))| LogFiles::from_run(&run, chosen(kind, files))).collect())
}

/// Returns the files of a kind that are imported: all parts of the events, and one of the others.
fn chosen(kind: Kind, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |data| data.len());
    match kind {
        Kind::Events => files,
        Kind::State => latest(files.into_iter()).into_iter().collect(),
        _ => {
            files.sort_by_key(|file| std::cmp::Reverse(size(file)));
            files.into_iter().take(1).collect()
        }
    }
}

/// Returns the state of the Trainer that wrote the event files of a run, which tells the steps of
/// the whole job; `None` if it is not near them.
pub fn trainer_state(log: &LogFiles) -> Option<PathBuf> {
    let file = log.files.first().filter(|file| Kind::of(file) == Some(Kind::Events))?;
    let states = |folder: &Path| {
        let checkpoints = entries(folder).unwrap_or_default().into_iter().filter(|entry| checkpoint(entry).is_some());
        let folders = checkpoints.chain([folder.to_owned()]);
        latest(folders.map(|folder| folder.join(STATE)).filter(|state| state.is_file()))
    };
    file.ancestors().skip(1).take(MOST_ABOVE).find_map(states)
}

/// Returns the state that was written last: that of the finished run, or of the last checkpoint.
fn latest(states: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    states.max_by_key(|state| state.parent().and_then(checkpoint).unwrap_or(u64::MAX))
}

/// Returns the step of a folder with a checkpoint.
fn checkpoint(folder: &Path) -> Option<u64> {
    file_name(folder).strip_prefix("checkpoint-")?.parse().ok()
}

/// Returns the folder of the run of a file, without those for a part of its files.
fn own_folder(file: &Path) -> PathBuf {
    let is_part = |folder: &&Path| checkpoint(folder).is_none() && !PARTS.contains(&&*file_name(folder));
    let parent = file.parent().unwrap_or(file);
    parent.ancestors().find(is_part).unwrap_or(parent).to_owned()
}

/// A walk through a folder.
#[derive(Debug, Default)]
struct Walk {
    /// Number of entries that were seen.
    entries: usize,
    found: Vec<(Kind, PathBuf)>,
}

impl Walk {
    /// Finds the files of training runs in a folder and those in it, logs only in the folder and
    /// its direct sub-folders. A folder inside that cannot be read is left out.
    fn collect(&mut self, folder: &Path, depth: usize) -> anyhow::Result<()> {
        for entry in entries(folder)? {
            self.entries += 1;
            let name = file_name(&entry);
            if self.entries > MOST_ENTRIES || name.starts_with('.') {
                continue;
            }
            // Links may form a circle.
            if entry.is_dir() && !entry.is_symlink() {
                if depth > 0 && !EVALUATIONS.contains(&name.as_str()) {
                    let _unreadable = self.collect(&entry, depth - 1);
                }
            } else if let Some(kind) = Kind::of(&entry).filter(|kind| *kind != Kind::Log || depth + 1 >= MOST_DEPTH) {
                self.found.push((kind, entry));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the run and its files, relative to a folder with these files.
    fn runs_of(names: &[&str]) -> Vec<(String, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, name).unwrap();
        }
        let relative = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
        let runs = training_runs(folder.path()).unwrap();
        let files = |run: &LogFiles| run.files.iter().map(|file| relative(file)).collect();
        runs.iter().map(|run| (relative(Path::new(&run.name)), files(run))).collect()
    }

    fn run(folder: &str, files: &[&str]) -> (String, Vec<String>) {
        (folder.to_owned(), files.iter().map(|file| (*file).to_owned()).collect())
    }

    #[test]
    fn a_run_of_the_trainer_is_its_event_files_and_a_checkpoint_is_no_run() {
        let events = "bert/runs/Nov28_host/events.out.tfevents.1.host.1.0";
        let names = ["bert/all_results.json", "bert/checkpoint-500/trainer_state.json", events, "bert/train.log"];
        assert_eq!(runs_of(&names), [run("bert", &[events])]);
        assert_eq!(runs_of(&names[..2]), [run("bert", &["bert/checkpoint-500/trainer_state.json"])]);
        let states = ["a/checkpoint-1000/trainer_state.json", "a/checkpoint-900/trainer_state.json"];
        assert_eq!(runs_of(&states), [run("a", &states[..1])]);
    }

    #[test]
    fn evaluations_and_logs_beside_each_other_are_no_runs() {
        let keras = ["logs/a/train/events.out.tfevents.1.h.v2", "logs/a/validation/events.out.tfevents.2.h.v2"];
        assert_eq!(runs_of(&keras), [run("logs/a", &keras[..1])]);
        assert_eq!(runs_of(&["a.log", "b.log"]), []);
        let logs = ["a/train.log", "b/train.log", "b/weights.bin"];
        assert_eq!(runs_of(&logs), [run("a", &logs[..1]), run("b", &logs[1..2])]);
    }

    #[test]
    fn a_run_of_mlflow_is_one_of_its_metrics() {
        let names = ["mlruns/0/f00/meta.yaml", "mlruns/0/f00/metrics/lr", "mlruns/0/f00/metrics/train_loss"];
        assert_eq!(runs_of(&names), [run("mlruns/0/f00", &names[2..])]);
    }

    #[test]
    fn a_run_of_weights_and_biases_is_its_summary() {
        let run_of = |name: &str| format!("wandb/run-1-x/{name}");
        let names = ["files/output.log", "files/wandb-summary.json", "logs/debug.log", "logs/debug-internal.log"];
        let names = names.map(run_of);
        let names = names.each_ref().map(String::as_str);
        assert_eq!(runs_of(&names), [run("wandb/run-1-x", &names[1..2])]);
    }

    #[test]
    fn the_state_of_a_trainer_is_found_from_its_event_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            file
        };
        let events = write("a/runs/b/events.out.tfevents.1.host");
        let log = LogFiles::from_run(folder.path(), vec![events]);
        assert_eq!(trainer_state(&log), None);
        let last = write("a/checkpoint-1000/trainer_state.json");
        write("a/checkpoint-500/trainer_state.json");
        assert_eq!(trainer_state(&log), Some(last));
        let whole = write("a/trainer_state.json");
        assert_eq!(trainer_state(&log), Some(whole));
    }
}
