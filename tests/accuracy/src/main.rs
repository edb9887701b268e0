//! `make accuracy`: every accuracy figure; see `--help`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use foreglow_accuracy::{HELP, Options, Places, Row, protocols, rows, summary};

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
    match measure(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("accuracy: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> anyhow::Result<ExitCode> {
    let places = Places::new(options.data.as_deref());
    let mut wanted = protocols();
    wanted.retain(|protocol| options.wants(protocol.set.name, &protocol.name));
    if wanted.is_empty() {
        eprintln!("accuracy: no protocol has {} in its name", options.only.join(" or "));
        return Ok(ExitCode::from(2));
    }
    if !places.has_data() && wanted.iter().any(|protocol| protocol.set.is_public) {
        if options.is_full() {
            eprintln!("accuracy: there is no data in {}; name its folder with DATA=FOLDER", places.data.display());
            return Ok(ExitCode::from(2));
        }
        eprintln!("accuracy: there is no data in {}; the public sets are skipped", places.data.display());
        wanted.retain(|protocol| !protocol.set.is_public);
    }
    let mut all: Vec<Row> = Vec::new();
    let (count, begin) = (wanted.len(), Instant::now());
    for (number, protocol) in (1..).zip(&wanted) {
        let start = Instant::now();
        let parts = (protocol.parts)(&places).with_context(|| format!("{}: {}", protocol.set.name, protocol.name))?;
        all.extend(rows(protocol, &parts, options));
        let secs = start.elapsed().as_secs_f64();
        eprintln!("{number} of {count}, {}: {} in {secs:.1} s", protocol.set.name, protocol.name);
    }
    eprintln!("{count} protocols in {:.0} s", begin.elapsed().as_secs_f64());

    let default = if options.is_full() { "target/accuracy.json" } else { "target/accuracy-part.json" };
    let file = options.json.clone().unwrap_or_else(|| places.project.join(PathBuf::from(default)));
    let json = serde_json::to_string_pretty(&all.iter().map(Row::json).collect::<Vec<_>>())?;
    std::fs::write(&file, json + "\n").with_context(|| format!("{} could not be written", file.display()))?;
    std::io::stdout()
        .write_all(summary(&all).as_bytes())
        .context("the table could not be written to standard output")?;
    Ok(ExitCode::SUCCESS)
}
