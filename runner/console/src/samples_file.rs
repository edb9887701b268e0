//! The file to which samples are appended; a finished run is on disk before the next one starts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{Temporary, read_data, unusable};
use foreglow_shared::{NotText, Sample, Uuid, parse_line, write_jsonl};

/// An open sample file in JSON Lines.
#[derive(Debug)]
pub struct SamplesFile {
    path: PathBuf,
    file: File,
    /// Whether this command has made the file, which it removes if no sample comes into it.
    is_new: bool,
}

impl SamplesFile {
    /// Opens or creates a file, locks it against other commands that write samples until this one
    /// ends, and reads its samples. A last line truncated by a crash is removed. A pipe has no lock
    /// and no samples to read.
    ///
    /// # Errors
    /// The file cannot be opened, a line is not a valid sample, or another command uses the file.
    pub fn open_alone(path: &Path) -> anyhow::Result<(Self, Vec<Sample>)> {
        loop {
            let is_new = !path.exists();
            let mut file = Self { path: path.to_owned(), file: writable(path)?, is_new: false };
            // Locks before reading: runs that another command still appends would be measured
            // twice.
            lock(&file.file, path)?;
            file.is_new = is_new;
            // The command that had the lock may have replaced the file meanwhile.
            if is_pipe(path) || is_at(&file.file, path) {
                let samples = file.read()?;
                return Ok((file, samples));
            }
        }
    }

    /// Reads the samples of a file that another command may write to. An unfinished last line is
    /// left out.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not a valid sample.
    pub fn samples_of(path: &Path) -> anyhow::Result<Vec<Sample>> {
        Ok(if is_pipe(path) { Vec::new() } else { parse(&text_of(path)?, path)?.0 })
    }

    fn read(&self) -> anyhow::Result<Vec<Sample>> {
        let (path, mut file) = (&self.path, &self.file);
        if is_pipe(path) {
            return Ok(Vec::new());
        }
        let text = text_of(path)?;
        let (samples, whole) = parse(&text, path)?;
        match whole {
            Whole::Lines => {}
            Whole::WithoutLineEnd => file.write_all(b"\n").with_context(|| failed(path))?,
            Whole::Until(end) => file.set_len(end as u64).with_context(|| failed(path))?,
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
    /// The disk is full or gone, or the file has the largest size allowed; the file is then
    /// unchanged.
    pub fn append(&mut self, sample: &Sample) -> anyhow::Result<()> {
        let line = write_jsonl([sample]);
        let length = self.file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
        let done = self.file.write_all(line.as_bytes()).and_then(|()| sync(&self.file));
        if let Some(length) = length.filter(|_| done.is_err()) {
            // A part of a line that stays is left out by the next reader.
            let _ = self.file.set_len(length);
        }
        done.with_context(|| failed(&self.path))
    }

    /// Removes the samples with these ids. The lines of all other samples are unchanged.
    ///
    /// # Errors
    /// The disk is full or gone; the file is then unchanged.
    pub fn remove(&mut self, ids: &[Uuid]) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(&self.path).with_context(|| failed(&self.path))?;
        let stays = |line: &&str| !parse_line(without_mark(line)).is_ok_and(|sample| ids.contains(&sample.id));
        let kept: String = text.lines().filter(stays).flat_map(|line| [line, "\n"]).collect();
        // A link to the file stays one.
        let path = self.path.canonicalize().with_context(|| failed(&self.path))?;
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".new-{}", std::process::id()));
        // Replaces the file atomically, so that a crash leaves either the old or the new one.
        let replace = || -> anyhow::Result<File> {
            let beside = Temporary::at(beside);
            let mut file = OpenOptions::new().create_new(true).append(true).open(beside.path())?;
            lock(&file, beside.path())?;
            file.set_permissions(self.file.metadata()?.permissions())?;
            file.write_all(kept.as_bytes())?;
            sync(&file)?;
            std::fs::rename(beside.path(), &path)?;
            beside.keep();
            Ok(file)
        };
        self.file = replace().with_context(|| failed(&self.path))?;
        Ok(())
    }
}

impl Drop for SamplesFile {
    fn drop(&mut self) {
        let is_empty = self.file.metadata().is_ok_and(|data| data.is_file() && data.len() == 0);
        if self.is_new && is_empty && is_at(&self.file, &self.path) {
            // An empty file that stays is no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// How a file of samples ends.
enum Whole {
    /// With the end of a line.
    Lines,
    /// With a sample that lacks the end of its line.
    WithoutLineEnd,
    /// With a part of a sample after this many bytes.
    Until(usize),
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let bytes = read_data(path)
        .map_err(|error| unusable(format!("the sample file {} cannot be read: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let kind = NotText::recognise(error.as_bytes()).unwrap_or(NotText::Byte(error.utf8_error().valid_up_to()));
        unusable(format!("{}: {kind}; name another --output", path.display()))
    })
}

fn parse(text: &str, path: &Path) -> anyhow::Result<(Vec<Sample>, Whole)> {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut samples = Vec::new();
    for (number, line) in text[..whole].lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let sample = parse_line(without_mark(line)).map_err(|error| {
            let shown = path.display();
            unusable(format!("line {} of {shown} is not usable: {error}; name another --output", number + 1))
        })?;
        samples.push(sample);
    }
    let rest = &text[whole..];
    let ends = match parse_line(without_mark(rest)) {
        _ if without_mark(rest).trim().is_empty() => Whole::Lines,
        Ok(sample) => {
            samples.push(sample);
            Whole::WithoutLineEnd
        }
        Err(_) => Whole::Until(whole),
    };
    Ok((samples, ends))
}

/// Returns a line without the byte order mark that some editors write before the first.
fn without_mark(line: &str) -> &str {
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

/// Returns whether a path is that of a pipe or another device, which would be read without end.
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// Returns whether the open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |data: std::fs::Metadata| (data.dev(), data.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

/// Returns whether the open file is the one at a path. Elsewhere an open file is not replaced.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

fn writable(path: &Path) -> anyhow::Result<File> {
    // The end of a pipe that is also open for reading never notices that its reader has gone.
    let is_pipe = is_pipe(path);
    let opened = OpenOptions::new().create(!is_pipe).read(!is_pipe).append(true).open(path);
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
        let ids: Vec<Uuid> = SamplesFile::samples_of(&path).unwrap().iter().map(|sample| sample.id).collect();
        assert_eq!(ids.len(), 2);
        assert!(SamplesFile::open_alone(&path).is_err(), "the new file has the lock");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_byte_order_mark_before_the_first_sample_is_no_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        for text in [format!("\u{feff}{}\n{}\n", line(1), line(2)), format!("\u{feff}{}", line(1))] {
            std::fs::write(&path, &text).unwrap();
            let (mut file, samples) = SamplesFile::open_alone(&path).unwrap();
            file.append(&parse_line(&line(3)).unwrap()).unwrap();
            assert_eq!(SamplesFile::samples_of(&path).unwrap().len(), samples.len() + 1);
            file.remove(&[samples[0].id]).unwrap();
            assert_eq!(SamplesFile::samples_of(&path).unwrap().len(), samples.len());
        }
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

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_while_it_is_opened_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        std::fs::write(&path, format!("{}\n", line(1))).unwrap();
        let stale = writable(&path).unwrap();
        assert!(is_at(&stale, &path));
        let (mut other, samples) = SamplesFile::open_alone(&path).unwrap();
        other.remove(&[samples[0].id]).unwrap();
        assert!(!is_at(&stale, &path), "what is appended to it would be lost");
        other.append(&parse_line(&line(2)).unwrap()).unwrap();
        assert_eq!(SamplesFile::samples_of(&path).unwrap().len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions_and_the_link_to_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("samples.jsonl"), folder.path().join("link.jsonl"));
        std::fs::write(&path, format!("{}\n{}\n", line(1), line(2))).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let (mut file, samples) = SamplesFile::open_alone(&link).unwrap();
        file.remove(&[samples[1].id]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", line(1)));
        assert!(link.is_symlink());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_new_file_without_a_sample_is_removed_and_an_older_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        drop(SamplesFile::open_alone(&path).unwrap());
        assert!(!path.exists(), "such as after Ctrl-C in the first run");
        SamplesFile::open_alone(&path).unwrap().0.append(&parse_line(&line(1)).unwrap()).unwrap();
        assert_eq!(SamplesFile::samples_of(&path).unwrap().len(), 1);
        std::fs::write(&path, "").unwrap();
        drop(SamplesFile::open_alone(&path).unwrap());
        assert!(path.exists());
    }

    #[test]
    fn an_unfinished_last_line_is_left_in_place_by_who_only_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples.jsonl");
        let text = format!("{}\n{}", line(1), &line(2)[..100]);
        std::fs::write(&path, &text).unwrap();
        assert_eq!(SamplesFile::samples_of(&path).unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(SamplesFile::open_alone(&path).unwrap().1.len(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", line(1)));
    }
}
