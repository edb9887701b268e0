//! Machine types in the planner: the same digits as `foreglow plan`, filters and prices in the
//! address, and CPUs against GPUs.

mod what_if;

use std::{fs, path::Path};

use anyhow::Context as _;
use foreglow_shared::Catalog;
use foreglow_tests::{Answer, Browser, FileHost, example_shown};
use serde_json::{Value, json};
use thirtyfour::By;

use self::what_if::pick;

/// Machine types of the built-in catalog, with their accelerator and the factor by which their
/// times differ from the example's.
const TYPES: [(&str, Option<&str>, f64); 3] =
    [("c5.xlarge", None, 1.0), ("c5.4xlarge", None, 0.7), ("g4dn.xlarge", Some("T4"), 0.2)];

/// Writes the example's first job as runs on each of the machine types.
fn measured_on_all(folder: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for (machine, accelerator, factor) in TYPES {
        for line in example_shown()?.lines {
            let mut sample: Value = serde_json::from_str(&line)?;
            sample["host"]["machine"] = json!(machine);
            sample["configuration"]["accelerator"] = json!(accelerator);
            let secs = sample["completion_time_secs"].as_f64().context("the example's runs completed")?;
            sample["completion_time_secs"] = json!(secs * factor);
            let id = sample["id"].as_str().context("a sample has an id")?.to_owned();
            // Samples of other machine types need other ids.
            sample["id"] = json!(format!("{}{}", &id[..id.len() - 1], machine.len() % 10));
            text.push_str(&format!("{sample}\n"));
        }
    }
    let path = folder.join("machines.jsonl");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

async fn open(file: &str) -> anyhow::Result<(FileHost, Browser)> {
    let host = FileHost::start().await?;
    let browser = Browser::start().await?;
    browser.page.goto(&host.url).await?;
    browser.file_input().await?.send_keys(file).await?;
    browser.answered().await?;
    Ok((host, browser))
}

/// Waits until the recommendation over all machine types is on this machine type, and returns its
/// time with all digits.
async fn recommended(browser: &Browser, machine: &str) -> anyhow::Result<String> {
    let is_on = async |page: &Browser| Ok(page.text("recommended-configuration").await?.contains(machine));
    browser.wait_until(&format!("a recommendation on {machine}"), is_on).await?;
    browser.secs("recommended-time").await
}

/// Waits until the table has the best of each machine type of an answer of `plan`, with the same
/// digits.
async fn shows_best(browser: &Browser, answer: &Value) -> anyhow::Result<()> {
    let best = answer["best_per_machine"].as_array().context("there is a best of each machine type")?;
    let figures = |row: &Value| ["machine", "completion_time_secs", "cost"].map(|name| row[name].clone());
    let mut best: Vec<[Value; 3]> = best.iter().map(figures).collect();
    best.sort_by_key(|row| row[0].to_string());
    // Read at once, because a new answer replaces the table.
    let rows = "return [...document.querySelectorAll('[data-testid=candidates] tr[data-machine]')].map(row =>
        [row.dataset.machine, ...['secs', 'cost'].map(name =>
            JSON.parse(row.querySelector(`[data-${name}]`).dataset[name]))]).sort()";
    let is_shown = async |page: &Browser| Ok(*page.page.execute(rows, vec![]).await?.json() == json!(best));
    browser.wait_until(&format!("the best of each machine type: {best:?}"), is_shown).await
}

#[tokio::test]
async fn the_page_names_the_machines_of_the_command_line_with_the_same_digits() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let (_host, browser) = open(&file).await?;
    for (deadline, args) in [("", &[][..]), ("15s", &["--deadline", "15s"][..])] {
        browser.set("deadline", deadline).await?;
        let args = [&["plan", &file][..], args, &["--format", "json"]].concat();
        let answer = Answer::of(home.path(), &args)?.json()?;
        let expected = &answer["recommended"];
        let machine = expected["machine"].as_str().context("a machine type is recommended")?;
        let secs = expected["completion_time_secs"].to_string();
        let is_same = async |page: &Browser| Ok(page.secs("recommended-time").await? == secs);
        browser.wait_until(&format!("the command line's {secs} on {machine}"), is_same).await?;
        assert!(browser.text("recommended-configuration").await?.contains(machine));
        assert_eq!(answer["best_per_machine"].as_array().map(Vec::len), Some(TYPES.len()));
        shows_best(&browser, &answer).await?;
        let dots = browser.page.find_all(By::Css("[data-testid=time-by-money] .cloud.own")).await?;
        assert_eq!(dots.len(), TYPES.len(), "the chart has a colour for each machine type");
    }
    let errors = browser.console_errors().await?;
    assert!(errors.iter().all(|error| error.contains("api/v1/jobs")), "{errors:?}");
    browser.close().await
}

#[tokio::test]
async fn one_click_compares_only_gpus_or_cpus_and_the_address_keeps_it() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open(&measured_on_all(home.path())?).await?;
    browser.element("candidates").await?;
    browser.element("devices-gpu").await?.click().await?;
    recommended(&browser, "g4dn.xlarge").await?;
    let is_kept = async |page: &Browser| Ok(page.page.current_url().await?.as_str().ends_with("&devices=gpu"));
    browser.wait_until("the filter in the address", is_kept).await?;
    browser.page.refresh().await?;
    browser.answered().await?;
    recommended(&browser, "g4dn.xlarge").await?;
    let rows = browser.page.find_all(By::Css("[data-testid=candidates] tbody tr")).await?;
    assert_eq!(rows.len(), 1, "only the GPU is compared");
    browser.element("devices-cpu").await?.click().await?;
    recommended(&browser, "c5.").await?;
    browser.close().await
}

#[tokio::test]
async fn an_edited_price_changes_the_recommendation_and_a_left_out_machine_type_is_not_compared() -> anyhow::Result<()>
{
    let home = tempfile::tempdir()?;
    let (_host, browser) = open(&measured_on_all(home.path())?).await?;
    browser.element("candidates").await?;
    let set =
        "const [machine, price] = arguments; const input = document.querySelector(`[data-price-of='${machine}']`);
        input.value = price; input.dispatchEvent(new Event('change', { bubbles: true }))";
    browser.page.execute(set, vec![json!("c5.4xlarge"), json!("0.001")]).await?;
    recommended(&browser, "c5.4xlarge").await?;
    let is_kept =
        async |page: &Browser| Ok(page.page.current_url().await?.as_str().contains("&price=c5.4xlarge:0.001"));
    browser.wait_until("the price in the address", is_kept).await?;
    // A price of 0 is rejected.
    browser.page.execute(set, vec![json!("c5.xlarge"), json!("0")]).await?;
    let text = "return document.querySelector('[data-testid=machines]').textContent";
    let is_rejected = async |page: &Browser| {
        let text = page.page.execute(text, vec![]).await?;
        Ok(text.json().as_str().is_some_and(|text| text.contains("above 0")))
    };
    browser.wait_until("a reason", is_rejected).await?;
    recommended(&browser, "c5.4xlarge").await?;
    let leave_out = "document.querySelector(\".machine-list [data-machine='c5.4xlarge']\").click()";
    browser.page.execute(leave_out, vec![]).await?;
    let is_gone = async |page: &Browser| Ok(!page.text("recommended-configuration").await?.contains("c5.4xlarge"));
    browser.wait_until("another machine type", is_gone).await?;
    browser.close().await
}

#[tokio::test]
async fn spot_prices_and_a_limit_per_hour_give_the_digits_of_the_command_line_and_stay_in_the_address()
-> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let (_host, browser) = open(&file).await?;
    browser.element("candidates").await?;
    // No other machine type that is fast enough costs less on demand.
    let asked = ["plan", &file, "--deadline", "5s", "--max-hourly-cost", "0.4", "--format", "json"];
    assert_eq!(Answer::of(home.path(), &asked)?.code, Some(1));
    browser.set("deadline", "5s").await?;
    let set = "const [name, value] = arguments; const input = document.querySelector(`[data-testid=${name}]`);
        if (input.type === 'checkbox') input.checked = value; else input.value = value;
        input.dispatchEvent(new Event('change', { bubbles: true }))";
    browser.page.execute(set, vec![json!("hourly"), json!("0.4")]).await?;
    let is_refused = async |page: &Browser| Ok(page.text("no-recommendation").await?.contains("No configuration"));
    browser.wait_until("no recommendation", is_refused).await?;
    browser.page.execute(set, vec![json!("spot"), json!(true)]).await?;
    let spot = Answer::of(home.path(), &[&asked[..], &["--spot"]].concat())?.json()?;
    let machine = spot["recommended"]["machine"].as_str().context("a machine type is recommended")?;
    let secs = spot["recommended"]["completion_time_secs"].to_string();
    assert_eq!(recommended(&browser, machine).await?, secs);
    shows_best(&browser, &spot).await?;
    assert!(browser.address().await?.ends_with("&hourly=0.4&spot=1"));
    browser.page.refresh().await?;
    assert_eq!(recommended(&browser, machine).await?, secs);
    browser.page.execute(set, vec![json!("hourly"), json!("-1")]).await?;
    let text = "return document.querySelector('[data-testid=machines]').textContent.includes('above 0')";
    let is_rejected = async |page: &Browser| Ok(page.page.execute(text, vec![]).await?.json() == &json!(true));
    browser.wait_until("a reason", is_rejected).await?;
    shows_best(&browser, &spot).await?;
    browser.close().await
}

#[tokio::test]
async fn a_link_over_machine_types_opens_elsewhere_with_the_same_answer() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let (host, browser) = open(&file).await?;
    browser.set("deadline", "15s").await?;
    browser.element("candidates").await?;
    let answer = Answer::of(home.path(), &["plan", &file, "--deadline", "15s", "--format", "json"])?.json()?;
    let expected = answer["recommended"]["completion_time_secs"].to_string();
    let is_same = async |page: &Browser| Ok(page.secs("recommended-time").await? == expected);
    browser.wait_until("the command line's answer", is_same).await?;
    pick(&browser, "machine", "g4dn.xlarge").await?;
    let is_kept = async |page: &Browser| Ok(page.page.current_url().await?.as_str().ends_with("&machine=g4dn.xlarge"));
    browser.wait_until("the choice in the address", is_kept).await?;
    let address = browser.page.current_url().await?.to_string();
    let table = browser.text("candidates").await?;
    let is_picked = async |page: &Browser| Ok(page.text("what-if-name").await?.contains("g4dn.xlarge"));
    browser.wait_until("the choice", is_picked).await?;
    let picked = browser.text("what-if-name").await?;
    browser.close().await?;

    // Another browser has neither the file nor the session storage.
    let (_, fragment) = address.split_once('#').context("the address is a link")?;
    let reader = Browser::start().await?;
    reader.page.goto(format!("{}#{fragment}", host.url)).await?;
    reader.answered().await?;
    reader.wait_until("the same answer", is_same).await?;
    assert_eq!(reader.text("candidates").await?, table);
    assert_eq!(reader.text("what-if-name").await?, picked);
    reader.close().await?;

    // The same for a link of the command line.
    let made = Answer::of(home.path(), &["link", &file, "--deadline", "15s", "--planner", &host.url])?;
    let reader = Browser::start().await?;
    reader.page.goto(made.stdout.trim()).await?;
    reader.answered().await?;
    reader.wait_until("the same answer", is_same).await?;
    reader.close().await
}

/// Writes six runs of the example's first job on each of the first machine types of the catalog.
fn measured_on_many(folder: &Path, machine_types: usize) -> anyhow::Result<String> {
    let line = example_shown()?.lines.into_iter().next().context("the example has runs")?;
    let template: Value = serde_json::from_str(&line)?;
    let id = template["id"].as_str().context("a sample has an id")?.to_owned();
    let mut text = String::new();
    let mut count = 0;
    for (place, machine) in Catalog::built_in().machines.iter().take(machine_types).enumerate() {
        for (executors, rate) in
            [1, 4].into_iter().flat_map(|executors| [0.01, 0.02, 0.1].map(|rate| (executors, rate)))
        {
            let mut sample = template.clone();
            sample["engine"] = json!("spark");
            sample["host"] = json!({ "machine": machine.name, "processors": machine.processors });
            sample["configuration"]["executors"] = json!(executors);
            sample["configuration"]["cores_per_executor"] = json!(1);
            sample["configuration"]["memory_per_executor_mib"] = json!(512);
            sample["sampling_rate"] = json!(rate);
            let secs = (900.0 * rate / f64::from(executors) + 0.4) / (1.0 + 0.05 * place as f64);
            sample["completion_time_secs"] = json!(secs);
            sample["id"] = json!(format!("{}{count:08x}", &id[..id.len() - 8]));
            count += 1;
            text.push_str(&format!("{sample}\n"));
        }
    }
    let path = folder.join("many.jsonl");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

#[tokio::test]
async fn of_many_machine_types_the_best_are_listed_first_and_have_colours_of_their_own() -> anyhow::Result<()> {
    const TYPES: usize = 14;
    let home = tempfile::tempdir()?;
    let (_host, browser) = open(&measured_on_many(home.path(), TYPES)?).await?;
    browser.element("candidates").await?;
    let rows = "return [...document.querySelectorAll('[data-testid=candidates] tbody tr')]
        .filter(row => row.getClientRects().length > 0).length";
    let shows = async |count: usize| {
        let are_shown = async |page: &Browser| Ok(*page.page.execute(rows, vec![]).await?.json() == json!(count));
        browser.wait_until(&format!("{count} rows"), are_shown).await
    };
    shows(12).await?;
    let keys = browser.page.find_all(By::Css(".keys-of .key[class*=shade]")).await?;
    assert_eq!(keys.len(), 7, "six colours, and one for all others");
    let last = keys.last().context("the legend has entries")?;
    assert_eq!(last.text().await?, format!("{} other machine types", TYPES - 6));
    browser.element("more-candidates").await?.click().await?;
    shows(TYPES).await?;
    // Another answer leaves the list open.
    let before = browser.text("recommended-time").await?;
    browser.set("deadline", "7m").await?;
    let is_new = async |page: &Browser| Ok(page.text("recommended-time").await? != before);
    browser.wait_until("an answer for the deadline", is_new).await?;
    shows(TYPES).await?;
    // On a phone, the line that stays visible names the machines.
    browser.screen(390, 844).await?;
    let line = "return document.querySelector('.in-short').textContent";
    let names_machines = async |page: &Browser| {
        let shown = page.page.execute(line, vec![]).await?;
        let best = page.text("recommended-configuration").await?;
        Ok(shown.json().as_str().is_some_and(|line| line.contains(&best) && line.contains("7 min")))
    };
    browser.wait_until("the recommended machines in one line", names_machines).await?;
    browser.close().await
}

#[tokio::test]
async fn the_keyboard_stays_on_a_control_that_an_answer_replaces() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (_host, browser) = open(&measured_on_all(home.path())?).await?;
    browser.element("candidates").await?;
    let operate =
        "const control = document.querySelector(arguments[0]); control.closest('details')?.setAttribute('open', '');
        control.focus(); control.click()";
    for (control, leaves) in [
        ("button[data-devices=gpu]", "g4dn.xlarge"),
        ("button[data-devices=all]", ""),
        ("input[data-machine='g4dn.xlarge']", "c5."),
    ] {
        browser.page.execute(operate, vec![json!(control)]).await?;
        recommended(&browser, leaves).await?;
        let is_focused = "return document.activeElement.matches(arguments[0])";
        let is_there = async |page: &Browser| {
            Ok(*page.page.execute(is_focused, vec![json!(control)]).await?.json() == json!(true))
        };
        browser.wait_until(&format!("the focus on {control}"), is_there).await?;
    }
    browser.close().await
}

#[tokio::test]
async fn another_job_never_shows_the_machine_types_of_the_earlier_one() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = measured_on_all(home.path())?;
    let mut text = fs::read_to_string(&file)?;
    let others: String = text.lines().map(|line| format!("{}\n", line.replace("resnet18", "other_cnn"))).collect();
    text.push_str(&others.replace("\"id\":\"01", "\"id\":\"02"));
    fs::write(&file, text)?;
    let (_host, browser) = open(&file).await?;
    recommended(&browser, "").await?;
    let of_all = "return document.querySelectorAll('[data-testid=choose-job] option').length";
    assert_eq!(*browser.page.execute(of_all, vec![]).await?.json(), json!(6), "two CNNs on three machine types");
    // Records the page in the frames after the switch.
    let shown = "const done = arguments[0], jobs = document.querySelector('[data-testid=choose-job]');
        const name = document.querySelector('.job h1').textContent;
        jobs.value = [...jobs.options].findIndex((job) => !job.text.startsWith(name));
        jobs.dispatchEvent(new Event('change', { bubbles: true }));
        requestAnimationFrame(() => setTimeout(() => done([document.querySelector('.job h1').textContent !== name,
          document.querySelector('.recommended')?.textContent ?? '', document.querySelector('.in-short').textContent])));";
    let told = browser.page.execute_async(shown, vec![]).await?.json().clone();
    assert_eq!(told[0], json!(true), "another job: {told}");
    assert!(!told[1].to_string().contains("xlarge") && !told[2].to_string().contains("xlarge"), "{told}");
    recommended(&browser, "").await?;
    browser.close().await
}

#[tokio::test]
async fn another_number_of_images_keeps_every_setting_in_the_comparison() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut text = String::new();
    for (batch, factor) in [(8, 1.0), (32, 0.7)] {
        for line in example_shown()?.lines {
            let mut sample: Value = serde_json::from_str(&line)?;
            sample["workload"]["batch_size"] = json!(batch);
            let secs = sample["completion_time_secs"].as_f64().context("the example's runs completed")?;
            sample["completion_time_secs"] = json!(secs * factor);
            let id = sample["id"].as_str().context("a sample has an id")?.to_owned();
            sample["id"] = json!(format!("{}{}", &id[..id.len() - 1], batch / 8));
            text.push_str(&format!("{sample}\n"));
        }
    }
    let path = home.path().join("batches.jsonl");
    fs::write(&path, text)?;
    let (_host, browser) = open(&path.display().to_string()).await?;
    let images = example_shown()?.job.context.workload.images;
    let shows = async |images: u64| {
        let shown = "return [[...document.querySelectorAll('[data-testid=choose-job] option')].map((job) => job.text),
            document.querySelector('.recommended').textContent,
            [...document.querySelectorAll('[data-pick=batch] option')].map((size) => size.value)]";
        let has_all = async |page: &Browser| {
            let told: (Vec<String>, String, Vec<String>) =
                serde_json::from_value(page.page.execute(shown, vec![]).await?.json().clone())?;
            let of_size = told.0.iter().filter(|title| title.contains(&format!(" {images} images"))).count();
            Ok(told.0.len() == 2 && of_size == 2 && told.1.contains("batch size") && told.2 == ["8", "32"])
        };
        browser.wait_until(&format!("both batch sizes of {images} images"), has_all).await
    };
    shows(images).await?;
    browser.address().await?;
    let secs = browser.secs("recommended-time").await?;
    for times in [10, 20] {
        browser.set("images", &(images * times).to_string()).await?;
        shows(images * times).await?;
        browser.address().await?;
    }
    browser.page.refresh().await?;
    browser.answered().await?;
    shows(images * 20).await?;
    browser.page.back().await?;
    shows(images * 10).await?;
    browser.set("images", &images.to_string()).await?;
    shows(images).await?;
    let again: f64 = browser.secs("recommended-time").await?.parse()?;
    assert!((again / secs.parse::<f64>()? - 1.0).abs() < 1e-9, "{again} and {secs}");
    browser.close().await
}
