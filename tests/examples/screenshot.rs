//! Takes a picture of the planner as a link shows it:
//! `cargo run --release --workspace --example screenshot -- LINK FILE.png`
//!
//! The page comes from a plain file host and a fresh browser, as a colleague who gets the link sees it.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use foreglow_tests::{Browser, FileHost};

const USAGE: &str = "give a share link and the PNG file to write";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let link = arguments.next().context(USAGE)?;
    let file = PathBuf::from(arguments.next().context(USAGE)?);
    let (_, fragment) = link.split_once('#').context("the link has no fragment; copy the whole link")?;

    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(format!("{}#{fragment}", host.url)).await?;
    browser.element("recommended-time").await?;
    // The last transition has come to rest.
    tokio::time::sleep(Duration::from_secs(1)).await;
    browser.page.screenshot(&file).await?;
    browser.close().await
}
