//! Several files, cut files, many repeats and large logs.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use foreglow_tests::{example, example_shown};
use serde_json::{Value, json};

use super::{click, open_page, pick, runs, says, script};

/// Time within which a log of 100 MB is read, seconds. Machines that run other tests take longer
/// than the 5 s of an idle one (docs/performance.md).
const MOST_SECS: u64 = 60;

#[tokio::test]
async fn several_picked_files_are_one_import_and_a_cut_last_line_is_noted() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let text = fs::read_to_string(example())?;
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = (home.path().join("first.jsonl"), home.path().join("second.jsonl"));
    fs::write(&first, format!("{}\n{}", lines[..50].join("\n"), &lines[50][..40]))?;
    fs::write(&second, format!("{}\n", lines[50..].join("\n")))?;
    let (_host, browser) = open_page().await?;
    let both = format!("{}\n{}", first.display(), second.display());
    browser.file_input().await?.send_keys(both).await?;
    browser.answered().await?;
    says(&browser, "import-notes", "first.jsonl: line 51 was cut short, as by a crash, and is left out.").await?;
    let runs = runs()?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &runs).await?;
    let focused = script(&browser, "return document.activeElement.tagName").await?;
    assert!(["H1", "INPUT"].contains(&focused.as_str().unwrap_or_default()), "{focused}");
    browser.close().await
}

#[tokio::test]
async fn repeats_of_few_settings_are_fitted_however_many_there_are() -> anyhow::Result<()> {
    let shown = example_shown()?;
    let mut lines = String::new();
    for number in 0..7_776_u64 {
        let mut run: Value = serde_json::from_str(&shown.lines[number as usize % shown.lines.len()])?;
        run["id"] = json!(format!("01a20246-0000-7000-8000-{number:012x}"));
        writeln!(lines, "{run}")?;
    }
    let home = tempfile::tempdir()?;
    let file = home.path().join("many.jsonl");
    fs::write(&file, lines)?;
    let (_host, browser) = open_page().await?;
    pick(&browser, &file).await?;
    browser.answered().await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", "7776 runs").await?;
    browser.close().await
}

#[tokio::test]
async fn a_training_log_of_100_megabytes_is_read_without_blocking_the_page() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = home.path().join("train.log");
    let mut log = String::new();
    for step in 1_u64.. {
        let (hours, minutes, secs) = (step / 36_000 % 24, step / 600 % 60, step / 10 % 60);
        writeln!(
            log,
            "[2026-11-{:02} {hours:02}:{minutes:02}:{secs:02},{}00] step {step}/9999999 loss 1.5",
            1 + step / 864_000,
            step % 10
        )?;
        if log.len() > 100_000_000 {
            break;
        }
    }
    fs::write(&file, log)?;
    let (_host, browser) = open_page().await?;
    // The longest pause between two frames while the file is read, milliseconds.
    let watch = "window.longest = 0; let last = performance.now();
        (function frame() { const now = performance.now(); window.longest = Math.max(window.longest, now - last); last = now;
          requestAnimationFrame(frame) })()";
    script(&browser, watch).await?;
    let start = Instant::now();
    pick(&browser, &file).await?;
    browser.element("lacking").await?;
    let elapsed = start.elapsed();
    assert!(elapsed.as_secs() < MOST_SECS, "{elapsed:?}");
    let longest = script(&browser, "return window.longest").await?;
    assert!(longest.as_f64().is_some_and(|millis| millis < 1_000.0), "{longest} ms without a frame");
    click(&browser, "lacking-use").await?;
    browser.close().await
}
