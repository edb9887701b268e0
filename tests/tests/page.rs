//! The first walk through the planner: help, focus, forced colours, pins, columns, printed report.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::{Router, routing::get};
use foreglow_tests::{Browser, FileHost};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

async fn open() -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.answered_without_samples().await?;
    Ok((host, browser))
}

async fn script(browser: &Browser, text: &str) -> anyhow::Result<Value> {
    Ok(browser.page.execute(text, vec![]).await?.json().clone())
}

async fn click(browser: &Browser, css: &str) -> anyhow::Result<()> {
    is(browser, css, &format!("document.querySelector({css:?})")).await?;
    script(browser, &format!("document.querySelector({css:?}).click()")).await?;
    Ok(())
}

async fn is(browser: &Browser, what: &str, text: &str) -> anyhow::Result<()> {
    let holds = async |page: &Browser| Ok(script(page, &format!("return !!({text})")).await? == json!(true));
    browser.wait_until(what, holds).await
}

#[tokio::test]
async fn a_phone_has_the_help_the_keyboard_a_short_way_and_an_opened_example_the_focus() -> anyhow::Result<()> {
    let (_host, browser) = open().await?;
    browser.screen(390, 844).await?;
    let help = browser.element("keys-button").await?;
    assert!(help.is_displayed().await?, "the help on a phone");
    help.click().await?;
    let words = browser.text("keys").await?;
    assert!(words.contains("executor") && words.contains("Pareto front"), "{words}");
    script(&browser, "document.querySelector('dialog.keys').close()").await?;

    script(&browser, "document.querySelector('.skip').focus()").await?;
    let skip = browser.page.query(By::Css(".skip")).first().await?;
    assert!(skip.rect().await?.height > 10.0, "the skip link is visible while it has the focus");
    let before = browser.address().await?;
    skip.send_keys(Key::Enter).await?;
    is(&browser, "the focus on the content", "document.activeElement.tagName === 'MAIN'").await?;
    assert_eq!(browser.address().await?, before);
    let footer = script(&browser, "return document.querySelector('footer').textContent").await?.to_string();
    assert!(footer.contains("ocumentation") && footer.contains("nstallation"), "{footer}");

    click(&browser, "[data-testid=example]").await?;
    browser.answered().await?;
    is(&browser, "the focus on the job", "document.activeElement.matches('.job h1')").await?;
    click(&browser, "[data-testid=share]").await?;
    browser.element("qr-code").await.context("the link of the example as a QR code")?;
    browser.close().await
}

#[tokio::test]
async fn forced_colours_keep_the_charts_and_show_what_is_selected() -> anyhow::Result<()> {
    let (_host, browser) = open().await?;
    click(&browser, "[data-testid=example]").await?;
    browser.answered().await?;
    let features = json!({ "features": [{ "name": "forced-colors", "value": "active" }] });
    browser.devtools("Emulation.setEmulatedMedia", features).await?;
    is(&browser, "forced colours", "matchMedia('(forced-colors: active)').matches").await?;
    let kept = "const style = (css) => getComputedStyle(document.querySelector(css));
        return [style('.drawing').forcedColorAdjust, style('.legend').forcedColorAdjust,
          style('.slider input[type=range]').forcedColorAdjust, style('.tabs [aria-selected=true]').outlineStyle]";
    assert_eq!(script(&browser, kept).await?, json!(["none", "none", "none", "solid"]));
    browser.close().await
}

#[tokio::test]
async fn every_dot_and_every_machine_type_can_be_pinned() -> anyhow::Result<()> {
    let (_host, browser) = open().await?;
    click(&browser, "[data-testid=candidates] [data-testid=pin-this]").await?;
    browser.element("compare-pinned").await?;
    browser.address().await?;
    browser.page.refresh().await?;
    browser.element("compare-pinned").await.context("the address keeps the pin of a machine type")?;
    click(&browser, "[data-testid=example]").await?;
    browser.answered().await?;
    assert!(browser.page.find_all(By::Testid("compare-pinned")).await?.is_empty(), "another job has other pins");
    browser.element("time-by-money").await?.send_keys(Key::Home).await?;
    // The dot stays selected until the chart loses the focus.
    script(&browser, "document.querySelector('[data-testid=time-by-money-readout] [data-testid=pin-this]').click()")
        .await?;
    browser.element("compare-pinned").await?;
    let ticks =
        script(&browser, "return document.querySelectorAll('[data-testid=time-by-money] .axis.x text').length").await?;
    assert!(ticks.as_u64() >= Some(4), "three times and the axis' name: {ticks}");
    browser.close().await
}

#[tokio::test]
async fn the_columns_of_all_lists_are_whole_from_320_to_1920_pixels() -> anyhow::Result<()> {
    let (_host, browser) = open().await?;
    let cut = "return [...document.querySelectorAll('.view .scroll, .views .scroll')]
        .filter((box) => box.clientWidth > 0 && box.scrollWidth > box.clientWidth)
        .map((box) => [box.getAttribute('aria-labelledby'), box.scrollWidth, box.clientWidth])";
    let mut found = Vec::new();
    for example in ["", "example", "example-study"] {
        if !example.is_empty() {
            browser.screen(1280, 800).await?;
            browser.page.goto("about:blank").await?;
            browser.page.goto(&_host.url).await?;
            click(&browser, &format!("[data-testid={example}]")).await?;
            browser.answered().await?;
            browser.set("deadline", "5h").await?;
            click(&browser, ".candidates [data-testid=pin-this]").await?;
        }
        for width in
            [320, 360, 390, 480, 560, 561, 640, 700, 768, 860, 980, 1001, 1024, 1152, 1280, 1366, 1440, 1600, 1920]
        {
            browser.screen(width, 900).await?;
            let wide = script(&browser, cut).await?;
            if wide != json!([]) {
                found.push(format!("{example} at {width}: {wide}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    browser.close().await
}

#[tokio::test]
async fn the_printed_report_has_the_chart_every_configuration_the_date_and_the_link() -> anyhow::Result<()> {
    let (_host, browser) = open().await?;
    click(&browser, "[data-testid=example-study]").await?;
    browser.answered().await?;
    // This listener runs after that of the page, and sees what is printed.
    let watch = "addEventListener('beforeprint', () => { window.printed = [
          document.querySelectorAll('[data-testid=candidates] tbody tr').length,
          document.querySelector('[data-testid=printed]')?.textContent ?? '',
          document.querySelector('[data-testid=printed] a')?.href ?? ''] })";
    script(&browser, watch).await?;
    let media = |media: &str| json!({ "media": media });
    browser.devtools("Emulation.setEmulatedMedia", media("print")).await?;
    let shown =
        "return ['[data-testid=time-by-money] svg', '[data-testid=candidates] tbody tr:last-child'].map((css) =>
        document.querySelector(css).checkVisibility())";
    assert_eq!(script(&browser, shown).await?, json!([true, true]));
    browser.devtools("Emulation.setEmulatedMedia", media("")).await?;
    let pdf =
        browser.devtools("Page.printToPDF", json!({ "preferCSSPageSize": true, "printBackground": true })).await?;
    let pdf = pdf["data"].as_str().context("the answer has a PDF")?;
    assert!(pdf.starts_with("JVBERi"), "a PDF in base64");
    let printed = script(&browser, "return window.printed").await?;
    assert_eq!(printed[0], json!(24), "every configuration: {printed}");
    let text = printed[1].as_str().unwrap_or_default();
    assert!(text.starts_with("Printed on 20"), "{text}");
    let link = browser.address().await?;
    assert_eq!(printed[2], json!(link));
    browser.close().await
}

#[tokio::test]
async fn a_worker_that_does_not_start_is_reported_within_half_a_minute() -> anyhow::Result<()> {
    let silent = || async { ([("content-type", "text/javascript")], "// It never answers.") };
    let routes = ["/fit-worker.js", "/reader-worker.js"];
    let routes = routes.into_iter().fold(Router::new(), |router, path| router.route(path, get(silent)));
    let host = FileHost::with(routes)?;
    let browser = Browser::start().await?;
    let start = Instant::now();
    browser.page.goto(&host.url).await?;
    click(&browser, "[data-testid=example]").await?;
    let says = browser.text("no-recommendation").await?;
    assert!(says.contains("has not started within 20 s"), "{says}");
    let alert = browser.text("alert").await?;
    assert!(alert.contains("example cannot be loaded"), "{alert}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    browser.close().await
}
