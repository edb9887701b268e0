//! `advise --candidates`: any table of candidates with any table of runs is rejected, or gives
//! advice with finite numbers. The first line has the options, separated by spaces. A zero byte
//! separates the tables.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Parser;
use foreglow_console::answer::SearchAnswer;
use foreglow_console::ask::Source;
use foreglow_console::candidates::CandidateArgs;
use foreglow_console::compare::MachineArgs;
use foreglow_console::output::Format;
use foreglow_console::question::QuestionArgs;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tempfile::TempDir;

/// Largest number of lines of a table, so that an input takes milliseconds.
const MOST_LINES: usize = 24;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("the folder of temporary files is writable"));

/// The options of the table, and those with which they conflict.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    question: QuestionArgs,
    #[command(flatten)]
    machines: MachineArgs,
    #[command(flatten)]
    table: CandidateArgs,
    #[arg(long)]
    output: Option<PathBuf>,
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(options), Some(tables)) = (parts.next(), parts.next()) else { return };
    let Ok(options) = std::str::from_utf8(options) else { return };
    let mut tables = tables.splitn(2, |byte| *byte == 0);
    let (candidates, runs) = (tables.next().unwrap_or_default(), tables.next());
    let lines = |table: &[u8]| table.iter().filter(|byte| **byte == b'\n').count();
    if lines(candidates).max(runs.map_or(0, lines)) > MOST_LINES {
        return;
    }
    let paths = ["candidates", "runs"].map(|name| FOLDER.path().join(name));
    fs::write(&paths[0], candidates).expect("the temporary file is writable");
    let mut words = vec!["advise".as_ref(), "--candidates".as_ref(), paths[0].as_os_str()];
    if let Some(runs) = runs {
        fs::write(&paths[1], runs).expect("the temporary file is writable");
        words.extend(["--input".as_ref(), paths[1].as_os_str()]);
    }
    words.extend(options.split(' ').filter(|word| !word.is_empty()).map(Path::new).map(Path::as_os_str));
    let Ok(options) = Options::try_parse_from(words) else { return };
    if let Ok(Some(answer)) = options.table.advise(options.question.deadline) {
        check(&answer, options.question.deadline);
    }
});

fn check(answer: &SearchAnswer, deadline: Option<f64>) {
    let table = answer.render(Format::Table);
    let mut controls = table.chars().filter(|letter| letter.is_control());
    assert!(controls.all(|letter| letter == '\n'), "{table:?}");
    let json = answer.render(Format::Json);
    let answer: Value = serde_json::from_str(&json).expect("the answer is JSON");
    // A number that is not finite would be null.
    let is_positive = |name: &str| answer[name].as_f64().is_some_and(|number| number > 0.0);
    let is_given = |name: &str| !answer[name].is_null();
    if is_given("best") {
        assert!(is_positive("best_secs") && is_positive("best_cost"), "{json}");
        assert!(deadline.is_none_or(|deadline| answer["best_secs"].as_f64() <= Some(deadline)), "{json}");
    }
    assert_eq!(is_given("fastest"), is_positive("fastest_secs"), "{json}");
    assert!(is_given("next") || answer["is_enough"] == true, "{json}");
    assert!(is_given("next") || !is_given("next_cost"), "{json}");
    assert!(!is_given("expected_saving") || is_positive("next_cost"), "{json}");
    let saving = answer["expected_saving"].as_f64();
    assert!(saving.is_none_or(|saving| (0.0..=1.0).contains(&saving)), "{json}");
}
