//! A browser signs in to a protected collector with a token.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser, Program, example, workspace_dir};
use serde_json::json;
use thirtyfour::prelude::*;

use crate::{START, pick, says};

fn samples() -> PathBuf {
    workspace_dir().join("runner/tests/fixtures/samples.jsonl")
}

#[tokio::test]
async fn a_browser_signs_in_once_opens_a_link_and_follows_the_collector() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = samples().to_str().context("the path is text")?.to_owned();
    let made = Answer::of(home.path(), &["tokens", "create", "anna", "--role", "read,write"])?;
    let token = made.stdout.trim().to_owned();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let collector = Program::start(home.path(), &["serve", "--listen", "127.0.0.1:0"])?;
    let line = collector.wait_for_line("http://127.0.0.1:", START)?;
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).context("it has an address")?;
    let sent = Answer::of(home.path(), &["upload", &file, "--to", url, "--token", &token])?;
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let link = Answer::of(home.path(), &["link", &file, "--model", "lenet5", "--planner", url])?.stdout;
    let link = link.lines().find(|line| line.contains("#v1")).context("a link was made")?.trim().to_owned();

    let browser = Browser::start().await?;
    browser.page.goto(&link).await?;
    let field = browser.page.find(By::Css("input[name=token]")).await?;
    field.send_keys("foreglow_wrong").await?;
    browser.page.find(By::Css("button")).await?.click().await?;
    let refused = browser.page.query(By::Css("[role=alert]")).first().await?.text().await?;
    assert!(refused.contains("unknown, revoked or expired"), "{refused}");
    browser.page.find(By::Css("input[name=token]")).await?.send_keys(&token).await?;
    browser.page.find(By::Css("button")).await?.click().await?;

    browser.answered().await?;
    let opened = browser.page.current_url().await?;
    assert!(opened.fragment().is_some_and(|link| link.starts_with("v1")), "the link survives: {opened}");
    let cookies = browser.page.execute("return document.cookie", vec![]).await?;
    assert_eq!(cookies.json(), &json!(""), "scripts cannot read the token");
    let script = "const done = arguments[0]; const events = new EventSource('api/v1/events');
        events.addEventListener('sample', (event) => { events.close(); done(JSON.parse(event.data).id); });
        events.onerror = () => done('refused');
        events.onopen = () => document.body.dataset.isOpen = '1';";
    let lines = std::fs::read_to_string(&file)?;
    let first = lines.lines().next().context("there are samples")?;
    let id = first.split("\"id\":\"").nth(1).and_then(|rest| rest.get(..36)).context("it has an id")?;
    let other = format!("{}ff", &id[..34]);
    let new = home.path().join("new.jsonl");
    std::fs::write(&new, first.replace(id, &other))?;
    let arguments = ["upload", new.to_str().context("the path is text")?, "--to", url, "--token", &token];
    let listening = browser.page.execute_async(script, vec![]);
    let sending = async {
        // The stream has only samples that arrive after its opening.
        tokio::time::sleep(Duration::from_secs(2)).await;
        Answer::of(home.path(), &arguments)
    };
    let (heard, sent) = tokio::join!(listening, sending);
    let sent = sent?;
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert_eq!(heard?.json(), &json!(other));

    // A later visit needs no sign-in.
    browser.page.goto(url).await?;
    assert!(browser.page.find_all(By::Css("input[name=token]")).await?.is_empty());
    browser.page.goto(&format!("{url}sign-out")).await?;
    browser.page.find(By::Css("button")).await?.click().await?;
    browser.page.query(By::Css("input[name=token]")).first().await?;
    browser.close().await
}

#[tokio::test]
async fn without_a_sign_in_the_page_says_what_it_cannot_show_and_opens_files() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let collector = Program::start(
        home.path(),
        &["serve", "--listen", "127.0.0.1:0", "--token", "7b1f0c2e9d5a4836b0e1f2a3c4d5e6f7"],
    )?;
    let line = collector.wait_for_line("http://127.0.0.1:", START)?;
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).context("it has an address")?;
    let browser = Browser::start().await?;
    browser.page.goto(url).await?;
    browser.page.find(By::LinkText("Open the planner without the collector’s samples")).await?.click().await?;
    says(&browser, "alert", "open its address without index.html").await?;
    pick(&browser, &example()).await?;
    browser.answered().await?;
    browser.close().await
}
