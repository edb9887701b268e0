//! Takes the screenshots of the planner for docs/, without samples and on its first example: `make
//! screenshots`.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost};

/// Name, colour scheme, width and height.
const PICTURES: [(&str, &str, u32, u32); 3] =
    [("light", "light", 1440, 900), ("dark", "dark", 1440, 900), ("phone", "light", 360, 800)];
/// The views; each screenshot shows the whole view.
const VIEWS: [&str; 5] = ["compare", "explore", "trust", "runs", "export"];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).context("give the folder to write to")?);
    fs::create_dir_all(&folder)?;
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.answered_without_samples().await?;
    for (name, scheme, width, height) in PICTURES {
        browser.prefer(scheme).await?;
        browser.screen(width, height).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        browser.page.screenshot(&folder.join(format!("planner-first-{name}.png"))).await?;
    }
    browser.element("example-study").await?.click().await?;
    browser.answered().await?;
    for (name, scheme, width, height) in PICTURES {
        browser.prefer(scheme).await?;
        browser.screen(width, height).await?;
        // Waits for transitions to end.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for view in VIEWS {
            browser.show(view).await?;
            // Waits for the charts, which are drawn after their data and their width are known.
            tokio::time::sleep(Duration::from_secs(1)).await;
            browser.page.screenshot(&folder.join(format!("planner-{view}-{name}.png"))).await?;
        }
    }
    browser.close().await
}
