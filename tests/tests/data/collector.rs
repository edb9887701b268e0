//! The page on a collector with many samples of several jobs.

use std::{fs, path::Path};

use anyhow::Context as _;
use foreglow_tests::collector::{Collector, Connection, sample};
use foreglow_tests::{Answer, Browser};
use serde_json::Value;

use crate::{says, script};

/// Jobs and settings of [`sample`], and the collector's limit on equal runs.
const JOBS: u64 = 20;
const SETTINGS: u64 = 40;
const MOST_EQUAL: u64 = 16;

/// The samples of the job with this number, in the order of their arrival.
fn samples_of(job: u64, repeats: u64) -> Vec<String> {
    (0..SETTINGS * repeats).map(|run| sample(JOBS * run + job)).collect()
}

/// The times that `foreglow predict` prints for all of these samples, with all digits.
fn predicted(home: &Path, samples: &[String]) -> anyhow::Result<Vec<(u32, u32, String)>> {
    let file = home.join("samples.jsonl");
    fs::write(&file, samples.concat())?;
    let secs = |executors: u32, cores: u32| {
        let (file, [e, c]) = (file.display().to_string(), [executors, cores].map(|count| count.to_string()));
        let answer = Answer::of(home, &["predict", &file, "--executors", &e, "--cores", &c, "--format", "json"])?;
        let secs = find(&answer.json()?, "completion_time_secs").context("a prediction has a time")?.to_string();
        Ok((executors, cores, secs))
    };
    [(1, 1), (4, 2), (3, 1)].map(|(executors, cores)| secs(executors, cores)).into_iter().collect()
}

fn find(value: &Value, name: &str) -> Option<Value> {
    let Value::Object(object) = value else {
        return value.as_array()?.iter().find_map(|inner| find(inner, name));
    };
    object.get(name).cloned().or_else(|| object.values().find_map(|inner| find(inner, name)))
}

async fn shows(browser: &Browser, predicted: Vec<(u32, u32, String)>) -> anyhow::Result<()> {
    browser.answered().await?;
    for (executors, cores, secs) in predicted {
        browser.set("what-if-executors", &executors.to_string()).await?;
        browser.set("what-if-cores", &cores.to_string()).await?;
        let what = format!("the prediction {secs} for {executors} × {cores}");
        browser.wait_until(&what, async |page| Ok(page.secs("what-if-time").await? == secs)).await?;
    }
    Ok(())
}

/// The names of the API's answers fetched by the page.
async fn fetched(browser: &Browser) -> anyhow::Result<Vec<String>> {
    let names = "return performance.getEntriesByType('resource').map((entry) => entry.name)
        .filter((name) => name.includes('/api/v1/')).map((name) => name.split('/api/v1/')[1].split('?')[0])";
    Ok(serde_json::from_value(script(browser, names).await?)?)
}

#[tokio::test]
async fn each_of_many_jobs_has_the_command_lines_digits_and_only_its_own_runs_are_fetched() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let collector = Collector::start(home.path().join("store.sqlite"), "")?;
    let mut connection = Connection::open(&collector.address)?;
    let mut post = |samples: &[String]| -> anyhow::Result<()> {
        let (status, answer) = connection.send("POST", "/api/v1/samples", &samples.concat())?;
        anyhow::ensure!(status == 200, "{status} {answer}");
        Ok(())
    };
    // The last job has more equal runs than the fit uses; the newest samples are of the first job.
    for job in (1..JOBS - 1).rev() {
        post(&samples_of(job, 4))?;
    }
    let large = samples_of(JOBS - 1, MOST_EQUAL + 4);
    post(&large)?;
    let newest = samples_of(0, 4);
    post(&newest)?;

    let browser = Browser::start().await?;
    browser.page.goto(format!("http://{}/", collector.address)).await?;
    shows(&browser, predicted(home.path(), &newest)?).await?;
    let of_page = fetched(&browser).await?;
    assert_eq!(of_page.iter().filter(|name| name.starts_with("jobs/")).count(), 1, "{of_page:?}");
    assert!(!of_page.contains(&"samples".to_owned()), "{of_page:?}");
    let options =
        script(&browser, "return document.querySelectorAll('[data-testid=choose-job] option').length").await?;
    assert_eq!(options, JOBS);

    // The list has the jobs in the order of their newest samples.
    browser.set("choose-job", "1").await?;
    let kept = &large[(SETTINGS * 4) as usize..];
    let all = large.len();
    let extent = "return document.querySelector('.extent').textContent";
    let what = "the number of all runs of the job";
    let has_all =
        async |page: &Browser| Ok(script(page, extent).await?.to_string().contains(&format!("of {all} runs")));
    browser.wait_until(what, has_all).await?;
    shows(&browser, predicted(home.path(), kept)?).await?;

    // A new sample makes the page fetch its job again.
    let mut more = newest;
    more.push(sample(JOBS * SETTINGS * 4));
    post(&more[more.len() - 1..])?;
    says(&browser, "live", "1 sample has arrived").await?;
    browser.set("choose-job", "0").await?;
    shows(&browser, predicted(home.path(), &more)?).await?;
    let of_page = fetched(&browser).await?;
    assert_eq!(of_page.iter().filter(|name| name.starts_with("jobs/")).count(), 3, "{of_page:?}");
    browser.close().await
}

#[tokio::test]
async fn a_job_that_is_followed_elsewhere_is_shown_while_it_runs() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let collector = Collector::start(home.path().join("store.sqlite"), "")?;
    let log = home.path().join("train.log");
    let line = |step: u32| format!("2026-11-28 18:{step:02}:00,000 INFO step {step}/100 loss 1.5\n");
    fs::write(&log, (1..=20).map(line).collect::<String>())?;
    let (url, log) = (format!("http://{}", collector.address), log.display().to_string());

    let browser = Browser::start().await?;
    browser.page.goto(format!("{url}/")).await?;
    for (options, expected) in [
        (vec![], "train.log on "),
        (vec!["--name", "<b>nightly</b>", "--deadline", "10h"], "<b>nightly</b>: 20 of 100 steps, 20 %; left 1"),
    ] {
        let command = [&["watch", &log, "--once", "--upload", &url], options.as_slice()].concat();
        let answer = Answer::of(home.path(), &command)?;
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
        let shown = async |page: &Browser| Ok(page.text("running").await.is_ok_and(|text| text.contains(expected)));
        browser.wait_until(expected, shown).await?;
    }
    assert_eq!(browser.text("running").await?.lines().count(), 3, "a title and two jobs");

    browser.close().await?;

    // A collector that is away takes nothing from the follower.
    drop(collector);
    let answer = Answer::of(home.path(), &["watch", &log, "--once", "--upload", &url])?;
    assert_eq!(answer.code, Some(0));
    assert!(answer.stderr.starts_with("warning: the collector is not told the state of the job"), "{}", answer.stderr);
    Ok(())
}
