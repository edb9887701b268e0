//! The page on samples of GPUs, in a real browser.

use std::path::Path;

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost, GpuRig};

use crate::answers::samples;
use crate::{SMALL, on};

async fn open_file(browser: &Browser, path: &Path) -> anyhow::Result<()> {
    Ok(browser.file_input().await?.send_keys(path.display().to_string()).await?)
}

/// Checks that the console has no errors. Ignores the missing collector on a static file host,
/// which the page queries for samples.
pub async fn no_errors(browser: &Browser) -> anyhow::Result<()> {
    let mut errors = browser.console_errors().await?;
    errors.retain(|error| !error.contains("/api/v1/jobs"));
    anyhow::ensure!(errors.is_empty(), "{errors:?}");
    Ok(())
}

/// Saves a picture of the page in the folder `FOREGLOW_PICTURES`, for inspection.
async fn picture(browser: &Browser, name: &str) -> anyhow::Result<()> {
    if let Some(folder) = std::env::var_os("FOREGLOW_PICTURES") {
        browser.page.screenshot(&Path::new(&folder).join(name)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn without_a_price_for_the_gpu_the_page_shows_times_and_says_that_the_cost_is_unknown() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = samples(home.path(), "Rig GPU")?;
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    open_file(&browser, Path::new(&file)).await?;
    browser.answered().await?;
    assert!(browser.secs("recommended-time").await?.parse::<f64>()? > 0.0);
    assert_eq!(browser.text("recommended-cost").await?, "unknown");
    let why = browser.text("recommended-prices").await?;
    assert!(why.contains("Rig GPU") && why.contains("price") && !why.ends_with(".."), "{why}");
    picture(&browser, "gpu-unpriced.png").await?;
    no_errors(&browser).await?;
    browser.close().await
}

#[tokio::test]
async fn a_gpu_with_a_published_price_has_a_cost_on_the_page() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = samples(home.path(), "NVIDIA A10G")?;
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    open_file(&browser, Path::new(&file)).await?;
    browser.answered().await?;
    let cost = browser.text("recommended-cost").await?;
    assert!(cost.starts_with("USD "), "{cost}");
    let prices = browser.text("recommended-prices").await?;
    assert!(prices.contains("A10G"), "{prices}");
    browser.close().await
}

/// The samples and the monitor's file are those of one collection on the rig.
#[tokio::test]
async fn the_page_draws_what_the_runs_of_a_collection_on_a_gpu_used() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "NVIDIA A10G")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let (samples, monitor) = (home.path().join("samples.jsonl"), home.path().join("monitor.jsonl"));
    // Enough images for more than a second on the software adapter.
    let job = SMALL.replace("--images 64", "--images 4000");
    let line = format!(
        "collect {job} --executors 1 --repeat 2 --timeout 5s --output {} --monitor {}",
        samples.display(),
        monitor.display()
    );
    let answer = on(&rig, home.path(), &line);
    assert!(samples.exists() && monitor.exists(), "{}", answer.stderr);

    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    open_file(&browser, &monitor).await?;
    let panel = browser.element("monitor").await?;
    let text = panel.text().await?;
    for title in ["Resource use", "Images per second", "Processors in use", "Memory of the executors, MiB"] {
        assert!(text.contains(title), "{title} in {text}");
    }
    assert!(text.contains("1 executor × 1 core, 100 % of the images"), "{text}");
    let marks = panel.find_all(thirtyfour::By::Css("svg .line path, svg .line circle")).await?;
    assert_eq!(marks.len(), 3, "each quantity that the rig reports has a line");
    // The samples of the same runs are shown in addition.
    open_file(&browser, &samples).await?;
    browser.element("what-if-time").await.context("the samples are opened")?;
    assert!(browser.element("monitor").await?.is_displayed().await?);
    picture(&browser, "gpu-monitor.png").await?;
    no_errors(&browser).await?;
    browser.close().await
}
