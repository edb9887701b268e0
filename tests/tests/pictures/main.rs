//! The answer and its pictures in a real browser: what they show, what they answer to, what they save.

mod answer;
mod drawings;
mod speed;

use foreglow_shared::View;
use foreglow_tests::{Browser, FileHost};
use serde_json::Value;

/// Every picture, by the name of its place.
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

/// The page as a link shows it.
pub async fn open(view: &View) -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(view.to_link(&host.url)).await?;
    browser.answered().await?;
    Ok((host, browser))
}

/// What a script on the page returns.
pub async fn evaluate(browser: &Browser, script: &str, arguments: Vec<Value>) -> anyhow::Result<Value> {
    Ok(browser.page.execute(script, arguments).await?.json().clone())
}
