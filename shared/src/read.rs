//! Reading a file of samples, JSON Lines or CSV, with the line of the first mistake.

use crate::encoding::decode;
use crate::{Sample, SampleError, csv, jsonl};

/// How a file of samples is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFormat {
    /// One JSON object a line.
    JsonLines,
    /// A header and one row a sample, nested names joined by dots.
    Csv,
}

/// Why a file of samples cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing in it.
    #[error("there are no samples in it; collect some with `foreglow collect`")]
    Empty,
    /// It is not text.
    #[error("it is not text (byte {0}); give a file of samples as JSON Lines or CSV")]
    NotText(usize),
    /// The header of a CSV file lacks a column.
    #[error(
        "line 1: the column {0} is missing; the CSV has the sample's names joined by dots, such as configuration.executors"
    )]
    Header(&'static str),
    /// One line is wrong.
    #[error("line {line}: {error}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        error: SampleError,
    },
}

impl SampleFormat {
    /// Tells the format from the first character that is not white space: an object opens with a brace.
    pub fn detect(text: &str) -> Self {
        if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{') {
            Self::JsonLines
        } else {
            Self::Csv
        }
    }
}

/// Reads every sample of a file, JSON Lines or CSV, in UTF-8, UTF-16 or Windows-1252.
///
/// Blank lines are passed over, and a sample whose `id` came before is the same sample and is read once.
///
/// # Errors
/// [`ReadError`] with the line of the first sample that cannot be used.
pub fn read_samples(bytes: &[u8]) -> Result<Vec<Sample>, ReadError> {
    let text = decode(bytes).map_err(ReadError::NotText)?;
    match SampleFormat::detect(&text) {
        SampleFormat::JsonLines => read_json_lines(&text),
        SampleFormat::Csv => distinct(csv::read_csv(&text)?),
    }
}

/// Reads every sample of a text of JSON Lines, as Foreglow itself writes them; otherwise as [`read_samples`].
///
/// # Errors
/// [`ReadError`] with the line of the first sample that cannot be used.
pub fn read_json_lines(text: &str) -> Result<Vec<Sample>, ReadError> {
    let lines = (1..).zip(text.lines()).filter(|(_, content)| !content.trim().is_empty());
    let sample = |(line, content)| jsonl::parse_line(content).map_err(|error| ReadError::Line { line, error });
    distinct(lines.map(sample).collect::<Result<Vec<Sample>, ReadError>>()?)
}

fn distinct(mut samples: Vec<Sample>) -> Result<Vec<Sample>, ReadError> {
    let mut seen = std::collections::BTreeSet::new();
    samples.retain(|sample| seen.insert(sample.id));
    if samples.is_empty() { Err(ReadError::Empty) } else { Ok(samples) }
}
