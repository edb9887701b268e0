//! Output formats of the commands that answer.

use std::io::Write as _;

use anyhow::Context as _;

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Human-readable tables.
    #[default]
    Table,
    /// Stable, versioned JSON.
    Json,
    /// CSV for spreadsheets.
    Csv,
}

/// Writes an answer to standard output.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn print(answer: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(answer.as_bytes())
        .and_then(|()| out.flush())
        .context("the answer could not be written to standard output")
}
