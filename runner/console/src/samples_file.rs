//! The file to which samples are appended; a finished run is on disk before the next one starts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unusable;
use foreglow_shared::{Sample, Uuid, parse_line, write_jsonl};

/// An open sample file in JSON Lines.
#[derive(Debug)]
pub struct SamplesFile {
    path: PathBuf,
    file: File,
}

impl SamplesFile {
    /// Opens or creates a file and reads its samples. A last line truncated by a crash is removed.
    ///
    /// # Errors
    /// The file cannot be opened, or a line is not a valid sample.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Vec<Sample>)> {
        let file = Self { path: path.to_owned(), file: writable(path)? };
        let samples = file.read()?;
        Ok((file, samples))
    }

    /// Opens a file like [`SamplesFile::open`] and locks it against other measuring commands until
    /// this one ends.
    ///
    /// # Errors
    /// As [`SamplesFile::open`], or another command uses the file.
    pub fn open_alone(path: &Path) -> anyhow::Result<(Self, Vec<Sample>)> {
        let file = Self { path: path.to_owned(), file: writable(path)? };
        // Locks before reading, because runs that another command still appends would otherwise be
        // measured twice.
        lock(&file.file, path)?;
        let samples = file.read()?;
        Ok((file, samples))
    }

    fn read(&self) -> anyhow::Result<Vec<Sample>> {
        let (path, mut file) = (&self.path, &self.file);
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| unusable(format!("the sample file {shown} cannot be read: {error}")))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut samples = Vec::new();
        for (number, line) in text[..whole].lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let sample = parse_line(line).map_err(|error| {
                unusable(format!("line {} of {shown} is not usable: {error}; name another --output", number + 1))
            })?;
            samples.push(sample);
        }
        let rest = &text[whole..];
        if !rest.trim().is_empty() {
            match parse_line(rest) {
                Ok(sample) => {
                    samples.push(sample);
                    file.write_all(b"\n").with_context(|| failed(path))?;
                }
                Err(_) => file.set_len(whole as u64).with_context(|| failed(path))?,
            }
        }
        Ok(samples)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a sample and waits until it is on disk.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn append(&mut self, sample: &Sample) -> anyhow::Result<()> {
        let line = write_jsonl([sample]);
        let done = self.file.write_all(line.as_bytes()).and_then(|()| sync(&self.file));
        done.with_context(|| failed(&self.path))
    }

    /// Removes the samples with these ids. The lines of all other samples are unchanged.
    ///
    /// # Errors
    /// The disk is full or gone; the file is then unchanged.
    pub fn remove(&mut self, ids: &[Uuid]) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(&self.path).with_context(|| failed(&self.path))?;
        let stays = |line: &&str| !parse_line(line).is_ok_and(|sample| ids.contains(&sample.id));
        let kept: String = text.lines().filter(stays).flat_map(|line| [line, "\n"]).collect();
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        // Replaces the file atomically, so that a crash leaves either the old or the new one.
        let replace = || -> anyhow::Result<File> {
            let mut file = OpenOptions::new().create_new(true).append(true).open(&beside)?;
            lock(&file, &beside)?;
            file.write_all(kept.as_bytes())?;
            sync(&file)?;
            std::fs::rename(&beside, &self.path)?;
            Ok(file)
        };
        let replaced = replace().with_context(|| failed(&self.path));
        if replaced.is_err() {
            // The temporary file may not exist.
            let _ = std::fs::remove_file(&beside);
        }
        self.file = replaced?;
        Ok(())
    }
}

fn writable(path: &Path) -> anyhow::Result<File> {
    let opened = OpenOptions::new().create(true).read(true).append(true).open(path);
    opened.map_err(|error| unusable(format!("the sample file {} cannot be written: {error}", path.display())))
}

/// Takes the lock of a regular file; pipes and terminals have no lock.
fn lock(file: &File, path: &Path) -> anyhow::Result<()> {
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(in_use(path)),
        // The file system has no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Returns the message for samples that another command uses.
pub fn in_use(path: &Path) -> anyhow::Error {
    let shown = path.display();
    unusable(format!(
        "another foreglow is measuring into {shown}; wait until it ends, or name another place with --output FILE"
    ))
}

/// Pipes and terminals cannot be synchronised.
fn sync(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_data() } else { Ok(()) }
}

fn failed(path: &Path) -> String {
    format!(
        "the sample file {} could not be written; free some space on its disk or name another one with --output",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-00000000000N","workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{},"started_at":"2026-11-21T10:00:00Z"}"#;

    fn line(number: u32) -> String {
        LINE.replace('N', &number.to_string())
    }

    #[test]
    fn a_removed_sample_is_gone_and_the_file_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        std::fs::write(&path, format!("{}\n{}\n", line(1), line(2))).unwrap();
        let (mut file, samples) = SamplesFile::open_alone(&path).unwrap();
        file.remove(&[samples[0].id]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", line(2)));
        file.append(&parse_line(&line(3)).unwrap()).unwrap();
        let ids: Vec<Uuid> = SamplesFile::open(&path).unwrap().1.iter().map(|sample| sample.id).collect();
        assert_eq!(ids.len(), 2);
        assert!(SamplesFile::open_alone(&path).is_err(), "the new file has the lock");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_second_command_is_told_to_wait_and_the_lock_ends_with_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        let first = SamplesFile::open_alone(&path).unwrap();
        let error = SamplesFile::open_alone(&path).unwrap_err().to_string();
        assert!(error.contains("another foreglow is measuring into") && error.contains("--output FILE"), "{error}");
        drop(first);
        SamplesFile::open_alone(&path).unwrap();
    }
}
