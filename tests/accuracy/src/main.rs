//! `make accuracy`, `make accuracy-check` and `make accuracy-reference`: all accuracy figures; see
//! `--help`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use foreglow_accuracy::{
    Figures, HELP, Options, Places, Protocol, Reference, Set, Source, Task, answer, left_out, page, protocols,
    reference, rows, saved, summary,
};

/// The committed figures of the gate.
const REFERENCE: &str = "tests/accuracy/reference.csv";

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = std::io::stdout().write_all(HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(sentence) => {
            eprintln!("accuracy: {sentence}");
            return ExitCode::from(2);
        }
    };
    match work(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("accuracy: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work(options: &Options) -> anyhow::Result<ExitCode> {
    let places = Places::new(options.data.as_deref());
    let mut wanted = protocols();
    if let Task::Bout(bout) = &options.task {
        let protocol = wanted.iter().find(|protocol| protocol.title() == bout.protocol);
        let protocol = protocol.context("there is no such protocol")?;
        let answer = answer(protocol, &(protocol.parts)(&places)?, options, bout)?;
        std::io::stdout().write_all(answer.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    wanted.retain(|protocol| options.wants(&protocol.title()));
    if wanted.is_empty() {
        eprintln!("accuracy: no protocol has {} in its name", options.only.join(" or "));
        return Ok(ExitCode::from(2));
    }
    let uses = |source: Source| wanted.iter().any(|protocol| protocol.set.source == source);
    if !places.has(Source::Shared) && uses(Source::Shared) && (options.is_full() || options.task == Task::Refresh) {
        eprintln!("accuracy: there is no data in {}; name its folder with DATA=FOLDER", places.data.display());
        return Ok(ExitCode::from(2));
    }
    let is_gate = matches!(options.task, Task::Check | Task::Refresh);
    if is_gate {
        wanted.retain(|protocol| !matches!(protocol.set.source, Source::Cloned(_)));
    }
    let skipped = skip_missing(&mut wanted, &places);
    if wanted.is_empty() && !is_gate {
        return Ok(ExitCode::from(2));
    }
    match options.task {
        Task::Check | Task::Refresh => gate(options, &places, wanted, &skipped),
        Task::Measure | Task::Bout(_) => tables(options, &places, &wanted),
    }
}

/// Skips the protocols with missing data, prints a note, and returns their sets.
fn skip_missing(wanted: &mut Vec<Protocol>, places: &Places) -> Vec<Set> {
    let is_missing = |protocol: &Protocol| !places.has(protocol.set.source);
    let mut skipped: Vec<Set> =
        wanted.iter().filter(|protocol| is_missing(protocol)).map(|protocol| protocol.set).collect();
    wanted.retain(|protocol| !is_missing(protocol));
    skipped.dedup();
    let (cloned, shared): (Vec<Set>, Vec<Set>) =
        skipped.iter().copied().partition(|set| matches!(set.source, Source::Cloned(_)));
    if !shared.is_empty() {
        eprintln!("accuracy: there is no data in {}: the public sets are skipped", places.data.display());
    }
    if !cloned.is_empty() {
        let names = cloned.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
        eprintln!(
            "accuracy: {} has no table of {names}, which are skipped; tests/accuracy/clouds.py and gpus.py write them",
            places.data.display()
        );
    }
    skipped
}

/// Measures all figures and writes them to a file, to the page and to standard output.
fn tables(options: &Options, places: &Places, wanted: &[Protocol]) -> anyhow::Result<ExitCode> {
    let default = if options.is_full() { "target/accuracy.json" } else { "target/accuracy-part.json" };
    let file = options.json.clone().unwrap_or_else(|| places.project.join(default));
    if let Some(file) = &options.from {
        let mut rows = saved::read(file, wanted)?;
        if options.adds_left_out {
            left_out::measure(&mut rows, wanted, places, options)?;
            write_json(file, &rows)?;
        }
        return show(options, places, wanted, &rows);
    }
    // Written after each protocol, so that an interrupted run keeps its figures.
    let mut all = measure(options, places, wanted, |rows| write_json(&file, rows))?;
    if options.is_full() {
        left_out::measure(&mut all, wanted, places, options)?;
        write_json(&file, &all)?;
    }
    show(options, places, wanted, &all)
}

/// Writes the figures to the page and to standard output.
fn show(options: &Options, places: &Places, wanted: &[Protocol], rows: &[Figures]) -> anyhow::Result<ExitCode> {
    if let Some(page) = &options.page {
        let commands = |protocol: &Protocol| -> anyhow::Result<Vec<Vec<String>>> {
            Ok((protocol.parts)(places)?.into_iter().map(|part| part.command).collect())
        };
        let commands = wanted.iter().map(commands).collect::<anyhow::Result<Vec<_>>>()?;
        page::replace(page, &page::section(wanted, &commands, rows, options.trials))?;
    }
    let text = summary(rows) + &page::calibration(rows);
    std::io::stdout().write_all(text.as_bytes()).context("the table could not be written to standard output")?;
    Ok(ExitCode::SUCCESS)
}

/// Compares the figures of a few trials with the committed ones.
fn gate(options: &Options, places: &Places, mut wanted: Vec<Protocol>, skipped: &[Set]) -> anyhow::Result<ExitCode> {
    // Protocols with a time limit depend on the machine, and a gate must be quick.
    wanted.retain(|protocol| protocol.limit_secs.is_none() && !protocol.is_costly);
    let all = measure(options, places, &wanted, |_| Ok(()))?;
    let measured: Vec<Reference> = all.iter().map(Reference::of).collect();
    let file = places.project.join(REFERENCE);
    if options.task == Task::Refresh {
        reference::write(&file, &measured)?;
        eprintln!("{} rows written to {}", measured.len(), file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let mut references = reference::read(&file)?;
    references.retain(|reference| options.wants(&format!("{}: {}", reference.set, reference.protocol)));
    let sentences = reference::regressions(&references, &measured, skipped);
    for sentence in &sentences {
        eprintln!("accuracy: {sentence}");
    }
    if sentences.is_empty() {
        eprintln!("{} rows are as good as the reference, or better", measured.len());
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("accuracy: if this is meant, run make accuracy-reference and commit {REFERENCE}");
    Ok(ExitCode::FAILURE)
}

/// Measures the rows of every protocol. `done` receives all rows so far.
fn measure(
    options: &Options,
    places: &Places,
    wanted: &[Protocol],
    mut done: impl FnMut(&[Figures]) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Figures>> {
    let mut all: Vec<Figures> = Vec::new();
    let (count, begin) = (wanted.len(), Instant::now());
    for (number, protocol) in (1..).zip(wanted) {
        let start = Instant::now();
        let parts = (protocol.parts)(places).with_context(|| protocol.title())?;
        all.extend(rows(protocol, &parts, options));
        done(&all)?;
        let secs = start.elapsed().as_secs_f64();
        eprintln!("{number} of {count}, {} in {secs:.1} s", protocol.title());
    }
    eprintln!("{count} protocols in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(all)
}

fn write_json(file: &Path, rows: &[Figures]) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(&rows.iter().map(Figures::json).collect::<Vec<_>>())?;
    std::fs::write(file, json + "\n").with_context(|| format!("{} could not be written", file.display()))
}
