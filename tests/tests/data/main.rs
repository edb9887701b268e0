//! Samples in the planner: loading, listing, excluding and exporting them, in a real browser with a
//! real collector.

mod accuracy;
mod addresses;
mod collector;
mod event_logs;
mod files;
mod hand_over;
mod networks;
mod random_questions;
mod sign_in;
mod training_runs;

use std::{fs, io::Write as _, path::Path, time::Duration};

use anyhow::Context as _;
use foreglow_shared::{Observation, Sample, format_duration, group_by_context, read_samples, write_csv};
use foreglow_tests::{
    Answer, Browser, FileHost, Program, STUDY_IMAGES, example, example_jobs, example_shown, study_lines,
};
use serde_json::{Value, json};

const START: Duration = Duration::from_secs(60);

/// The run count that the page shows for the example's first job.
fn runs() -> anyhow::Result<String> {
    Ok(format!("{} runs", example_shown()?.samples.len()))
}

pub(crate) async fn pick(browser: &Browser, path: &Path) -> anyhow::Result<()> {
    let input = browser.file_input().await?;
    Ok(input.send_keys(path.display().to_string()).await?)
}

async fn open_page() -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.element("example").await?;
    Ok((host, browser))
}

async fn open_example() -> anyhow::Result<(FileHost, Browser)> {
    let (host, browser) = open_page().await?;
    browser.element("example").await?.click().await?;
    browser.answered().await?;
    Ok((host, browser))
}

async fn click(browser: &Browser, test_id: &str) -> anyhow::Result<()> {
    let element = browser.element(test_id).await?.to_json()?;
    browser.page.execute("arguments[0].click()", vec![element]).await?;
    Ok(())
}

async fn script(browser: &Browser, code: &str) -> anyhow::Result<Value> {
    Ok(browser.page.execute(code, vec![]).await?.json().clone())
}

pub(crate) async fn says(browser: &Browser, test_id: &str, text: &str) -> anyhow::Result<()> {
    let what = format!("{test_id} with {text:?}");
    browser.wait_until(&what, async |page| Ok(page.text(test_id).await?.contains(text))).await
}

async fn url(browser: &Browser) -> anyhow::Result<String> {
    Ok(browser.page.current_url().await?.to_string())
}

async fn address_changes_from(browser: &Browser, old: &str) -> anyhow::Result<String> {
    browser.wait_until("another address", async |page| Ok(url(page).await? != old)).await?;
    browser.address().await
}

#[tokio::test]
async fn every_job_of_the_example_gives_the_same_digits_as_the_command_line() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open_example().await?;
    let file = example().display().to_string();
    let first = example_shown()?.job.context;
    let chosen =
        script(&browser, "return document.querySelector('[data-testid=choose-job]').selectedOptions[0].text").await?;
    assert_eq!(chosen, json!(first.title()));
    for (number, job) in (1..).zip(example_jobs()?) {
        let (number, title) = (format!("{number}"), job.context.title());
        let place = "return [...document.querySelectorAll('[data-testid=choose-job] option')].findIndex((job) => job.text === arguments[0])";
        let place = browser.page.execute(place, vec![json!(title)]).await?.json().to_string();
        browser.set("choose-job", &place).await?;
        for (executors, cores) in [("1", "1"), ("2", "2")] {
            let args = ["predict", &file, "--context", &number, "--executors", executors, "--cores", cores];
            let answer = Answer::of(home.path(), &[&args[..], &["--format", "json"]].concat())?.json()?;
            let secs = answer["completion_time_secs"].to_string();
            browser.set("what-if-executors", executors).await?;
            browser.set("what-if-cores", cores).await?;
            let same = async |page: &Browser| Ok(page.secs("what-if-time").await? == secs);
            browser.wait_until(&format!("the command line's digits of {title}"), same).await?;
        }
    }
    let errors = browser.console_errors().await?;
    assert!(errors.iter().all(|error| error.contains("api/v1/jobs")), "{errors:?}");
    browser.close().await
}

#[tokio::test]
async fn the_study_opens_with_its_question_and_the_digits_of_the_command_line() -> anyhow::Result<()> {
    const DEADLINE_SECS: f64 = 14_400.0;
    let home = tempfile::tempdir()?;
    let lines = study_lines()?;
    let file = home.path().join("study.jsonl");
    fs::write(&file, &lines)?;
    let file = file.display().to_string();
    let (_host, browser) = open_page().await?;
    click(&browser, "example-study").await?;
    browser.answered().await?;
    assert_eq!(browser.element("images").await?.value().await?, Some(STUDY_IMAGES.to_string()));
    assert_eq!(browser.element("deadline").await?.value().await?.as_deref(), Some("4h"));
    let chosen = "return document.querySelector('[data-testid=choose-job]').selectedOptions[0].text";
    let shown = script(&browser, chosen).await?;
    assert!(shown.as_str().is_some_and(|title| title.starts_with("resnet50 inference")), "{shown}");

    let jobs = group_by_context(&read_samples(lines.as_bytes())?);
    assert_eq!(jobs.len(), 3);
    for (number, job) in (1..).zip(jobs) {
        let (number, title) = (format!("{number}"), job.context.title());
        let args = ["plan", &file, "--context", &number, "--deadline", "4h", "--format", "json"];
        let answer = Answer::of(home.path(), &args)?.json()?;
        let best = &answer["recommended"];
        let secs = best["completion_time_secs"].as_f64().with_context(|| format!("{title} has no answer"))?;
        assert!(secs > 600.0 && secs < DEADLINE_SECS, "{title}: {secs} s");
        // Of equally cheap configurations the fastest.
        if let Some(least) = answer["as_cheap"].as_object() {
            let of = |field: &str| least[field].as_f64().zip(best[field].as_f64()).map(|(least, best)| best / least);
            let [cost, time] = [of("cost"), of("completion_time_secs")];
            assert!(cost > Some(1.0) && cost <= Some(1.02) && time < Some(1.0), "{title}: {cost:?} {time:?}");
        }
        let candidates = answer["candidates"].as_array().with_context(|| format!("{title} has no candidates"))?;
        let is_late = |row: &Value| row["completion_time_secs"].as_f64().is_some_and(|secs| secs > DEADLINE_SECS);
        assert!(candidates.iter().any(is_late), "{title}: the deadline excludes nothing");
        let place = "return [...document.querySelectorAll('[data-testid=choose-job] option')].findIndex((job) => job.text === arguments[0])";
        let place = browser.page.execute(place, vec![json!(title)]).await?.json().to_string();
        browser.set("choose-job", &place).await?;
        browser.set("deadline", "4h").await?;
        let secs = best["completion_time_secs"].to_string();
        let same = async |page: &Browser| Ok(page.secs("recommended-time").await? == secs);
        browser.wait_until(&format!("the command line's digits of {title}"), same).await?;
    }
    browser.close().await
}

#[tokio::test]
async fn samples_from_a_collector_appear_live_and_its_outages_are_shown() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let lines = example_shown()?.lines;
    let (first, second) = (lines.len() - 4, lines.len() - 2);
    let part = |name: &str, lines: &[String]| -> anyhow::Result<String> {
        let path = home.path().join(name);
        fs::write(&path, lines.join("\n"))?;
        Ok(path.display().to_string())
    };
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let (listen, address) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/"));
    let serve = || -> anyhow::Result<Program> {
        let collector = Program::start(home.path(), &["serve", "--listen", &listen])?;
        collector.wait_for_line("http://127.0.0.1:", START)?;
        Ok(collector)
    };
    let upload = |file: &str| -> anyhow::Result<()> {
        let answer = Answer::of(home.path(), &["upload", file, "--to", &address])?;
        anyhow::ensure!(answer.code == Some(0), "{}", answer.stderr);
        Ok(())
    };

    let collector = serve()?;
    let browser = Browser::start().await?;
    browser.page.goto(&address).await?;
    says(&browser, "live", "Live").await?;
    upload(&part("first.jsonl", &lines[..first])?)?;
    browser.answered().await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &format!("{first} runs")).await?;
    // New samples must not change the user's question.
    browser.set("deadline", "20s").await?;
    upload(&part("rest.jsonl", &lines[first..second])?)?;
    says(&browser, "samples-count", &format!("{second} runs")).await?;
    says(&browser, "live", &format!("{second} samples have arrived")).await?;
    assert_eq!(browser.element("deadline").await?.value().await?.as_deref(), Some("20s"));

    drop(collector);
    says(&browser, "live", "unreachable").await?;
    assert!(browser.text("samples-count").await?.contains(&format!("{second} runs")), "the page keeps its data");
    let collector = serve()?;
    says(&browser, "live", "Live").await?;
    upload(&part("last.jsonl", &lines[second..])?)?;
    says(&browser, "samples-count", &runs()?).await?;

    // A short link asks the same question of the same collector.
    click(&browser, "share").await?;
    let full = browser.element("share-link").await?.value().await?.unwrap_or_default();
    click(&browser, "share-short").await?;
    let is_short = async |page: &Browser| {
        Ok(page.element("share-link").await?.value().await?.is_some_and(|link| link.contains("#q1.")))
    };
    browser.wait_until("the short form", is_short).await?;
    let short = browser.element("share-link").await?.value().await?.unwrap_or_default();
    assert!(short.len() < full.len(), "{short}");
    let reader = Browser::start().await?;
    reader.page.goto(&short).await?;
    says(&reader, "samples-count", &runs()?).await?;
    assert_eq!(reader.element("deadline").await?.value().await?.as_deref(), Some("20s"));
    reader.close().await?;
    drop(collector);
    browser.close().await
}

#[tokio::test]
async fn a_file_in_any_encoding_is_read_and_a_table_of_another_tool_asks_for_its_columns() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open_page().await?;
    let samples = example_shown()?.samples;
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(write_csv(&samples).encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let path = home.path().join("samples.csv");
    fs::write(&path, utf16)?;
    pick(&browser, &path).await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &runs()?).await?;

    // A spreadsheet of the same runs: semicolons, decimal commas, foreign column names,
    // Windows-1252.
    let mut table = b"Nodes;Cores;Percent;Dur\xe9e runtime (ms)\n".to_vec();
    let small: Vec<_> = samples.iter().filter(|sample| sample.sampling_rate < 1.0).collect();
    for sample in &small {
        let secs = sample.completion_time_secs.context("the example's runs completed")?;
        let (executors, cores) = (sample.configuration.executors, sample.configuration.cores_per_executor);
        let millis = format!("{:.3}", secs * 1000.0).replace('.', ",");
        writeln!(table, "{executors};{cores};{};{millis}", sample.sampling_rate * 100.0)?;
    }
    let path = home.path().join("tableur.csv");
    fs::write(&path, &table)?;
    pick(&browser, &path).await?;
    browser.element("import").await?;
    assert!(browser.text("samples-count").await?.contains(&runs()?), "the page below is unchanged");
    click(&browser, "import-use").await?;
    says(&browser, "import-mistake", "images of the whole job").await?;
    let images = samples[0].workload.images.to_string();
    browser.set("import-images-of-the-whole-job-fixed", &images).await?;
    browser.set("import-time-unit", "1").await?;
    click(&browser, "import-use").await?;
    says(&browser, "samples-count", &format!("{} runs", small.len())).await?;
    let secs = |sample: &Sample| sample.completion_time_secs.unwrap_or(f64::INFINITY);
    let shortest = small.iter().min_by(|a, b| secs(a).total_cmp(&secs(b))).context("the example has small samples")?;
    let (executors, cores) = (shortest.configuration.executors, shortest.configuration.cores_per_executor);
    browser.set("samples-filter", &format!("{executors}x{cores} {}%", shortest.sampling_rate * 100.0)).await?;
    says(&browser, "samples", &format_duration(secs(shortest))).await?;
    browser.close().await
}

#[tokio::test]
async fn a_file_that_is_too_large_or_not_text_leaves_the_page_unchanged() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open_example().await?;
    let secs = browser.secs("recommended-time").await?;
    // A sparse file of 500 MB.
    let path = home.path().join("huge.jsonl");
    fs::File::create(&path)?.set_len(500_000_000)?;
    pick(&browser, &path).await?;
    says(&browser, "alert", "500 MB").await?;
    let path = home.path().join("archive.zip");
    fs::write(&path, b"PK\x03\x04\x00\x00\x00\x00")?;
    pick(&browser, &path).await?;
    says(&browser, "alert", "ZIP").await?;
    assert_eq!(browser.secs("recommended-time").await?, secs);
    assert!(!browser.secs("what-if-time").await?.is_empty());
    browser.close().await
}

#[tokio::test]
async fn an_excluded_run_changes_the_answer_and_is_kept_in_the_link() -> anyhow::Result<()> {
    let (host, browser) = open_example().await?;
    let runs = example_shown()?.job.observations;
    let is_meant = |run: &&Observation| (run.executors, run.cores_per_executor, run.sampling_rate) == (1, 1, 1.0);
    let (meant, all) = (runs.iter().filter(is_meant).count(), runs.len());
    let whole = browser.secs("what-if-time").await?;
    browser.show("runs").await?;
    let before = browser.address().await?;
    browser.set("samples-filter", "1x1 100%").await?;
    says(&browser, "samples-count", &format!("{meant} of {all}")).await?;
    script(&browser, "document.querySelector('[data-testid=run] input').click()").await?;
    browser.wait_until("another answer", async |page| Ok(page.secs("what-if-time").await? != whole)).await?;
    says(&browser, "samples-count", "1 excluded").await?;
    let without = browser.secs("what-if-time").await?;
    let link = address_changes_from(&browser, &before).await?;

    let reader = Browser::start().await?;
    let (_, fragment) = link.split_once('#').context("a link has a fragment")?;
    reader.page.goto(format!("{}#{fragment}", host.url)).await?;
    reader.wait_until("the answer without it", async |page| Ok(page.secs("what-if-time").await? == without)).await?;
    says(&reader, "samples-count", &format!("{all} runs, 1 excluded")).await?;
    reader.set("samples-filter", "excluded").await?;
    says(&reader, "samples-count", &format!("1 of {all}")).await?;
    script(&reader, "document.querySelector('[data-testid=run] input').click()").await?;
    reader.wait_until("the whole answer", async |page| Ok(page.secs("what-if-time").await? == whole)).await?;
    reader.close().await?;
    browser.close().await
}

#[tokio::test]
async fn a_hundred_thousand_runs_scroll_with_few_rows_in_the_page() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut text = String::from("nodes,cores,fraction,runtime,images\n");
    for index in 0..100_000_u32 {
        let (executors, cores) = (1 + index % 64, 1 + index / 64 % 16);
        text.push_str(&format!("{executors},{cores},0.1,{}.{index:06},5000\n", 1 + index % 97));
    }
    let path = home.path().join("many.csv");
    fs::write(&path, text)?;
    let (_host, browser) = open_page().await?;
    pick(&browser, &path).await?;
    click(&browser, "import-use").await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", "100000 runs").await?;
    // Scrolls from end to end in 120 steps and measures the longest time between two frames.
    let longest = browser
        .page
        .execute_async(
            "const done = arguments[0], rows = document.querySelector('[data-testid=samples-scroll]');
             let last = performance.now(), longest = 0, steps = 0;
             const step = (now) => {
               if (steps > 2) longest = Math.max(longest, now - last);
               last = now;
               rows.scrollTop += rows.scrollHeight / 120;
               if (++steps < 120) requestAnimationFrame(step);
               else done([longest, document.querySelectorAll('[data-testid=run]').length, rows.scrollTop / rows.scrollHeight]);
             };
             requestAnimationFrame(step);",
            vec![],
        )
        .await?
        .json()
        .clone();
    assert!(longest[1].as_u64().is_some_and(|rows| rows > 0 && rows < 100), "{longest}");
    assert!(longest[2].as_f64().is_some_and(|share| share > 0.9), "{longest}");
    browser.close().await
}

#[tokio::test]
async fn the_page_advises_the_same_samples_as_the_command_line() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open_example().await?;
    browser.show("runs").await?;
    click(&browser, "next-samples").await?;
    let file = example().display().to_string();
    let advice = Answer::of(
        home.path(),
        &["advise", &file, "--context", &example_shown()?.number, "--output", "samples.jsonl", "--format", "json"],
    )?
    .json()?;
    match advice["suggestions"][0]["command"].as_str() {
        Some(command) => says(&browser, "advice", command).await?,
        None => says(&browser, "advice", "Enough").await?,
    }
    browser.close().await
}

#[tokio::test]
async fn the_exports_hold_what_the_page_shows() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    browser.show("export").await?;
    // Records the contents of downloads.
    script(&browser, "window.taken = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { taken.push(blob.text()); return make(blob); };").await?;
    for button in ["export-runs", "export-configurations", "export-json", "export-commands"] {
        click(&browser, button).await?;
    }
    let texts = browser
        .page
        .execute_async("const done = arguments[0]; Promise.all(window.taken).then(done)", vec![])
        .await?
        .json()
        .clone();
    let text = |place: usize| texts[place].as_str().unwrap_or_default().to_owned();
    assert_eq!(text(0).lines().count(), 1 + example_shown()?.samples.len(), "{}", text(0));
    assert!(text(1).contains("recommended") && text(1).contains("true"), "{}", text(1));
    let json: Value = serde_json::from_str(&text(2))?;
    let secs = browser.secs("recommended-time").await?;
    assert_eq!(json["recommended"]["completion_time_secs"].to_string(), secs);
    assert!(text(3).contains("foreglow collect --model resnet18"), "{}", text(3));
    browser.close().await
}

#[tokio::test]
async fn the_first_screen_holds_the_question_the_answer_and_a_picture() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    let outside = "const out = []; for (const [name, selector] of [
          ['question', '.question'], ['answer', '.recommended'], ['picture', '[data-testid=time-by-money]']]) {
        const box = document.querySelector(selector).getBoundingClientRect();
        if (box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth) out.push([name, box.top, box.bottom]);
      } return out";
    // The study's times are in hours, whose text is longer.
    for example in ["example-study", "example"] {
        browser.page.goto("about:blank").await?;
        browser.page.goto(&host.url).await?;
        browser.element(example).await?.click().await?;
        browser.answered().await?;
        browser.screen(1440, 900).await?;
        browser.wait_until("the picture", async |page| Ok(page.element("time-by-money-readout").await.is_ok())).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(script(&browser, outside).await?, json!([]), "{example}");
    }
    // Question and answer stay visible while the view scrolls.
    script(&browser, "window.scrollTo(0, 600)").await?;
    let rail = script(&browser, "return document.querySelector('.rail').getBoundingClientRect().top").await?;
    assert_eq!(rail, json!(0));
    browser.close().await
}

#[tokio::test]
async fn a_question_mark_lists_the_shortcuts_and_they_can_be_switched_off() -> anyhow::Result<()> {
    let (_host, browser) = open_example().await?;
    let press = async |key: &str| {
        let code = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true, cancelable: true }))";
        browser.page.execute(code, vec![json!(key)]).await
    };
    let focused = async || script(&browser, "return document.activeElement.id").await;
    press("?").await?;
    assert_eq!(script(&browser, "return document.querySelector('dialog.keys').open").await?, json!(true));
    click(&browser, "keys-on").await?;
    script(&browser, "document.querySelector('dialog.keys').close()").await?;
    press("d").await?;
    assert_ne!(focused().await?, json!("deadline"));
    press("?").await?;
    click(&browser, "keys-on").await?;
    script(&browser, "document.querySelector('dialog.keys').close()").await?;
    press("d").await?;
    assert_eq!(focused().await?, json!("deadline"));
    browser.close().await
}

#[tokio::test]
async fn without_storage_the_page_works_and_says_what_it_cannot_keep() -> anyhow::Result<()> {
    let host = FileHost::start().await?;
    let browser = Browser::start_with(json!({ "profile.default_content_setting_values.cookies": 2 })).await?;
    browser.page.goto(&host.url).await?;
    let denied = "try { localStorage; return false } catch { return true }";
    assert_eq!(script(&browser, denied).await?, json!(true), "the browser really denies it");
    browser.element("example").await?.click().await?;
    browser.answered().await?;
    click(&browser, "share").await?;
    browser.set("saved-name", "In vain").await?;
    click(&browser, "saved-save").await?;
    says(&browser, "saved-mistake", "does not store").await?;
    browser.close().await
}

#[tokio::test]
async fn a_page_that_was_loaded_once_opens_without_a_network() -> anyhow::Result<()> {
    let (host, browser) = open_example().await?;
    let ready = "const done = arguments[0]; navigator.serviceWorker.ready.then(() => done(true))";
    browser.page.execute_async(ready, vec![]).await?;
    browser.wait_until("a link", async |page| Ok(url(page).await?.contains("#v1."))).await?;
    let secs = browser.secs("recommended-time").await?;
    drop(host);
    tokio::time::sleep(Duration::from_millis(300)).await;
    browser.page.refresh().await?;
    browser.wait_until("the answer", async |page| Ok(page.secs("recommended-time").await? == secs)).await?;
    browser.show("export").await?;
    click(&browser, "example").await?;
    browser.show("runs").await?;
    says(&browser, "samples-count", &runs()?).await?;
    browser.close().await
}
