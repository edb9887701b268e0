//! Accuracy and time: the example opens with its question, and the page shows the digits of the
//! command line.

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser};
use serde_json::{Value, json};

use super::{address_changes_from, click, open_page, script};

const FILE: &str = "web/assets/mnist.jsonl";

fn plan(home: &std::path::Path, least: &str) -> anyhow::Result<Answer> {
    let file = foreglow_tests::workspace_dir().join(FILE).display().to_string();
    Answer::of(home, &["plan", &file, "--deadline", "2m", "--min-accuracy", least, "--format", "json"])
}

/// The accuracies and times of the table, in its order.
async fn table(browser: &Browser) -> anyhow::Result<Vec<(String, String)>> {
    let cells = "return [...document.querySelectorAll('[data-testid=accuracy-table] tbody tr')].map((row) => \
                 [row.querySelector('[data-accuracy]').dataset.accuracy, row.querySelector('[data-secs]').dataset.secs])";
    Ok(serde_json::from_value(script(browser, cells).await?)?)
}

#[tokio::test]
async fn the_accuracy_example_opens_with_its_question_and_the_digits_of_the_command_line() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let answer = plan(home.path(), "97%")?.json()?;
    let best = &answer["recommended"];
    assert_eq!(best["executors"], 2, "one executor is too slow, four are too inaccurate: {best}");

    let (_host, browser) = open_page().await?;
    click(&browser, "example-accuracy").await?;
    browser.answered().await?;
    assert_eq!(browser.element("deadline").await?.value().await?.as_deref(), Some("2m"));
    assert_eq!(browser.element("min-accuracy").await?.value().await?.as_deref(), Some("97"));
    let secs = best["completion_time_secs"].to_string();
    let same = async |page: &Browser| Ok(page.secs("recommended-time").await? == secs);
    browser.wait_until("the command line's time", same).await?;
    let trained = answer["trained"].as_array().context("the answer lists the ways to train")?;
    let digits = |row: &Value| (row["accuracy"]["mean"].to_string(), row["completion_time_secs"].to_string());
    assert_eq!(table(&browser).await?, trained.iter().map(digits).collect::<Vec<_>>());
    let points = script(&browser, "return document.querySelectorAll('[data-testid=accuracy-picture] circle').length");
    assert_eq!(points.await?, json!(trained.len()));

    assert_eq!(plan(home.path(), "99%")?.code, Some(1));
    let before = browser.address().await?;
    browser.set("min-accuracy", "99").await?;
    let refused = async |page: &Browser| Ok(page.text("no-recommendation").await?.contains("accuracy"));
    browser.wait_until("no recommendation", refused).await?;
    address_changes_from(&browser, &before).await?;
    browser.page.refresh().await?;
    assert_eq!(browser.element("min-accuracy").await?.value().await?.as_deref(), Some("99"), "the link keeps it");
    browser.close().await
}

#[tokio::test]
async fn a_job_without_accuracies_has_no_minimum() -> anyhow::Result<()> {
    let (_host, browser) = open_page().await?;
    click(&browser, "example-study").await?;
    browser.answered().await?;
    let fields = script(&browser, "return document.querySelectorAll('[data-testid=min-accuracy]').length").await?;
    assert_eq!(fields, json!(0));
    browser.close().await
}
