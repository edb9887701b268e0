//! The answer and its charts in a real browser: contents, input, saved files and speed.

mod answer;
mod drawings;
mod speed;

use foreglow_shared::View;
use foreglow_tests::{Browser, FileHost};
use serde_json::Value;

/// Test ids of all charts.
pub const PICTURES: [&str; 10] = [
    "time-by-money",
    "heat-map",
    "chart",
    "speed-up",
    "sampling-rate-chart",
    "effect-executors",
    "effect-cores",
    "effect-rate",
    "predicted-by-measured",
    "residuals",
];

/// Opens the page with a link to a view.
pub async fn open(view: &View) -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(view.to_link(&host.url)).await?;
    browser.answered().await?;
    Ok((host, browser))
}

/// Runs a script on the page and returns its result.
pub async fn evaluate(browser: &Browser, script: &str, arguments: Vec<Value>) -> anyhow::Result<Value> {
    Ok(browser.page.execute(script, arguments).await?.json().clone())
}
