//! The planner in a real browser, on samples that the test measures.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use foreglow_tests::{Answer, Browser, FileHost, Program};
use serde_json::Value;
use thirtyfour::By;

/// A small job that takes seconds to measure.
const JOB: [&str; 6] = ["--model", "lenet5", "--images", "2000", "--partition-size", "10"];
const START: Duration = Duration::from_secs(60);

/// Measures the small job on a grid without one configuration, like the demo, and returns the path
/// of the samples.
fn measure(home: &Path) -> anyhow::Result<String> {
    let file = home.join("samples.jsonl").display().to_string();
    for (executors, cores) in [("1,2", "1"), ("1", "2")] {
        let grid = ["--executors", executors, "--cores", cores, "--sampling-rate", "0.01,0.1,1", "--output", &file];
        let args: Vec<&str> = ["collect"].into_iter().chain(JOB).chain(grid).collect();
        let answer = Answer::of(home, &args)?;
        anyhow::ensure!(answer.code == Some(0), "{}", answer.stderr);
    }
    Ok(file)
}

/// Starts a collector on a free port with the samples of a file, and returns it with its URL.
fn serve(home: &Path, file: &str) -> anyhow::Result<(Program, String)> {
    let collector = Program::start(home, &["serve", "--listen", "127.0.0.1:0"])?;
    let line = collector.wait_for_line("http://127.0.0.1:", START)?;
    let start = line.find("http://").context("the line holds the address")?;
    let url = line[start..].split_whitespace().next().unwrap_or_default().to_owned();
    let answer = Answer::of(home, &["upload", file, "--to", &url])?;
    anyhow::ensure!(answer.code == Some(0), "{}", answer.stderr);
    Ok((collector, url))
}

/// The time that `foreglow predict` prints for a configuration, with all digits.
fn predicted_secs(home: &Path, file: &str, executors: u32, cores: u32) -> anyhow::Result<String> {
    let (executors, cores) = (executors.to_string(), cores.to_string());
    let args = ["predict", file, "--executors", &executors, "--cores", &cores, "--format", "json"];
    let answer = Answer::of(home, &args)?.json()?;
    Ok(find(&answer, "completion_time_secs").context("a prediction has a time")?.to_string())
}

/// Finds the first value of this name, depth first.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(name).or_else(|| object.values().find_map(|inner| find(inner, name))),
        Value::Array(array) => array.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

/// Sets the what-if and waits until the page shows `secs` for it.
async fn look_at(browser: &Browser, executors: u32, cores: u32, secs: &str) -> anyhow::Result<()> {
    browser.set("what-if-executors", &executors.to_string()).await?;
    browser.set("what-if-cores", &cores.to_string()).await?;
    let what = format!("the prediction {secs} for {executors} × {cores}");
    browser.wait_until(&what, async |page| Ok(page.secs("what-if-time").await? == secs)).await
}

async fn alert(browser: &Browser, text: &str) -> anyhow::Result<()> {
    let what = format!("a message with {text:?}");
    browser.wait_until(&what, async |page| Ok(page.text("alert").await?.contains(text))).await
}

async fn open_file(browser: &Browser, path: &Path) -> anyhow::Result<()> {
    let input = browser.file_input().await?;
    Ok(input.send_keys(path.display().to_string()).await?)
}

/// Opens the page from a static file host, with the samples of a file.
async fn open_page_with(file: &str) -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    open_file(&browser, Path::new(file)).await?;
    Ok((host, browser))
}

/// Waits until the address bar holds a link, and returns it.
async fn link_in_address_bar(browser: &Browser) -> anyhow::Result<String> {
    let has_link = async |browser: &Browser| Ok(browser.page.current_url().await?.as_str().contains("#v1."));
    browser.wait_until("a link in the address bar", has_link).await?;
    browser.address().await
}

#[tokio::test]
async fn page_command_line_and_link_show_the_same_prediction_to_the_last_digit() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measure(home.path())?;
    let (collector, url) = serve(home.path(), &file)?;

    let browser = Browser::start().await?;
    browser.page.goto(&url).await?;
    browser.answered().await?;
    for (executors, cores) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        let secs = predicted_secs(home.path(), &file, executors, cores)?;
        look_at(&browser, executors, cores, &secs).await?;
    }
    browser.show("explore").await?;
    let points = browser.page.find_all(By::Css("[data-testid=chart] .run")).await?;
    assert!(!points.is_empty(), "the chart shows measured points");
    browser.show("trust").await?;
    let has_scenarios = async |page: &Browser| Ok(page.text("scenario-table").await?.contains("4-2"));
    browser.wait_until("the published scenarios", has_scenarios).await?;
    // The collector's whole jobs are counted as on the command line.
    let checked = Answer::of(home.path(), &["samples", "check", &file])?.stdout;
    let all = checked.lines().find(|line| line.contains(": median error ")).context("there are whole jobs")?.to_owned();
    let has_whole_jobs = async |page: &Browser| Ok(page.text("whole-jobs").await?.contains(&all));
    browser.wait_until("the whole jobs", has_whole_jobs).await?;
    let recommended = browser.text("recommended-configuration").await?;
    let (time, cost) = (browser.text("what-if-time").await?, browser.text("what-if-cost").await?);

    browser.element("share").await?.click().await?;
    let link = browser.element("share-link").await?.value().await?.context("the field holds the link")?;
    let errors = browser.console_errors().await?;
    assert!(errors.is_empty(), "{errors:?}");
    // Checks that the console reports errors at all.
    browser.page.execute("console.error('heard')", vec![]).await?;
    assert_eq!(browser.console_errors().await?.len(), 1);
    browser.close().await?;
    drop(collector);

    // Another user with another browser and no collector opens the link from a static file host.
    let host = FileHost::start().await?;
    let (_, fragment) = link.split_once('#').context("a link has a fragment")?;
    let reader = Browser::start().await?;
    reader.page.goto(format!("{}#{fragment}", host.url)).await?;
    let secs = predicted_secs(home.path(), &file, 2, 2)?;
    reader.wait_until("the shared prediction", async |page| Ok(page.secs("what-if-time").await? == secs)).await?;
    assert_eq!(reader.text("what-if-time").await?, time);
    assert_eq!(reader.text("what-if-cost").await?, cost);
    assert_eq!(reader.text("recommended-configuration").await?, recommended);

    // The command line opens the same link.
    let opened = Answer::of(home.path(), &["link", "--open", &link, "--format", "json"])?.json()?;
    assert!(opened.to_string().contains(&secs), "{secs} in {opened}");
    reader.close().await
}

#[tokio::test]
async fn the_address_bar_holds_the_state_and_a_reload_loses_nothing() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measure(home.path())?;
    let (_host, browser) = open_page_with(&file).await?;

    let secs = predicted_secs(home.path(), &file, 2, 1)?;
    look_at(&browser, 2, 1, &secs).await?;
    browser.set("deadline", "1h").await?;
    link_in_address_bar(&browser).await?;
    let value = async |test_id: &str| anyhow::Ok(browser.element(test_id).await?.value().await?.unwrap_or_default());
    let deadline = value("deadline").await?;
    browser.show("trust").await?;
    // A reload has the runs of the file without its samples, so that it cannot count anew.
    let has_whole_jobs = async |page: &Browser| Ok(page.text("whole-jobs").await?.contains("median error"));
    browser.wait_until("the whole jobs", has_whole_jobs).await?;
    let whole_jobs = browser.text("whole-jobs").await?;
    browser.page.refresh().await?;
    browser.wait_until("the whole jobs", has_whole_jobs).await?;
    assert_eq!(browser.text("whole-jobs").await?, whole_jobs);
    browser.show("compare").await?;
    browser.wait_until("the same prediction", async |page| Ok(page.secs("what-if-time").await? == secs)).await?;
    assert_eq!(value("what-if-executors").await?, "2");
    assert_eq!(value("what-if-cores").await?, "1");
    assert_eq!(value("deadline").await?, deadline);
    assert!(deadline.contains('1'), "{deadline}");
    browser.close().await
}

#[tokio::test]
async fn invalid_input_shows_a_message_and_leaves_the_page_unchanged() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measure(home.path())?;
    let (_host, browser) = open_page_with(&file).await?;
    let secs = predicted_secs(home.path(), &file, 1, 2)?;
    look_at(&browser, 1, 2, &secs).await?;

    let broken = home.path().join("broken.jsonl");
    let first = fs::read_to_string(&file)?.lines().next().context("there are samples")?.to_owned();
    fs::write(&broken, format!("{first}\n{{\"schema\":1}}\n"))?;
    open_file(&browser, &broken).await?;
    alert(&browser, "line 2").await?;
    assert_eq!(browser.secs("what-if-time").await?, secs);

    let binary = home.path().join("image.jpg");
    fs::write(&binary, [0xff, 0xd8, 0xff, 0xe0, 0x00])?;
    open_file(&browser, &binary).await?;
    alert(&browser, "a JPEG image").await?;
    assert_eq!(browser.secs("what-if-time").await?, secs);

    // A truncated link in the address bar of the open page.
    let link = link_in_address_bar(&browser).await?;
    let cut = &link[link.find('#').context("the address bar holds a link")?..link.len() - 20];
    browser.page.execute("location.hash = arguments[0]", vec![Value::from(cut)]).await?;
    alert(&browser, "damaged").await?;
    assert_eq!(browser.secs("what-if-time").await?, secs);
    browser.page.execute("location.hash = '#v9.AAAA'", vec![]).await?;
    alert(&browser, "newer").await?;
    assert_eq!(browser.secs("what-if-time").await?, secs);

    browser.set("deadline", "0.001s").await?;
    assert!(browser.text("no-recommendation").await?.contains("fastest"), "it names the fastest instead");
    browser.set("deadline", "").await?;
    browser.set("budget", "0.000000001").await?;
    browser
        .wait_until("the cheapest", async |page| Ok(page.text("no-recommendation").await?.contains("cheapest")))
        .await?;
    browser.close().await
}

#[tokio::test]
async fn comparing_all_learners_gives_the_command_lines_results_and_can_be_cancelled() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measure(home.path())?;
    let (_host, browser) = open_page_with(&file).await?;
    browser.show("trust").await?;
    browser.element("compare").await?.click().await?;
    browser.element("compare-progress").await?;
    browser.element("compare-cancel").await?.click().await?;
    browser.element("compare").await?.click().await?;
    browser.wait_until("the comparison", async |page| Ok(!page.text("compared").await?.is_empty())).await?;

    let answer = Answer::of(home.path(), &["evaluate", &file, "--format", "json"])?.json()?;
    let scenarios = answer["scenarios"].as_array().context("the answer has scenarios")?;
    assert_eq!(scenarios.len(), 7);
    for row in scenarios {
        let (name, percent) = (row["scenario"].as_str().unwrap_or_default(), &row["accuracy_percent"]);
        let cell = browser.page.find(By::Css(format!("[data-scenario='{name}'] .accuracy"))).await?;
        assert_eq!(cell.attr("data-percent").await?, percent.as_f64().map(|percent| percent.to_string()), "{name}");
    }
    browser.close().await
}
