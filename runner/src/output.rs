//! The forms in which every command that answers prints its answer.

use std::io::Write as _;

use anyhow::Context as _;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: stable and versioned.
    Json,
    /// For spreadsheets.
    Csv,
}

/// Writes an answer to standard output.
///
/// # Errors
/// Standard output is closed or its disk is full.
pub fn print(answer: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())
        .and_then(|()| out.flush())
        .context("the answer could not be written to standard output")
}
