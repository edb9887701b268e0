//! Checkpoint of a training run: a file with the state after an epoch, which refers to files with
//! the replicas. The file is replaced only after the replicas are written, so that a kill at any
//! time leaves a complete checkpoint.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{create_in_place, read_data};
use foreglow_shared::{Configuration, Fingerprint};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Job;
use super::training_history::TrainingHistory;

const FORMAT: u32 = 2;
/// Digits of the checksum after the content.
const CHECKSUM: usize = 16;

/// Checkpoint of a job.
pub struct Checkpoint {
    path: PathBuf,
    /// Settings that must be equal for a run to continue another one.
    job: Value,
    /// Replicas to save: one if all have the same parameters and optimiser state.
    replicas: u32,
}

/// Content of a checkpoint.
#[derive(Serialize, Deserialize)]
pub struct Kept {
    foreglow_checkpoint: u32,
    job: Value,
    replicas: u32,
    /// Epochs that are trained.
    pub epochs_done: u32,
    /// Time that training took so far, seconds.
    pub secs: f64,
    /// Loss and accuracy so far.
    pub course: TrainingHistory,
}

impl Checkpoint {
    /// Describes the checkpoint of a training run at a path.
    pub fn of(path: &Path, job: &Job, configuration: &Configuration, sampling_rate: f64) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let settings = job.training.as_ref().map(|training| &training.settings);
        let is_alike = settings.is_none_or(|settings| settings.average_every == 1);
        let replicas = if is_alike { 1 } else { configuration.executors };
        // The number of threads and the partition size are omitted, because they do not change the
        // result.
        let mut kept = json!({
            "workload": job.workload,
            "settings": settings,
            "weights": job.weights,
            "executors": configuration.executors,
            "sampling_rate": sampling_rate,
            "seed": job.seed,
        });
        // The default is omitted, as in checkpoints of earlier versions.
        if let Some(normalisation) = &job.normalisation {
            kept["normalisation"] = json!(normalisation);
        }
        Self { path, job: kept, replicas }
    }

    /// Returns the content; `None` if there is no checkpoint.
    ///
    /// # Errors
    /// The file cannot be read, or belongs to another job.
    pub fn kept(&self) -> anyhow::Result<Option<Kept>> {
        let shown = self.path.display();
        let Some(kept) = read(&self.path)? else { return Ok(None) };
        if let Some((what, there, here)) = difference("", &kept.job, &self.job) {
            anyhow::bail!(
                "{shown} is the checkpoint of another job: its {what} is {there}, and here it is {here}; repeat the \
                 command that wrote it, or give another --checkpoint"
            );
        }
        Ok(Some(kept))
    }

    /// Returns the files of the replicas after this many epochs, by rank.
    pub fn files(&self, epochs: u32) -> Vec<PathBuf> {
        files(&self.path, epochs, self.replicas)
    }

    /// Replaces the checkpoint by the state after this many epochs, whose replicas are written, and
    /// deletes the replicas of the previous checkpoint.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, epochs_done: u32, secs: f64, course: &TrainingHistory) -> anyhow::Result<()> {
        let before = read(&self.path).ok().flatten();
        let (job, course, replicas) = (self.job.clone(), course.clone(), self.replicas);
        let kept = Kept { foreglow_checkpoint: FORMAT, job, replicas, epochs_done, secs, course };
        let part = with_ending(&self.path, ".part");
        let write = || -> anyhow::Result<()> {
            for file in self.files(epochs_done) {
                std::fs::File::open(file)?.sync_all()?;
            }
            let mut file = create_in_place(&part)?;
            let mut bytes = serde_json::to_vec(&kept)?;
            bytes.push(b'\n');
            let checksum = checksum(&bytes);
            bytes.extend(checksum.bytes());
            file.write_all(&bytes)?;
            file.sync_all()?;
            Ok(std::fs::rename(&part, &self.path)?)
        };
        write().with_context(|| format!("the checkpoint {} could not be written", self.path.display()))?;
        if let Some(before) = before.filter(|before| before.epochs_done != epochs_done) {
            delete(&files(&self.path, before.epochs_done, before.replicas));
        }
        Ok(())
    }
}

/// Deletes a checkpoint with its replicas, after its run is recorded.
///
/// # Errors
/// The checkpoint cannot be read or deleted.
pub fn remove(path: &Path) -> anyhow::Result<()> {
    let Some(kept) = read(path)? else { return Ok(()) };
    std::fs::remove_file(path).with_context(|| format!("the checkpoint {} cannot be deleted", path.display()))?;
    delete(&files(path, kept.epochs_done, kept.replicas));
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Option<Kept>> {
    let shown = path.display();
    let bytes = match read_data(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("the checkpoint {shown} cannot be read"))?,
    };
    let (content, written) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
    let damaged = || format!("the checkpoint {shown} is damaged; delete it to start again");
    let version = Version::in_start_of(&bytes)
        .with_context(|| format!("{shown} is not a checkpoint of Foreglow; give another --checkpoint"))?;
    anyhow::ensure!(
        version.foreglow_checkpoint == FORMAT,
        "another version of Foreglow wrote the checkpoint {shown}; delete it to start again"
    );
    anyhow::ensure!(checksum(content).as_bytes() == written, damaged());
    let kept: Kept = serde_json::from_slice(content).with_context(damaged)?;
    // A wrong number would name as many files.
    let are_replicas_of_job = kept.replicas == 1 || kept.job.get("executors") == Some(&kept.replicas.into());
    anyhow::ensure!(are_replicas_of_job, damaged());
    Ok(Some(kept))
}

/// Version of a file of any format.
#[derive(Deserialize)]
struct Version {
    foreglow_checkpoint: u32,
}

impl Version {
    /// Reads the JSON at the start of a file.
    fn in_start_of(bytes: &[u8]) -> Option<Self> {
        serde_json::Deserializer::from_slice(bytes).into_iter().next()?.ok()
    }
}

fn checksum(bytes: &[u8]) -> String {
    let mut checksum = Fingerprint::default();
    checksum.add(bytes);
    checksum.to_string()
}

fn files(path: &Path, epochs: u32, replicas: u32) -> Vec<PathBuf> {
    (0..replicas).map(|rank| with_ending(path, &format!(".epoch-{epochs}.replica-{rank}"))).collect()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Deletes unneeded files. Failures are ignored, because a leftover file only takes space.
fn delete(files: &[PathBuf]) {
    files.iter().for_each(|file| drop(std::fs::remove_file(file)));
}

/// Returns the name of the first field that differs, with both values.
fn difference(name: &str, there: &Value, here: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(a), Value::Object(b)) = (there, here) {
        let missing = &Value::Null;
        let fields = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
        return fields
            .filter_map(|key| difference(key, a.get(key).unwrap_or(missing), b.get(key).unwrap_or(missing)))
            .next();
    }
    // The same number may be written with or without a fraction.
    let is_same = there == here || there.as_f64().is_some_and(|a| here.as_f64() == Some(a));
    (!is_same).then(|| (name.replace('_', " "), there.to_string(), here.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(path: &Path, seed: u64) -> Checkpoint {
        let job = json!({ "workload": { "model": "lenet5" }, "executors": 2, "seed": seed });
        Checkpoint { path: path.to_owned(), job, replicas: 2 }
    }

    #[test]
    fn a_checkpoint_is_replaced_as_a_whole_and_its_old_replicas_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.checkpoint");
        let checkpoint = checkpoint(&path, 0);
        assert!(checkpoint.kept().unwrap().is_none());
        for epochs in [1, 2] {
            checkpoint.files(epochs).iter().for_each(|file| std::fs::write(file, "numbers").unwrap());
            checkpoint.keep(epochs, 2.5, &TrainingHistory::default()).unwrap();
        }
        let kept = checkpoint.kept().unwrap().unwrap();
        assert_eq!((kept.epochs_done, kept.secs), (2, 2.5));
        let names = || {
            let mut names: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
            names.sort_unstable();
            names
        };
        let expected = ["a.checkpoint", "a.checkpoint.epoch-2.replica-0", "a.checkpoint.epoch-2.replica-1"];
        assert_eq!(names(), expected);
        remove(&path).unwrap();
        assert!(names().is_empty(), "{:?}", names());
        remove(&path).unwrap();
    }

    #[test]
    fn a_checkpoint_of_another_job_is_refused_with_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let own = checkpoint(&path, 1);
        own.files(1).iter().for_each(|file| std::fs::write(file, "").unwrap());
        own.keep(1, 1.0, &TrainingHistory::default()).unwrap();
        let said = |checkpoint: Checkpoint| checkpoint.kept().err().unwrap().to_string();
        assert!(said(checkpoint(&path, 0)).contains("its seed is 1, and here it is 0"));
        std::fs::write(&path, "shopping list").unwrap();
        assert!(said(checkpoint(&path, 1)).contains("is not a checkpoint of Foreglow"));
        own.keep(1, 1.0, &TrainingHistory::default()).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let mut replaced = whole[..whole.len() - CHECKSUM].replace("\"replicas\":2", "\"replicas\":4000000000");
        replaced.push_str(&checksum(replaced.as_bytes()));
        std::fs::write(&path, replaced).unwrap();
        assert!(said(checkpoint(&path, 1)).contains("is damaged"));
        let earlier = whole.replace("\"foreglow_checkpoint\":2", "\"foreglow_checkpoint\":1");
        std::fs::write(&path, &earlier[..earlier.len() - CHECKSUM]).unwrap();
        assert!(said(checkpoint(&path, 1)).contains("another version of Foreglow wrote"));
    }

    #[test]
    fn a_checkpoint_with_any_digit_changed_or_cut_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let own = checkpoint(&path, 1);
        own.files(1).iter().for_each(|file| std::fs::write(file, "").unwrap());
        own.keep(1, 1.5, &TrainingHistory::default()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(own.kept().unwrap().is_some());
        for place in 0..whole.len() {
            std::fs::write(&path, &whole[..place]).unwrap();
            assert!(own.kept().is_err(), "cut at {place}");
            if whole[place].is_ascii_digit() {
                let mut changed = whole.clone();
                changed[place] = b'0' + (whole[place] - b'0' + 1) % 10;
                std::fs::write(&path, changed).unwrap();
                assert!(own.kept().is_err(), "changed at {place}");
            }
        }
    }
}
