//! The answer and its charts in a real browser: contents, input, saved files and speed.

mod answer;
mod drawings;
mod speed;

use foreglow_shared::View;
use foreglow_tests::{Browser, FileHost};
use serde_json::Value;

/// The views with charts, and the test ids of their charts.
pub const PICTURES: [(&str, &[&str]); 3] = [
    ("compare", &["time-by-money"]),
    (
        "explore",
        &["heat-map", "chart", "speed-up", "sampling-rate-chart", "effect-executors", "effect-cores", "effect-rate"],
    ),
    ("trust", &["predicted-by-measured", "residuals"]),
];

/// Whether all charts are drawn: a chart is drawn once its width and its data are known.
const ARE_DRAWN: &str = "return arguments[0].every(id => document.querySelector(`[data-testid=${id}] .axis`) !== null)";

/// Shows a view and waits until its charts are drawn.
pub async fn show(browser: &Browser, view: &str, pictures: &[&str]) -> anyhow::Result<()> {
    browser.show(view).await?;
    let pictures = Value::from(pictures.to_vec());
    let are_drawn =
        async |page: &Browser| Ok(evaluate(page, ARE_DRAWN, vec![pictures.clone()]).await? == Value::Bool(true));
    browser.wait_until("every chart of the view", are_drawn).await
}

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
