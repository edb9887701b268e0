//! Destination of the samples of commands that measure: the store, or a file.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_model::Predictor;
use foreglow_shared::{Context, Sample, Uuid, group_by_context};
use foreglow_store::{Filter, Location, Store, user};

use crate::samples_file::{SamplesFile, in_use};

/// Arguments for the destination of samples.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Samples")]
pub struct DestinationArgs {
    /// Save the samples in this JSON Lines file instead of the store
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    pub output: Option<PathBuf>,

    /// Store to save the samples in [default: the user's store]
    #[arg(long, value_name = "FILE|URL")]
    pub store: Option<Location>,
}

/// A destination that only this command writes to.
#[derive(Debug)]
pub enum Destination {
    /// A sample file.
    File(SamplesFile),
    /// The store.
    Store {
        /// The open store.
        store: Box<Store>,
        /// Lock that excludes other measuring commands while it is open. A database has none,
        /// because several machines may measure into it.
        _lock: Option<File>,
    },
}

impl DestinationArgs {
    /// Opens the destination and reads its samples.
    ///
    /// # Errors
    /// The destination cannot be written, contains something other than samples, or is in use by
    /// another measuring command.
    pub fn open(&self) -> anyhow::Result<(Destination, Vec<Sample>)> {
        if let Some(output) = &self.output {
            let (file, samples) = SamplesFile::open_alone(output)?;
            return Ok((Destination::File(file), samples));
        }
        let store = Store::open(self.store.as_ref())?;
        let lock = store.location().file().map(lock).transpose()?;
        // With the lock held, no other command adds samples after this read.
        let samples = store.samples(&Filter::default())?;
        Ok((Destination::Store { store: Box::new(store), _lock: lock }, samples))
    }

    /// Reads the samples without creating anything.
    ///
    /// # Errors
    /// As [`DestinationArgs::open`].
    pub fn read(&self) -> anyhow::Result<Vec<Sample>> {
        match &self.output {
            Some(output) if !output.exists() => Ok(Vec::new()),
            Some(output) => SamplesFile::samples_of(output),
            None => {
                let location = self.store.clone().map_or_else(Location::of_user, Ok)?;
                match location.file() {
                    Some(path) if !path.exists() => Ok(Vec::new()),
                    _ => Store::open_existing(Some(&location))?.samples(&Filter::default()),
                }
            }
        }
    }

    /// Returns the arguments that name the destination to a command that reads samples.
    fn words(&self) -> Vec<String> {
        match (&self.output, &self.store) {
            (Some(output), _) => vec![output.display().to_string()],
            (None, Some(store)) => vec!["--store".into(), store.to_string()],
            (None, None) => Vec::new(),
        }
    }

    /// Returns the command that removes samples from the destination.
    pub fn remove_command(&self, ids: &[Uuid]) -> String {
        let place = self.words().into_iter().map(|word| foreglow_shared::shell_word(&word));
        let place = self.output.iter().map(|_| "--from".to_owned()).chain(place);
        let ids = ids.iter().map(Uuid::to_string);
        let command = ["foreglow samples remove".to_owned()].into_iter().chain(place).chain(ids);
        command.collect::<Vec<String>>().join(" ")
    }

    /// Returns the command for the next step: `plan` if `samples` are enough for a prediction, else
    /// `advise`.
    pub fn next_command(&self, context: &Context, samples: &[Sample]) -> String {
        let jobs = group_by_context(samples);
        let jobs: Vec<_> = jobs.iter().filter(|job| !job.observations.is_empty()).collect();
        let place = jobs.iter().position(|job| job.context == *context);
        let is_enough = place.is_some_and(|place| Predictor::fit_job(jobs[place]).is_ok());
        let mut words = vec!["foreglow".to_owned(), if is_enough { "plan" } else { "advise" }.to_owned()];
        words.extend(self.words().iter().map(|word| foreglow_shared::shell_word(word)));
        if let Some(place) = place.filter(|_| jobs.len() > 1) {
            words.push(format!("--context {}", place + 1));
        }
        words.push("--deadline 30m".to_owned());
        words.join(" ")
    }
}

impl Destination {
    /// Returns the place of the destination.
    pub fn location(&self) -> Location {
        match self {
            Self::File(file) => Location::File(file.path().to_owned()),
            Self::Store { store, .. } => store.location().clone(),
        }
    }

    /// Saves a sample; it is on disk when this returns.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn append(&mut self, sample: &Sample) -> anyhow::Result<()> {
        match self {
            Self::File(file) => file.append(sample),
            Self::Store { store, .. } => store.insert(std::slice::from_ref(sample)).map(drop),
        }
    }

    /// Removes samples.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn remove(&mut self, ids: &[Uuid]) -> anyhow::Result<()> {
        match self {
            Self::File(file) => file.remove(ids),
            Self::Store { store, .. } => store.remove(ids, &user()).map(drop),
        }
    }
}

/// Takes the lock of a store, a separate file, because the database needs its own locks.
fn lock(store: &Path) -> anyhow::Result<File> {
    let mut path = store.as_os_str().to_owned();
    path.push("-measuring");
    let path = PathBuf::from(path);
    let failed = || format!("the file {} cannot be made", path.display());
    anyhow::ensure!(!path.is_symlink(), "{}, because it is a link", failed());
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).with_context(failed)?;
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Err(in_use(store)),
        // The file system has no locks.
        Ok(()) | Err(std::fs::TryLockError::Error(_)) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_commands_do_not_measure_into_one_store() {
        let folder = tempfile::tempdir().unwrap();
        let place = DestinationArgs { output: None, store: Some(folder.path().join("samples.sqlite").into()) };
        let first = place.open().unwrap();
        #[cfg(unix)]
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.unwrap().metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(place.open().unwrap_err().to_string().contains("another foreglow is measuring into"));
        assert_eq!(place.read().unwrap(), []);
        drop(first);
        place.open().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn the_lock_of_a_store_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, store] = ["victim", "samples.sqlite"].map(|name| folder.path().join(name));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join("samples.sqlite-measuring")).unwrap();
        let place = DestinationArgs { output: None, store: Some(store.into()) };
        assert!(place.open().unwrap_err().to_string().ends_with("because it is a link"));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn reading_a_place_creates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for place in [
            DestinationArgs { output: Some(folder.path().join("a.jsonl")), store: None },
            DestinationArgs { output: None, store: Some(folder.path().join("a.sqlite").into()) },
        ] {
            assert_eq!(place.read().unwrap(), []);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_next_command_names_the_place_and_asks_for_more_samples_where_they_are_too_few() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("my samples.jsonl");
        let place = DestinationArgs { output: Some(output.clone()), store: None };
        let sample: Sample = foreglow_shared::parse_line(
            r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{},"started_at":"2026-11-21T10:00:00Z"}"#,
        )
        .unwrap();
        let context = Context::of(&sample);
        let quoted = format!("'{}'", output.display());
        assert_eq!(
            place.next_command(&context, std::slice::from_ref(&sample)),
            format!("foreglow advise {quoted} --deadline 30m")
        );
        let mut larger = sample.clone();
        (larger.sampling_rate, larger.completion_time_secs) = (0.2, Some(4.9));
        let mut other = sample.clone();
        other.workload.model = "alexnet".into();
        let samples = [sample, larger, other];
        let expected = format!("foreglow plan {quoted} --context 2 --deadline 30m");
        assert_eq!(place.next_command(&context, &samples), expected);
    }
}
