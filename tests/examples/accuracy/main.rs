//! Every accuracy figure, by `foreglow evaluate` on the public data sets: `make accuracy`, or
//! `cargo run --release --workspace --example accuracy -- DATA [--page docs/accuracy.md]`.
//!
//! Writes `target/accuracy.json` and a section of the page. Exit code 2 where the data is not there.

mod page;
mod protocol;
mod standing;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use foreglow_tests::workspace_dir;

use crate::protocol::{Protocol, protocols};
use crate::standing::{Part, Row, rows};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let data = PathBuf::from(arguments.next().unwrap_or_else(|| "../shared/data".into()));
    let page = (arguments.next().as_deref() == Some("--page")).then(|| arguments.next()).flatten();
    if !data.join("c3o").is_dir() {
        eprintln!("accuracy: there is no data in {}; name its folder with DATA=FOLDER", data.display());
        return ExitCode::from(2);
    }
    match measure(&data, page.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("accuracy: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(data: &Path, page: Option<&str>) -> anyhow::Result<()> {
    let foreglow = foreglow_tests::foreglow()?;
    let protocols = protocols();
    let runs: Vec<(usize, usize)> = (0..protocols.len())
        .flat_map(|protocol| (0..protocols[protocol].parts.len()).map(move |part| (protocol, part)))
        .collect();
    let next = AtomicUsize::new(0);
    let parts: Mutex<Vec<Vec<Option<Part>>>> =
        Mutex::new(protocols.iter().map(|protocol| protocol.parts.iter().map(|_| None).collect()).collect());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = || -> anyhow::Result<()> {
            while let Some((protocol, part)) = runs.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
                let (start, arguments) = (Instant::now(), &protocols[protocol].parts[part]);
                let done = Part::evaluate(&foreglow, data, arguments)?;
                let Protocol { set, name, .. } = &protocols[protocol];
                eprintln!("{set}, {name}: {} in {:.0} s", arguments.join(" "), start.elapsed().as_secs_f64());
                parts.lock().map_err(|_| anyhow::anyhow!("another protocol failed"))?[protocol][part] = Some(done);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a protocol failed"))?)
    })?;
    let parts = parts.into_inner().map_err(|_| anyhow::anyhow!("a protocol failed"))?;
    let rows: Vec<Row> = protocols
        .iter()
        .zip(parts)
        .flat_map(|(protocol, parts)| rows(protocol, &parts.into_iter().flatten().collect::<Vec<_>>()))
        .collect();

    let file = workspace_dir().join("target/accuracy.json");
    let json = serde_json::to_string_pretty(&rows.iter().map(Row::json).collect::<Vec<_>>())?;
    std::fs::write(&file, json + "\n").with_context(|| format!("{} could not be written", file.display()))?;
    let section = page::section(&protocols, &rows);
    if let Some(page) = page {
        page::replace(&workspace_dir().join(page), &section)?;
    }
    std::io::stdout().write_all(section.as_bytes()).context("the tables could not be written to standard output")
}
