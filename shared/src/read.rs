//! Reads sample files, JSON Lines or CSV, and reports the line of the first error.

use crate::encoding::decode;
use crate::file_kind::NotText;
use crate::table::{TableError, other_form};
use crate::{Sample, SampleError, csv, jsonl};

/// Format of a sample file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFormat {
    /// One JSON object per line.
    JsonLines,
    /// A header and one row per sample; nested names are joined by dots.
    Csv,
}

/// Why a file of samples cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file holds no samples.
    #[error("there are no samples in it; collect some with `foreglow collect`")]
    Empty,
    /// The file is not text.
    #[error("{0}; give a file of samples as JSON Lines or CSV")]
    NotText(NotText),
    /// A required column is missing from the CSV header.
    #[error(
        "line 1: the column {0} is missing; a CSV of samples has columns such as configuration.executors, and any other \
         table is for `foreglow evaluate --input` or for the planner, which asks for the meaning of its columns"
    )]
    Header(&'static str),
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A line cannot be read.
    #[error("line {line}: {error}")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// The error in the line.
        error: SampleError,
    },
}

impl SampleFormat {
    /// Detects the format from the first non-blank character: JSON starts with a brace or bracket.
    pub fn detect(text: &str) -> Self {
        if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with(['{', '[']) {
            Self::JsonLines
        } else {
            Self::Csv
        }
    }
}

/// Reads every sample of a file: JSON Lines or CSV, in UTF-8, UTF-16 or Windows-1252.
///
/// Skips blank lines and samples whose `id` occurred before.
///
/// # Errors
/// [`ReadError`]: no samples, or the line of the first sample that cannot be used.
pub fn read_samples(bytes: &[u8]) -> Result<Vec<Sample>, ReadError> {
    read_repeated_samples(bytes).map(distinct)
}

/// Reads every sample of a file, also those whose `id` occurred before; otherwise like
/// [`read_samples`].
///
/// # Errors
/// [`ReadError`]: no samples, or the line of the first sample that cannot be used.
pub fn read_repeated_samples(bytes: &[u8]) -> Result<Vec<Sample>, ReadError> {
    let text = decode(bytes).map_err(ReadError::NotText)?;
    match SampleFormat::detect(&text) {
        SampleFormat::JsonLines => json_lines(&text),
        SampleFormat::Csv => some(csv::read_csv(&text)?),
    }
}

/// Reads a file like [`read_repeated_samples`], and leaves out a last line of JSON that was cut
/// short, as by a crash. Returns the number of that line, from 1.
///
/// ```
/// let error = foreglow_shared::read_unless_cut(b"{\"id\": 1").unwrap_err();
/// assert!(error.to_string().starts_with("line 1"), "nothing is left");
/// ```
///
/// # Errors
/// [`ReadError`]: no samples, or the line of the first sample that cannot be used.
pub fn read_unless_cut(bytes: &[u8]) -> Result<(Vec<Sample>, Option<u64>), ReadError> {
    match read_repeated_samples(bytes) {
        Err(ReadError::Line { line, .. }) if let Some(whole) = before_cut_line(bytes, line) => {
            Ok((read_repeated_samples(whole)?, Some(line)))
        }
        read => Ok((read?, None)),
    }
}

/// Returns the lines before a truncated last line of JSON; `None` if `line` is not such a line.
fn before_cut_line(bytes: &[u8], line: u64) -> Option<&[u8]> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')? + 1;
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    // Any other error in the line is the user's to correct.
    let is_cut = serde_json::from_slice::<serde_json::Value>(&bytes[end..]).is_err_and(|error| error.is_eof());
    (line == lines + 1 && is_cut).then(|| &bytes[..end])
}

/// Reads every sample of a JSON Lines text; otherwise like [`read_samples`].
///
/// # Errors
/// [`ReadError`]: no samples, or the line of the first sample that cannot be used.
pub fn read_json_lines(text: &str) -> Result<Vec<Sample>, ReadError> {
    json_lines(text).map(distinct)
}

fn json_lines(text: &str) -> Result<Vec<Sample>, ReadError> {
    let lines = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    let sample = |(line, content)| jsonl::parse_line(content).map_err(|error| ReadError::Line { line, error });
    match lines.map(sample).collect() {
        // Looks for another form only after an error, because a text may have thousands of lines.
        Err(ReadError::Line { line: 1, error }) => Err(match other_form(text) {
            Some(form) => TableError::Form(form).into(),
            None => ReadError::Line { line: 1, error },
        }),
        samples => some(samples?),
    }
}

fn some(samples: Vec<Sample>) -> Result<Vec<Sample>, ReadError> {
    if samples.is_empty() { Err(ReadError::Empty) } else { Ok(samples) }
}

fn distinct(mut samples: Vec<Sample>) -> Vec<Sample> {
    let mut seen = std::collections::BTreeSet::new();
    samples.retain(|sample| seen.insert(sample.id));
    samples
}
