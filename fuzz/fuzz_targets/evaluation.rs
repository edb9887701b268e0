//! `evaluate --input`: any options with any table are rejected, or every predictor gets a finite
//! error. The first line has the options, separated by spaces.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Parser;
use foreglow_console::evaluation::EvaluationArgs;
use foreglow_shared::Table;
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

/// Largest number of lines, so that an input takes milliseconds.
const MOST_LINES: usize = 24;
/// Largest number of digits in the options, for the same reason.
const DIGITS: usize = 2;

static FILE: LazyLock<NamedTempFile> =
    LazyLock::new(|| NamedTempFile::new().expect("the folder for temporary files is writable"));

/// The options of the table, and those with which they conflict.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    table: EvaluationArgs,
    files: Vec<PathBuf>,
    #[arg(long)]
    store: Option<String>,
    #[arg(long)]
    model: Option<String>,
    #[arg(long)]
    context: Option<String>,
}

fuzz_target!(|bytes: &[u8]| {
    let (first, table) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0));
    let Ok(first) = std::str::from_utf8(first) else { return };
    let table = table.get(1..).unwrap_or_default();
    if table.iter().filter(|byte| **byte == b'\n').count() > MOST_LINES {
        return;
    }
    fs::write(FILE.path(), table).expect("the temporary file is writable");
    read(table);
    if has_long_number(first) {
        return;
    }
    let words = ["evaluate".as_ref(), "--input".as_ref(), FILE.path().as_os_str()];
    let Ok(options) = Options::try_parse_from(words.into_iter().chain(first.split(' ').map(str::as_ref))) else {
        return;
    };
    let Ok(Some(evaluation)) = options.table.evaluate() else { return };
    assert!(evaluation.rows > 0);
    for result in &evaluation.results {
        let score = &result.score;
        assert!(score.mape_percent.is_none_or(|mape| mape.is_finite() && mape >= 0.0), "{score:?}");
    }
});

/// Reads all rows: their lines ascend. Two may have the same line, because a lone carriage return
/// ends a row.
fn read(table: &[u8]) {
    let Ok(table) = Table::read(table) else { return };
    let lines: Vec<u64> = table.rows().map(|row| row.line()).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    assert!(table.rows().all(|row| row.iter().count() == table.header().len()));
}

fn has_long_number(options: &str) -> bool {
    options.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > DIGITS)
}
