//! The what-if over machine types.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser, example_shown};
use serde_json::{Value, json};
use thirtyfour::By;

use super::{TYPES, measured_on_all, open};

/// Changes a control of the what-if over machine types.
pub async fn pick(browser: &Browser, name: &str, value: &str) -> anyhow::Result<()> {
    let change = "const [name, value] = arguments; const control = document.querySelector(`[data-pick='${name}']`);
        control.value = value; control.dispatchEvent(new Event('change', { bubbles: true }))";
    browser.page.execute(change, vec![json!(name), json!(value)]).await?;
    Ok(())
}

/// Waits until the what-if over machine types shows the recommendation of `plan` with these
/// arguments.
async fn shows_the_plan(browser: &Browser, home: &Path, file: &str, args: &[&str]) -> anyhow::Result<()> {
    let args = [&["plan", file], args, &["--format", "json"]].concat();
    let answer = Answer::of(home, &args)?.json()?;
    let expected = &answer["recommended"];
    let expected = [expected["completion_time_secs"].to_string(), expected["cost"].to_string()];
    let is_same = async |page: &Browser| {
        let (time, cost) = (page.element("what-if-time").await?, page.element("what-if-cost").await?);
        let shown = [time.attr("data-secs").await?, cost.attr("data-cost").await?];
        Ok(shown == expected.clone().map(Some))
    };
    browser.wait_until(&format!("the command line's {expected:?} for {args:?}"), is_same).await
}

#[tokio::test]
async fn a_what_if_on_another_machine_type_shows_what_plan_says_of_it_alone() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let (_host, browser) = open(&file).await?;
    browser.element("what-if-name").await?;
    let batch = example_shown()?.lines.first().map(|line| serde_json::from_str::<Value>(line)).transpose()?;
    let batch = batch.context("the example has runs")?["workload"]["batch_size"].to_string();
    browser.set("what-if-executors", "2").await?;
    browser.set("what-if-cores", "1").await?;
    pick(&browser, "machine", "g4dn.xlarge").await?;
    let asked = ["--machines", "g4dn.xlarge", "--executors", "2", "--cores", "1", "--batch-size", &batch];
    shows_the_plan(&browser, home.path(), &file, &asked).await?;
    pick(&browser, "machine", "c5.4xlarge").await?;
    pick(&browser, "memory", "4096").await?;
    let asked = ["--machines", "c5.4xlarge", "--executors", "2", "--cores", "1", "--batch-size", &batch];
    shows_the_plan(&browser, home.path(), &file, &[&asked[..], &["--memory", "4096"]].concat()).await?;
    let is_kept =
        async |page: &Browser| Ok(page.page.current_url().await?.as_str().ends_with("&machine=c5.4xlarge&memory=4096"));
    browser.wait_until("the what-if in the address", is_kept).await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    shows_the_plan(&browser, home.path(), &file, &[&asked[..], &["--memory", "4096"]].concat()).await?;
    // More than the machine has.
    pick(&browser, "memory", "999999").await?;
    let is_refused = async |page: &Browser| Ok(page.text("what-if-name").await?.contains("memory"));
    browser.wait_until("why the configuration is not possible", is_refused).await?;
    browser.close().await
}

#[tokio::test]
async fn a_saved_scenario_restores_its_what_if_and_one_of_an_earlier_version_opens() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open(&measured_on_all(home.path())?).await?;
    browser.element("what-if-name").await?;
    let is_answered = async |page: &Browser| Ok(page.text("what-if-name").await?.contains("MiB each"));
    browser.wait_until("the usual what-if", is_answered).await?;
    let usual = browser.text("what-if-name").await?;
    pick(&browser, "machine", "g4dn.xlarge").await?;
    pick(&browser, "memory", "4096").await?;
    let shows = async |text: &'static [&'static str]| {
        let is_shown = async |page: &Browser| {
            let shown = page.text("what-if-name").await?;
            Ok(text.iter().all(|part| shown.contains(part)))
        };
        browser.wait_until(&format!("a what-if with {text:?}"), is_shown).await
    };
    shows(&["g4dn.xlarge", "4096 MiB"]).await?;
    browser.element("share").await?.click().await?;
    browser.set("saved-name", "On a GPU").await?;
    browser.element("saved-save").await?.click().await?;
    pick(&browser, "machine", "c5.4xlarge").await?;
    pick(&browser, "memory", "2048").await?;
    shows(&["c5.4xlarge", "2048 MiB"]).await?;
    browser.element("saved-open").await?.click().await?;
    shows(&["g4dn.xlarge", "4096 MiB"]).await?;
    // Earlier versions saved only the link.
    let cut = "const key = 'foreglow.scenarios.v1', saved = JSON.parse(localStorage[key]);
        for (const one of saved) one.fragment = one.fragment.split('&')[0];
        localStorage[key] = JSON.stringify(saved); return saved.length";
    assert_eq!(browser.page.execute(cut, vec![]).await?.json(), &json!(1));
    // The page writes the address after the answer.
    let is_kept = async |page: &Browser| {
        Ok(page.page.current_url().await?.as_str().ends_with("&machine=g4dn.xlarge&memory=4096"))
    };
    browser.wait_until("the opened what-if in the address", is_kept).await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    shows(&["g4dn.xlarge", "4096 MiB"]).await?;
    browser.element("share").await?.click().await?;
    browser.element("saved-open").await?.click().await?;
    let is_usual = async |page: &Browser| {
        let shown = page.text("what-if-name").await?;
        Ok(shown == usual)
    };
    browser.wait_until("the usual what-if", is_usual).await?;
    browser.close().await
}

#[tokio::test]
async fn a_what_if_on_a_machine_type_without_runs_says_what_plan_says() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let (_host, browser) = open(&file).await?;
    browser.element("what-if-name").await?;
    let plan = Answer::of(home.path(), &["plan", &file, "--machines", "m7i.2xlarge", "--format", "json"])?;
    assert_eq!(plan.code, Some(1), "{}", plan.stderr);
    let answer: Value = serde_json::from_str(&plan.stdout)?;
    let reason = answer["omitted"][0]["reason"].as_str().context("plan says why it has no answer")?;
    assert!(reason.contains("not measured"), "{reason}");
    pick(&browser, "machine", "m7i.2xlarge").await?;
    let says = async |page: &Browser| {
        let shown = page.text("what-if-name").await?;
        Ok(shown.contains("m7i.2xlarge") && shown.contains(reason))
    };
    browser.wait_until(reason, says).await?;
    let picked = browser.element("what-if-time").await?;
    assert_eq!(picked.attr("data-secs").await?, None, "no time is made up");
    let is_kept = async |page: &Browser| Ok(page.page.current_url().await?.as_str().ends_with("&machine=m7i.2xlarge"));
    browser.wait_until("the choice in the address", is_kept).await?;
    // The measured machine types are still compared, and can be picked again.
    assert_eq!(browser.page.find_all(By::Css("[data-testid=candidates] tr[data-machine]")).await?.len(), TYPES.len());
    pick(&browser, "machine", "c5.xlarge").await?;
    let has_time = async |page: &Browser| Ok(page.element("what-if-time").await?.attr("data-secs").await?.is_some());
    browser.wait_until("a time", has_time).await?;
    browser.close().await
}

#[tokio::test]
async fn batch_sizes_of_one_machine_type_are_compared_and_can_be_picked() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut text = String::new();
    for (batch, factor) in [(8, 1.0), (16, 0.8)] {
        for line in example_shown()?.lines {
            let mut sample: Value = serde_json::from_str(&line)?;
            sample["host"]["machine"] = json!("c5.xlarge");
            sample["workload"]["batch_size"] = json!(batch);
            let secs = sample["completion_time_secs"].as_f64().context("the example's runs completed")?;
            sample["completion_time_secs"] = json!(secs * factor);
            let id = sample["id"].as_str().context("a sample has an id")?.to_owned();
            sample["id"] = json!(format!("{}{}", &id[..id.len() - 1], batch % 7));
            text.push_str(&format!("{sample}\n"));
        }
    }
    let path = home.path().join("batches.jsonl");
    fs::write(&path, text)?;
    let file = path.display().to_string();
    let (_host, browser) = open(&file).await?;
    browser.element("what-if-name").await?;
    browser.set("what-if-executors", "1").await?;
    browser.set("what-if-cores", "2").await?;
    for batch in ["16", "8"] {
        pick(&browser, "batch", batch).await?;
        shows_the_plan(&browser, home.path(), &file, &["--executors", "1", "--cores", "2", "--batch-size", batch])
            .await?;
    }
    assert!(browser.text("candidates").await?.contains("batch size"));
    browser.close().await
}

/// Writes one run of the example's first job after another with two partition sizes.
fn measured_with_two_partition_sizes(folder: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for (size, factor) in [(8, 1.0), (16, 0.9)] {
        for line in example_shown()?.lines {
            let mut sample: Value = serde_json::from_str(&line)?;
            sample["configuration"]["partition_size"] = json!(size);
            let secs = sample["completion_time_secs"].as_f64().context("the example's runs completed")?;
            sample["completion_time_secs"] = json!(secs * factor);
            let id = sample["id"].as_str().context("a sample has an id")?.to_owned();
            sample["id"] = json!(format!("{}{}", &id[..id.len() - 1], size % 7));
            text.push_str(&format!("{sample}\n"));
        }
    }
    let path = folder.join("partitions.jsonl");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

#[tokio::test]
async fn measured_partition_sizes_can_be_picked_and_show_the_digits_of_plan() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_with_two_partition_sizes(home.path())?;
    let (_host, browser) = open(&file).await?;
    browser.element("what-if-name").await?;
    browser.set("what-if-executors", "1").await?;
    browser.set("what-if-cores", "2").await?;
    let mut times = Vec::new();
    for size in ["16", "8"] {
        pick(&browser, "partition", size).await?;
        let asked = ["--executors", "1", "--cores", "2", "--partition-size", size];
        shows_the_plan(&browser, home.path(), &file, &asked).await?;
        times.push(browser.secs("what-if-time").await?);
        let asked =
            ["predict", &file, "--executors", "1", "--cores", "2", "--partition-size", size, "--format", "json"];
        let predicted = Answer::of(home.path(), &asked)?.json()?;
        assert_eq!(predicted["completion_time_secs"].to_string(), times[times.len() - 1]);
    }
    assert_ne!(times[0], times[1], "the partition size changes the time");
    let selects = browser.page.find_all(By::Css("select[data-pick]")).await?;
    assert_eq!(selects.len(), 1, "what was measured with one value is not asked");
    let is_kept = async |page: &Browser| Ok(page.page.current_url().await?.as_str().ends_with("&partition=8"));
    browser.wait_until("the partition size in the address", is_kept).await?;
    browser.close().await
}
