//! Training runs that are dropped on the page.

use std::fs;

use foreglow_tests::{Answer, Browser, workspace_dir};
use serde_json::json;

use super::networks::drop_file;
use super::{click, open_page, says, script};

#[tokio::test]
async fn a_dropped_training_run_is_asked_for_what_it_lacks_and_has_the_answer_of_the_command_line() -> anyhow::Result<()>
{
    let files = workspace_dir().join("shared/import/tests/training");
    let home = tempfile::tempdir()?;
    let file = files.join("tensorboardx.tfevents").display().to_string();
    let samples = home.path().join("samples.jsonl").display().to_string();
    let told = ["--model", "bert", "--steps", "120", "--accelerator", "NVIDIA A10G", "--gpus", "1"];
    Answer::of(home.path(), &[&["import", &file, "--output", &samples], &told[..]].concat())?;
    let plan = Answer::of(home.path(), &["plan", &samples, "--format", "json"])?.json()?;

    let (_host, browser) = open_page().await?;
    drop_file(&browser, "run.tfevents", &fs::read(&file)?).await?;
    says(&browser, "lacking", "The run in run.tfevents").await?;
    let needed =
        "return [...document.querySelectorAll('[data-testid=lacking] :required')].map((field) => field.dataset.testid)";
    assert_eq!(script(&browser, needed).await?, json!(["label-steps"]));
    for (label, value) in [("model", "bert"), ("steps", "120"), ("gpus", "1")] {
        browser.set(&format!("label-{label}"), value).await?;
    }
    click(&browser, "lacking-use").await?;
    let is_asked = async |browser: &Browser| Ok(script(browser, needed).await? == json!(["label-accelerator"]));
    browser.wait_until("the name of the GPU is needed", is_asked).await?;
    browser.set("label-accelerator", "NVIDIA A10G").await?;
    click(&browser, "lacking-use").await?;
    browser.answered().await?;
    let secs = plan["recommended"]["completion_time_secs"].to_string();
    assert_eq!(browser.secs("recommended-time").await?, secs);
    assert_eq!(
        script(&browser, "return document.querySelector('label[for=images]').textContent").await?,
        json!("Steps")
    );
    browser.close().await
}

#[tokio::test]
async fn samples_of_an_own_program_have_the_answer_of_the_command_line_in_its_unit() -> anyhow::Result<()> {
    let file = workspace_dir().join("runner/tests/fixtures/program.jsonl");
    let home = tempfile::tempdir()?;
    let plan = Answer::of(home.path(), &["plan", &file.display().to_string(), "--format", "json"])?.json()?;

    let (_host, browser) = open_page().await?;
    drop_file(&browser, "program.jsonl", &fs::read(&file)?).await?;
    browser.answered().await?;
    assert_eq!(browser.secs("recommended-time").await?, plan["recommended"]["completion_time_secs"].to_string());
    let unit = "return document.querySelector('label[for=images]').textContent";
    assert_eq!(script(&browser, unit).await?, json!("Steps"));
    browser.close().await
}
