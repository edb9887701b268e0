//! The page without samples: an answer without a click, with the digits of `foreglow plan`.

use std::fs;

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser, FileHost, workspace_dir};
use serde_json::{Value, json};
use thirtyfour::By;

/// The machine types of the list with their times and costs, all digits.
const ROWS: &str = "return [...document.querySelectorAll('[data-testid=candidates] tr[data-machine]')].map(row =>
    [row.dataset.machine, ...['secs', 'cost'].map(name =>
        JSON.parse(row.querySelector(`[data-${name}]`).dataset[name]))]).sort()";

async fn open(fragment: &str) -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(format!("{}{fragment}", host.url)).await?;
    Ok((host, browser))
}

async fn script(browser: &Browser, code: &str) -> anyhow::Result<Value> {
    Ok(browser.page.execute(code, vec![]).await?.json().clone())
}

/// Waits until the recommendation has a time, and lists all machine types.
async fn answered(browser: &Browser) -> anyhow::Result<()> {
    browser.answered_without_samples().await?;
    let more = "document.querySelector('[data-testid=more-candidates]')?.click()";
    script(browser, more).await?;
    Ok(())
}

async fn says(browser: &Browser, test_id: &str, text: &str) -> anyhow::Result<()> {
    let what = format!("{test_id} with {text:?}");
    browser.wait_until(&what, async |page| Ok(page.text(test_id).await?.contains(text))).await
}

/// Splits a command of the page into words, without its program.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|word| word.push(letter)),
        }
    }
    words.split_off(1)
}

/// Compares the list with the answer of the command that the page shows.
async fn has_digits_of_command_line(browser: &Browser, limits: &[&str]) -> anyhow::Result<()> {
    let command = script(browser, "return document.querySelector('.same [data-testid=command]').textContent").await?;
    let words = words(command.as_str().context("the page shows its command")?);
    let args: Vec<&str> = words.iter().map(String::as_str).chain(limits.iter().copied()).collect();
    let home = tempfile::tempdir()?;
    let answer = Answer::of(home.path(), &[&args[..], &["--format", "json"]].concat())?.json()?;
    let figures = |row: &Value| ["machine", "completion_time_secs", "cost"].map(|name| row[name].clone());
    let mut expected: Vec<[Value; 3]> =
        answer["best_per_machine"].as_array().context("the answer has machine types")?.iter().map(figures).collect();
    expected.sort_by_key(|row| row[0].to_string());
    anyhow::ensure!(expected.len() > 10, "{expected:?}");
    let is_same = async |browser: &Browser| Ok(script(browser, ROWS).await? == json!(expected));
    browser.wait_until(&format!("the digits of {args:?}: {expected:?}"), is_same).await?;
    let recommended = &answer["recommended"];
    if !recommended.is_null() {
        assert_eq!(browser.secs("recommended-time").await?, recommended["completion_time_secs"].to_string());
        let name = browser.text("recommended-configuration").await?;
        assert_eq!(json!(name), recommended["machine"]);
    }
    Ok(())
}

#[tokio::test]
async fn the_page_opens_with_an_answer_and_the_digits_of_the_command_line() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    says(&browser, "basis", "Nothing was measured here").await?;
    has_digits_of_command_line(&browser, &["--deadline", "24h"]).await?;
    let from = "return [...document.querySelectorAll('tr[data-machine]')].every(row =>
        row.querySelector('.from').textContent === 'public measurements')";
    assert_eq!(script(&browser, from).await?, json!(true));
    let measured = script(&browser, "return document.querySelector('main').textContent").await?.to_string();
    assert!(!measured.contains("Measured:") && measured.contains("GiB"), "{measured}");

    // One number of the user's own, and the kind of the software.
    browser.set("known-gpu", "RTX 3090").await?;
    browser.set("known-speed", "812").await?;
    says(&browser, "basis", "1 number of your own").await?;
    has_digits_of_command_line(&browser, &["--deadline", "24h"]).await?;
    browser.set("software", "plain").await?;
    browser.set("deadline", "3h").await?;
    browser.set("budget", "400").await?;
    has_digits_of_command_line(&browser, &["--deadline", "3h", "--budget", "400"]).await?;

    // Another user opens the address.
    let address = browser.address().await?;
    let recommended = browser.secs("recommended-time").await?;
    let reader = Browser::start().await?;
    reader.page.goto(&address).await?;
    answered(&reader).await?;
    assert_eq!(reader.secs("recommended-time").await?, recommended);
    reader.close().await?;
    let errors = browser.console_errors().await?;
    assert!(errors.iter().all(|error| error.contains("api/v1/jobs")), "{errors:?}");
    browser.close().await
}

#[tokio::test]
async fn other_networks_and_number_formats_have_the_digits_of_the_command_line() -> anyhow::Result<()> {
    for question in [
        "#network=vit_base_patch16_224&mode=inference&images=10000000&epochs=1&dtype=fp16",
        "#network=resnet18&mode=training&images=5000000&epochs=3&dtype=fp32&image-px=128&batch-size=64",
        "#network=lenet5&mode=inference&images=1000000000&epochs=1&dtype=amp&known=8xA100%3D90000/s",
    ] {
        let (_host, browser) = open(question).await?;
        answered(&browser).await?;
        has_digits_of_command_line(&browser, &[]).await?;
        browser.close().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_dropped_onnx_file_is_the_network_and_its_link_needs_no_file() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    let path = workspace_dir().join("shared/onnx/tests/exports/mobilenet_v3.onnx");
    browser.file_input().await?.send_keys(path.display().to_string()).await?;
    says(&browser, "basis", "mobilenet_v3.onnx itself is in none of them").await?;
    let address = browser.address().await?;
    assert!(address.contains("network=mobilenet_v3.onnx&") && address.contains("&costs="), "{address}");
    let recommended = browser.secs("recommended-time").await?;
    let home = tempfile::tempdir()?;
    let side = script(&browser, "return /costs=(\\d+):/.exec(location.hash)[1]").await?;
    let args = ["plan", &path.display().to_string(), "--mode", "training", "--images", "1281167", "--epochs", "90"];
    let options = ["--image-px", side.as_str().context("a side")?, "--deadline", "24h", "--format", "json"];
    let answer = Answer::of(home.path(), &[&args[..], &options].concat())?.json()?;
    assert_eq!(recommended, answer["recommended"]["completion_time_secs"].to_string());
    let reader = Browser::start().await?;
    reader.page.goto(&address).await?;
    answered(&reader).await?;
    assert_eq!(reader.secs("recommended-time").await?, recommended);
    reader.close().await?;
    browser.close().await
}

#[tokio::test]
async fn fields_order_and_filter_are_in_the_address_and_back_returns_to_the_last_question() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    let first = browser.address().await?;
    assert!(
        first.ends_with("#network=resnet50&mode=training&images=1281167&epochs=90&dtype=amp&deadline=24h"),
        "{first}"
    );
    let value = async |test_id: &str| anyhow::Ok(browser.element(test_id).await?.value().await?.unwrap_or_default());
    browser.set("images", "2,000,000").await?;
    browser.set("mode", "inference").await?;
    let second = browser.address().await?;
    assert!(second.contains("mode=inference&images=2000000&epochs=1"), "{second}");
    browser.page.back().await?;
    browser.wait_until("the question before", async |_| Ok(value("mode").await? == "training")).await?;
    assert_eq!(value("images").await?, "2000000");

    script(
        &browser,
        "[...document.querySelectorAll('button.sort')].find(b => b.textContent.startsWith('Time')).click()",
    )
    .await?;
    browser.set("candidates-filter", "aws").await?;
    let listed = browser.address().await?;
    assert!(listed.ends_with("&sort=time&filter=aws"), "{listed}");
    browser.page.refresh().await?;
    answered(&browser).await?;
    let rows = "return [...document.querySelectorAll('tr[data-machine]')].map(row =>
        [Number(row.querySelector('[data-secs]').dataset.secs), row.textContent.includes('aws')])";
    let rows = script(&browser, rows).await?;
    let rows = rows.as_array().context("the list has rows")?;
    assert!(rows.len() > 3 && rows.iter().all(|row| row[1] == json!(true)), "{rows:?}");
    assert!(rows.windows(2).all(|pair| pair[0][0].as_f64() <= pair[1][0].as_f64()), "{rows:?}");
    browser.close().await
}

#[tokio::test]
async fn unusable_questions_are_explained_with_similar_names() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    browser.set("network", "resnet5").await?;
    says(&browser, "no-recommendation", "similar names: ").await?;
    assert!(browser.text("no-recommendation").await?.contains("resnet50"));
    browser.set("network", "resnet50").await?;
    answered(&browser).await?;
    browser.set("precision", "int8").await?;
    says(&browser, "no-recommendation", "Int8 is for inference").await?;
    browser.set("precision", "amp").await?;
    answered(&browser).await?;
    browser.set("known-gpu", "RTX 3O90").await?;
    browser.set("known-speed", "812").await?;
    says(&browser, "no-recommendation", "RTX 3090").await?;
    browser.set("known-gpu", "RTX 3090").await?;
    browser.set("known-speed", "60000").await?;
    let note = "return document.getElementById('known-note').textContent";
    let is_said = async |page: &Browser| Ok(script(page, note).await?.to_string().contains("times faster than public"));
    browser.wait_until("the contradiction", is_said).await?;
    browser.set("known-gpu", "").await?;
    browser.set("known-speed", "").await?;
    browser.set("precision", "fp32").await?;
    browser.set("batch-size", "512").await?;
    says(&browser, "machines", "g4dn.xlarge: a batch of 512 needs about").await?;
    browser.set("deadline", "1s").await?;
    says(&browser, "no-recommendation", "Extend the deadline.").await?;
    // An invalid address leaves the usual question.
    browser.page.execute("location.hash = '#network=resnet50&images=0'", vec![]).await?;
    says(&browser, "alert", "images").await?;
    browser.close().await
}

#[tokio::test]
async fn samples_take_the_place_of_the_answer_and_back_returns_to_it() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    let recommended = browser.secs("recommended-time").await?;
    browser.element("example").await?.click().await?;
    browser.element("tab-compare").await?;
    browser.answered().await?;
    assert!(browser.address().await?.contains("#v1."));
    browser.page.back().await?;
    browser.element("network").await?;
    let is_same = async |page: &Browser| Ok(page.secs("recommended-time").await? == recommended);
    browser.wait_until("the answer without samples", is_same).await?;
    browser.page.forward().await?;
    browser.element("tab-export").await?;
    browser.show("export").await?;
    browser.element("without-samples").await?.click().await?;
    browser.wait_until("the answer without samples", is_same).await?;
    browser.close().await
}

#[tokio::test]
async fn each_row_explains_its_figures_and_names_the_command_that_measures_it() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    answered(&browser).await?;
    let row = browser.page.find(By::Css("tr[data-machine='g6.xlarge'] [data-testid=why]")).await?;
    row.click().await?;
    says(&browser, "why-sheet", "Next step").await?;
    let text = browser.text("why-sheet").await?;
    for part in [
        "g6.xlarge",
        "images/s",
        "public measurements of the runs of others",
        "Sources",
        "github.com/",
        "aws us-east-1",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let command = script(&browser, "return document.querySelector('dialog [data-testid=command]').textContent").await?;
    assert!(
        command.as_str().is_some_and(|text| text.starts_with("foreglow collect --machine g6.xlarge --gpus 1 ")),
        "{command}"
    );
    browser.close().await
}

#[tokio::test]
async fn the_page_without_samples_fits_a_phone_and_says_when_it_has_no_tables() -> anyhow::Result<()> {
    let (_host, browser) = open("").await?;
    for width in [320, 390, 600, 761, 768, 981, 1024, 1271, 1280, 3840] {
        browser.screen(width, 800).await?;
        answered(&browser).await?;
        let wide = "return [document.documentElement, ...document.querySelectorAll('.candidates .scroll')]
            .map((box) => box.scrollWidth - box.clientWidth)";
        assert_eq!(script(&browser, wide).await?, json!([0, 0]), "at {width} pixels");
    }
    for width in [360, 400] {
        browser.screen(width, 800).await?;
        let beside = "const left = (cells) => [...cells].map((cell) => cell.getBoundingClientRect().left);
            return [left(document.querySelectorAll('.candidates thead th.number')),
                left(document.querySelectorAll('.candidates tr[data-machine] td.number')).slice(0, 3)]";
        let beside = script(&browser, beside).await?;
        assert_eq!(beside[0], beside[1], "the headers are above their columns at {width} pixels");
    }
    browser.close().await?;
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.devtools("Network.enable", json!({})).await?;
    browser.devtools("Network.setBlockedURLs", json!({ "urls": ["*public-measurements.bin"] })).await?;
    browser.page.goto(&host.url).await?;
    says(&browser, "no-recommendation", "The public measurements cannot be loaded").await?;
    // The rest of the page works.
    browser.element("example").await?.click().await?;
    browser.answered().await?;
    browser.close().await
}

#[test]
fn the_tables_of_the_page_are_small() -> anyhow::Result<()> {
    let size = |name: &str| anyhow::Ok(fs::metadata(foreglow_tests::planner_dir().join(name))?.len());
    assert!(size("public-measurements.bin")? + size("public-networks.bin")? <= 150_000);
    Ok(())
}
