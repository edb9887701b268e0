//! The page with a collector that fails, is slow, refuses, or has the job in another size.

use std::time::Duration;

use anyhow::Context as _;
use foreglow_shared::{Job, ShortLink};
use foreglow_tests::{Browser, Fault, StandIn, example_jobs, example_shown};
use serde_json::{Value, json};

async fn open(jobs: Vec<Job>) -> anyhow::Result<(StandIn, Browser)> {
    let collector = StandIn::start(jobs).await?;
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    browser.answered().await?;
    Ok((collector, browser))
}

async fn script(browser: &Browser, code: &str) -> anyhow::Result<Value> {
    Ok(browser.page.execute(code, vec![]).await?.json().clone())
}

async fn says(browser: &Browser, test_id: &str, text: &str) -> anyhow::Result<()> {
    let what = format!("{test_id} with {text:?}");
    browser.wait_until(&what, async |page| Ok(page.text(test_id).await?.contains(text))).await
}

/// The title of the chosen job, and the name of the shown one.
async fn chosen(browser: &Browser) -> anyhow::Result<[String; 2]> {
    let code = "return [document.querySelector('[data-testid=choose-job]').selectedOptions[0].text,
        document.querySelector('.job h1').textContent]";
    Ok(serde_json::from_value(script(browser, code).await?)?)
}

/// The example's jobs. The last is never loaded for a comparison, because it is the only one of its
/// mode.
fn jobs() -> anyhow::Result<Vec<Job>> {
    let jobs = example_jobs()?;
    let is_training = |job: &Job| job.context.workload.mode.as_str() == "training";
    let training = jobs.iter().find(|job| is_training(job)).context("the example has training")?.clone();
    let inference = jobs.into_iter().filter(|job| !is_training(job));
    Ok(inference.take(2).chain([training]).collect())
}

/// Chooses the job with this number.
async fn choose(browser: &Browser, place: usize) -> anyhow::Result<()> {
    browser.set("choose-job", &place.to_string()).await
}

#[tokio::test]
async fn a_job_that_cannot_be_loaded_is_named_and_the_selector_shows_the_job_of_the_page() -> anyhow::Result<()> {
    let jobs = jobs()?;
    let last = jobs.len() - 1;
    let (title, path) = (jobs[last].context.title(), format!("jobs/{}", jobs[last].context.fingerprint()));
    let (collector, browser) = open(jobs).await?;
    let before = chosen(&browser).await?;
    collector.fail(move |asked, _| (asked == path).then_some(Fault::Status(403, None)));
    choose(&browser, last).await?;
    says(&browser, "alert", &format!("The runs of {title} cannot be loaded")).await?;
    says(&browser, "alert", "status 403").await?;
    assert_eq!(chosen(&browser).await?, before);
    browser.close().await
}

#[tokio::test]
async fn a_late_answer_does_not_replace_what_the_user_has_chosen_meanwhile() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = home.path().join("samples.jsonl");
    std::fs::write(&file, example_shown()?.lines.join("\n"))?;
    let jobs = jobs()?;
    let last = jobs.len() - 1;
    let path = format!("jobs/{}", jobs[last].context.fingerprint());
    let (collector, browser) = open(jobs).await?;
    let late = path.clone();
    collector.fail(move |asked, _| (asked == late).then_some(Fault::Late(Duration::from_secs(6))));
    choose(&browser, last).await?;
    browser.file_input().await?.send_keys(file.display().to_string()).await?;
    let is_open = async |page: &Browser| {
        let name = script(page, "return document.querySelector('.job h1').textContent").await?;
        let jobs = script(page, "return document.querySelectorAll('[data-testid=choose-job] option').length").await?;
        Ok(name == json!("resnet18 inference") && jobs != json!(0))
    };
    browser.wait_until("the file", is_open).await?;
    assert!(collector.requests().contains(&path), "{:?}", collector.requests());
    tokio::time::sleep(Duration::from_secs(8)).await;
    let name = script(&browser, "return document.querySelector('.job h1').textContent").await?;
    assert_eq!(name, json!("resnet18 inference"));
    browser.close().await
}

/// One job on several machine types.
fn on_machines(count: usize) -> anyhow::Result<Vec<Job>> {
    let job = example_shown()?.job;
    let on = |number: usize| {
        let mut job = job.clone();
        job.context.host.machine = Some(format!("type-{number}"));
        job
    };
    Ok((0..count).map(on).collect())
}

#[tokio::test]
async fn a_busy_collector_is_asked_again_until_every_machine_type_is_compared() -> anyhow::Result<()> {
    const TYPES: usize = 4;
    let collector = StandIn::start(on_machines(TYPES)?).await?;
    // After the first requests, every second request for a job fails.
    collector.fail(|path, earlier| {
        (path.starts_with("jobs/") && earlier > 3 && earlier % 2 == 0).then_some(Fault::Status(429, Some(1)))
    });
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    browser.answered().await?;
    let rows = "return document.querySelectorAll('[data-testid=candidates] tr[data-machine]').length";
    let has_all = async |page: &Browser| Ok(script(page, rows).await? == json!(TYPES));
    browser.wait_until("all machine types", has_all).await?;
    assert!(browser.page.find_all(thirtyfour::By::Testid("alert")).await?.is_empty());
    browser.close().await
}

#[tokio::test]
async fn jobs_that_cannot_be_loaded_for_a_comparison_are_counted() -> anyhow::Result<()> {
    let jobs = on_machines(4)?;
    let path = format!("jobs/{}", jobs[3].context.fingerprint());
    let collector = StandIn::start(jobs).await?;
    collector.fail(move |asked, _| (asked == path).then_some(Fault::Status(500, None)));
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    browser.answered().await?;
    says(&browser, "alert", "1 of 3 jobs could not be loaded").await?;
    browser.close().await
}

#[tokio::test]
async fn a_page_that_opens_beside_a_failing_collector_says_so_and_shows_its_samples_later() -> anyhow::Result<()> {
    let collector = StandIn::start(jobs()?).await?;
    collector.fail(|_, _| Some(Fault::Status(429, Some(2))));
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    says(&browser, "live", "status 429").await?;
    collector.fail(|_, _| None);
    browser.answered().await?;
    collector.fail(|_, _| Some(Fault::Status(403, None)));
    browser.page.goto("about:blank").await?;
    browser.page.goto(&collector.url).await?;
    says(&browser, "alert", "status 403").await?;
    browser.close().await
}

#[tokio::test]
async fn a_page_that_is_signed_out_says_so_and_stops_asking() -> anyhow::Result<()> {
    let collector = StandIn::start(jobs()?).await?;
    collector.fail(|path, _| (path == "events").then_some(Fault::Status(401, None)));
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    browser.answered().await?;
    collector.fail(|_, _| Some(Fault::Status(401, None)));
    says(&browser, "live", "sign in").await?;
    let asked = collector.requests().len();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(collector.requests().len(), asked, "{:?}", collector.requests());
    browser.close().await
}

#[tokio::test]
async fn a_refused_event_stream_is_asked_for_ever_less_often_and_nothing_is_fetched_twice() -> anyhow::Result<()> {
    let collector = StandIn::start(jobs()?).await?;
    collector.fail(|path, _| (path == "events").then_some(Fault::Status(429, Some(1))));
    let browser = Browser::start().await?;
    browser.page.goto(&collector.url).await?;
    browser.answered().await?;
    tokio::time::sleep(Duration::from_secs(16)).await;
    let requests = collector.requests();
    let count = |path: &str| requests.iter().filter(|asked| asked.starts_with(path)).count();
    assert!((2..=5).contains(&count("events")), "{requests:?}");
    let fetched: Vec<&String> = requests.iter().filter(|asked| asked.starts_with("jobs/")).collect();
    let once: std::collections::BTreeSet<&String> = fetched.iter().copied().collect();
    assert_eq!(fetched.len(), once.len(), "{requests:?}");
    browser.close().await
}

#[tokio::test]
async fn a_job_in_another_size_takes_new_runs_and_has_a_short_link_that_opens_in_that_size() -> anyhow::Result<()> {
    let jobs = on_machines(1)?;
    let (fingerprint, runs) = (jobs[0].context.fingerprint(), jobs[0].observations.len());
    let images = jobs[0].context.workload.images * 10;
    let (collector, browser) = open(jobs.clone()).await?;
    browser.set("images", &images.to_string()).await?;
    let extent = async |page: &Browser| script(page, "return document.querySelector('.extent').textContent").await;
    // The stream ends and is refused, so the page asks for new samples.
    let mut more = jobs;
    let run = more[0].observations[0];
    more[0].observations.push(run);
    collector.set_jobs(more);
    collector.fail(|path, _| (path == "events").then_some(Fault::Status(503, None)));
    collector.end_events();
    let has_more = async |page: &Browser| {
        let text = extent(page).await?.to_string();
        Ok(text.contains(&format!("from {} runs", runs + 1)))
    };
    browser.wait_until("one more run", has_more).await?;
    assert_eq!(browser.element("images").await?.value().await?, Some(images.to_string()));
    let options = "return document.querySelectorAll('[data-testid=choose-job] option').length";
    assert_eq!(script(&browser, options).await?, json!(0), "one job, without a selector");

    browser.element("share").await?.click().await?;
    browser.element("share-short").await?.click().await?;
    let is_short = async |page: &Browser| {
        Ok(page.element("share-link").await?.value().await?.is_some_and(|link| link.contains("#q1.")))
    };
    browser.wait_until("the short form", is_short).await?;
    let link = browser.element("share-link").await?.value().await?.unwrap_or_default();
    let (_, fragment) = link.split_once('#').context("a link has a fragment")?;
    let short = fragment.split('&').next().unwrap_or_default();
    assert_eq!(ShortLink::from_fragment(short)?.job, fingerprint);
    let secs = browser.secs("recommended-time").await?;
    browser.close().await?;

    let reader = Browser::start().await?;
    reader.page.goto(&link).await?;
    reader.wait_until("the same answer", async |page| Ok(page.secs("recommended-time").await? == secs)).await?;
    assert_eq!(reader.element("images").await?.value().await?, Some(images.to_string()));
    reader.close().await
}
