//! Output formats of the commands that answer.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use foreglow_exit::{OutputClosed, plain};
use serde::Serialize;

use crate::table::wrapped;

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

impl Format {
    /// Renders an answer by the function of its format; JSON is indented and has a final newline.
    pub(crate) fn render<A: Serialize>(self, answer: &A, table: fn(&A) -> String, csv: fn(&A) -> String) -> String {
        match self {
            Self::Table => wrapped(&table(answer)),
            Self::Json => {
                let text =
                    serde_json::to_string_pretty(answer).expect("an answer holds only strings, numbers and lists");
                text + "\n"
            }
            Self::Csv => csv(answer),
        }
    }
}

/// Writes an answer to standard output. What files say cannot control the terminal: this is the one
/// place where answers are written, and it escapes.
///
/// # Errors
/// Standard output is closed ([`OutputClosed`]), or its disk is full.
pub fn print(answer: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(plain(answer).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        other => other.context("the answer could not be written to standard output"),
    }
}
