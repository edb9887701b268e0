//! Samples of another page, which opened or embeds the planner.

use std::time::Duration;

use foreglow_tests::{Browser, FileHost, example_shown};
use serde_json::json;
use thirtyfour::By;

use super::{click, runs, says, script};

#[tokio::test]
async fn another_page_hands_over_samples_by_message() -> anyhow::Result<()> {
    // Two hosts, because two ports are two origins.
    let (dashboard, planner) = (FileHost::start().await?, FileHost::start().await?);
    let browser = Browser::start().await?;
    browser.page.goto(&dashboard.url).await?;
    let samples = example_shown()?.lines.join("\n");
    let hand_over = "const [url, samples, done] = arguments; const planner = window.open(url); let pongs = 0;
        const ping = setInterval(() => planner.postMessage('PING', '*'), 50);
        window.addEventListener('message', (event) => {
          if (event.source !== planner || event.data !== 'PONG' || pongs++) return;
          clearInterval(ping);
          planner.postMessage({ foreglow: { samples, name: 'private.jsonl' } }, new URL(url).origin);
          done(event.origin);
        });";
    let origin = browser.page.execute_async(hand_over, vec![json!(planner.url), json!(samples)]).await?.json().clone();
    assert!(planner.url.starts_with(origin.as_str().unwrap_or("none")), "{origin}");
    let windows = browser.page.windows().await?;
    browser.page.switch_to_window(windows[1].clone()).await?;
    takes_the_offer_of(&browser, &dashboard).await?;
    browser.answered().await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &runs()?).await?;

    // A frame inside the page is neither its opener nor its parent, so it must not replace the
    // samples.
    let intruder = "const frame = document.createElement('iframe'); document.body.append(frame);
        frame.contentWindow.eval(`parent.postMessage({ foreglow: { samples: 'broken', name: 'intruder' } }, '*')`)";
    let _ = browser.page.execute(intruder, vec![]).await;
    script(&browser, "window.postMessage({ foreglow: { samples: 'broken', name: 'intruder' } }, '*')").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    says(&browser, "samples-count", &runs()?).await?;
    for shown in ["alert", "offer"] {
        let found = browser.page.find_all(By::Testid(shown)).await?;
        assert!(found.is_empty(), "an intruder's message is ignored: {shown}");
    }
    browser.close().await
}

/// The offer names the page that sends the samples, which are opened by a click.
async fn takes_the_offer_of(browser: &Browser, dashboard: &FileHost) -> anyhow::Result<()> {
    let from = dashboard.url.split('/').take(3).collect::<Vec<_>>().join("/");
    let question = browser.element("offer").await?.text().await?;
    assert!(question.starts_with(&format!("{from} sends the samples \"private.jsonl\"")), "{question}");
    click(browser, "offer-open").await?;
    browser.answered().await?;
    assert!(browser.page.find_all(By::Testid("offer")).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_page_that_embeds_the_planner_does_not_replace_its_samples_unasked() -> anyhow::Result<()> {
    // The policy of the planner's own page allows no frames.
    let page = axum::routing::get(async || axum::response::Html("<title>A dashboard</title>"));
    let dashboard = FileHost::with(axum::Router::new().route("/dashboard", page))?;
    let planner = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(format!("{}dashboard", dashboard.url)).await?;
    let samples = example_shown()?.lines.join("\n");
    let embed = "const [url, samples, done] = arguments; const frame = document.createElement('iframe'); let pongs = 0;
        frame.src = url; frame.width = 1200; frame.height = 800; document.body.append(frame);
        const ping = setInterval(() => frame.contentWindow.postMessage('PING', '*'), 50);
        window.addEventListener('message', (event) => {
          if (event.source !== frame.contentWindow || event.data !== 'PONG' || pongs++) return;
          clearInterval(ping);
          for (const name of ['private.jsonl', 'swapped.jsonl'])
            frame.contentWindow.postMessage({ foreglow: { samples, name } }, new URL(url).origin);
          done(event.origin);
        });";
    browser.page.execute_async(embed, vec![json!(planner.url), json!(samples)]).await?;
    browser.page.enter_frame(0).await?;
    browser.element("offer").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(browser.page.find(By::Css(".asked")).await.is_ok(), "no samples before the click");
    takes_the_offer_of(&browser, &dashboard).await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &runs()?).await?;
    browser.close().await
}
