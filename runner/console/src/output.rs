//! Output formats of the commands that answer.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use foreglow_exit::{OutputClosed, plain};
use foreglow_shared::{Sample, write_csv, write_jsonl};
use serde::Serialize;
use serde_json::json;

use crate::table::{csv_of, wrapped};

/// Version of the JSON of all answers.
pub const SCHEMA: u32 = 1;

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

    /// Renders a list: as this table, as JSON with the rows under `name`, or as CSV with these
    /// columns of their JSON.
    pub fn list<R: Serialize>(self, name: &str, rows: &[R], columns: &str, table: impl FnOnce() -> String) -> String {
        match self {
            Self::Table => table(),
            Self::Json => format!("{:#}\n", json!({ "schema": SCHEMA, name: rows })),
            Self::Csv => csv_of(columns, rows),
        }
    }

    /// Renders samples: as this table, or in one of the formats of sample files.
    pub fn samples(self, samples: &[Sample], table: impl FnOnce() -> String) -> String {
        match self {
            Self::Table => table(),
            Self::Json => write_jsonl(samples),
            Self::Csv => write_csv(samples),
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
