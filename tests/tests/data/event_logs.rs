//! Event logs of an application that are dropped on the page.

use std::fs;
use std::path::PathBuf;

use foreglow_tests::{Answer, Browser, workspace_dir};

use super::{open_page, says, script};

/// Writes the log of one night: of an application without labels, whose tasks read this many bytes
/// each.
fn night(folder: &tempfile::TempDir, id: &str, bytes: u32) -> anyhow::Result<PathBuf> {
    let log = fs::read_to_string(workspace_dir().join("shared/spark-log/tests/event-logs/3.5-measured"))?;
    let log = log.replace("spark.foreglow.", "spark.other.").replace("foreglow measured", "count");
    let log = log.replace("foreglow warm-up", "count").replace("\"Bytes Read\":0", &format!("\"Bytes Read\":{bytes}"));
    let start = log.find("\"App ID\":\"").map_or(0, |place| place + 10);
    let end = start + log[start..].find('"').unwrap_or_default();
    let path = folder.path().join(id);
    fs::write(&path, format!("{}{id}{}", &log[..start], &log[end..]))?;
    Ok(path)
}

#[tokio::test]
async fn dropped_event_logs_have_the_answer_of_the_command_line_and_so_has_their_link() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let logs = [("app-1", 1000), ("app-2", 1100), ("app-3", 1500)];
    let logs = logs.map(|(id, bytes)| night(&home, id, bytes)).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let paths: Vec<String> = logs.iter().map(|log| log.display().to_string()).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let asked = ["--deadline", "60s", "--format", "json"];
    let plan = Answer::of(home.path(), &[&["plan"], &paths[..], &asked].concat())?.json()?;
    let secs = plan["recommended"]["completion_time_secs"].to_string();
    let candidates = plan["candidates"].as_array().map_or(0, Vec::len);
    assert_eq!((&plan["measured"][0]["basis"], candidates), (&"simulated".into(), 4));

    let (_host, browser) = open_page().await?;
    browser.file_input().await?.send_keys(paths.join("\n")).await?;
    browser.answered().await?;
    says(&browser, "candidates-says", "All of 4 configurations").await?;
    browser.set("deadline", "60s").await?;
    let is_answered = async |page: &Browser| Ok(page.secs("recommended-time").await? == secs);
    browser.wait_until("the recommendation of the command line", is_answered).await?;

    browser.show("runs").await?;
    let rows = script(&browser, "return document.querySelectorAll('[data-testid=log-use] tbody tr').length").await?;
    let drawings = script(&browser, "return document.querySelectorAll('[data-testid=log-stages] rect').length").await?;
    assert!(rows == 3 && drawings.as_u64() >= Some(6), "{rows} {drawings}");

    // A link holds the times of the logs.
    let link = browser.address().await?;
    browser.close().await?;
    let other = Browser::start().await?;
    other.page.goto(&link).await?;
    other.answered().await?;
    assert_eq!(other.secs("recommended-time").await?, secs);
    let basis = script(&other, "return document.body.textContent.includes('simulation of event logs')").await?;
    assert_eq!(basis, true);
    other.close().await
}
