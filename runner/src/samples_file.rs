//! The file to which samples are appended; a finished run is on disk before the next one starts.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_shared::{Sample, parse_line, write_jsonl};

use crate::exit::unusable;

/// An open sample file in JSON Lines.
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
        let shown = path.display();
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .map_err(|error| unusable(format!("the sample file {shown} cannot be written: {error}")))?;
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
                    (&file).write_all(b"\n").with_context(|| failed(path))?;
                }
                Err(_) => file.set_len(whole as u64).with_context(|| failed(path))?,
            }
        }
        Ok((Self { path: path.to_owned(), file }, samples))
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
