//! The demo, predictions and plans on GPUs, with a price and without one.

use std::path::Path;

use anyhow::Context as _;
use foreglow_shared::View;
use foreglow_tests::{Answer, Browser, FileHost, GpuRig};
use serde_json::Value;

use crate::on;
use crate::page::no_errors;

const DEMO: &str = "demo --once --format json --model lenet5 --images 400";

#[tokio::test]
async fn the_demo_on_one_gpu_takes_the_price_of_its_machine_and_its_link_shows_it() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "NVIDIA A10G")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let answer = on(&rig, home.path(), DEMO).json()?;
    let samples = answer["samples"].as_array().unwrap();
    assert!(samples.iter().all(|sample| sample["configuration"]["executors"] == 1), "{samples:?}");
    assert!(answer["check"]["predicted_secs"].as_f64().unwrap() > 0.0);
    assert!(answer["recommendation"]["cost"].as_f64().unwrap() > 0.0, "{}", answer["recommendation"]);
    let prices = &answer["decision"]["prices"];
    assert!(prices["name"].as_str().unwrap().contains("g5.xlarge (one A10G)"), "{prices}");
    let link = answer["link"].as_str().unwrap();
    assert!(View::from_link(link)?.job.context.accelerator.is_some());

    let (_, fragment) = link.split_once('#').context("a link has a fragment")?;
    let (host, browser) = (FileHost::start().await?, Browser::start().await?);
    browser.page.goto(format!("{}#{fragment}", host.url)).await?;
    browser.answered().await?;
    assert!(browser.secs("recommended-time").await?.parse::<f64>()? > 0.0);
    assert!(browser.text("recommended-cost").await?.contains("USD "));
    assert!(browser.text("recommended-prices").await?.contains("g5.xlarge (one A10G)"));
    no_errors(&browser).await?;
    browser.close().await
}

#[test]
fn the_demo_on_two_unknown_gpus_answers_times_and_says_how_to_give_a_price() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let answer = on(&rig, home.path(), DEMO).json()?;
    let executors = |sample: &Value| sample["configuration"]["executors"].as_u64();
    assert_eq!(answer["samples"].as_array().unwrap().iter().filter_map(executors).max(), Some(2));
    assert!(answer["recommendation"]["completion_time_secs"].as_f64().unwrap() > 0.0);
    assert_eq!(answer["recommendation"]["cost"], Value::Null);
    let why = answer["decision"]["cost_unknown"].as_str().unwrap();
    assert!(why.contains("Rig GPU") && why.contains("accelerator_hour") && why.contains("--prices"), "{why}");
    Ok(())
}

/// Writes the times of four configurations at two sampling rates, on a machine with two GPUs of
/// this name.
pub fn samples(folder: &Path, gpu: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    for (number, (executors, cores, rate)) in
        [(1, 1), (1, 2), (2, 1), (2, 2)].into_iter().flat_map(|(e, c)| [(e, c, 0.05), (e, c, 0.2)]).enumerate()
    {
        let secs = 0.2 + 400.0 * rate / f64::from(executors * cores);
        text += &format!(
            r#"{{"schema":1,"id":"019aa6d1-0000-7000-8000-0000000000{number:02}","workload":{{"model":"resnet50","mode":"inference","image_px":224,"images":20000,"epochs":1,"batch_size":32}},"configuration":{{"executors":{executors},"cores_per_executor":{cores},"memory_per_executor_mib":4096,"partition_size":64,"accelerator":"{gpu}"}},"sampling_rate":{rate},"outcome":"completed","completion_time_secs":{secs},"engine":"local","runner_version":"0.1.0","host":{{"processors":8,"adapter":"{gpu}","accelerators":[{{"name":"{gpu}","pci_bus_id":"0000:01:00.0"}},{{"name":"{gpu}","pci_bus_id":"0000:02:00.0"}}]}},"started_at":"2026-11-21T10:00:00Z"}}
"#
        );
    }
    let file = folder.join("samples.jsonl");
    std::fs::write(&file, text)?;
    Ok(file.display().to_string())
}

#[test]
fn without_a_price_for_the_gpu_times_are_answered_and_the_cost_is_unknown() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let file = samples(home.path(), "Rig GPU")?;
    let ask = |line: &str| -> anyhow::Result<Answer> {
        Answer::of(home.path(), &line.replace("FILE", &file).split_whitespace().collect::<Vec<_>>())
    };
    for line in ["predict FILE -E 2 -C 2", "plan FILE --deadline 5m", "plan FILE", "advise FILE --deadline 5m"] {
        let answer = ask(&format!("{line} --format json"))?.json()?;
        let why = answer["cost_unknown"].as_str().unwrap();
        assert!(why.contains("the price sheet has no price for it") && why.contains("--prices"), "{line}: {why}");
        let table = ask(line)?;
        assert_eq!(table.code, Some(0), "{line}: {}", table.stderr);
        assert!(table.stdout.contains("Cost unknown: the job runs on Rig GPU"), "{line}: {}", table.stdout);
    }
    let plan = ask("plan FILE --deadline 5m --executors 1-8 --format json")?.json()?;
    assert_eq!(plan["recommended"]["cost"], Value::Null);
    assert!(plan["recommended"]["executors"].as_u64() <= Some(2), "there are two GPUs: {}", plan["recommended"]);
    let warnings = plan["candidates"].as_array().unwrap().last().unwrap()["warnings"].to_string();
    assert!(warnings.contains("too_few_accelerators"), "{warnings}");

    let budget = ask("plan FILE --budget 5")?;
    assert_eq!(budget.code, Some(1));
    assert!(budget.stderr.contains("no configuration is known to cost at most"), "{}", budget.stderr);

    let prices = home.path().join("prices.json");
    std::fs::write(&prices, r#"{"name":"ours","date":"2026-11-01","currency":"EUR","accelerator_hour":2}"#)?;
    let priced = ask(&format!("plan FILE --budget 5 --prices {} --format json", prices.display()))?.json()?;
    assert!(priced["recommended"]["cost"].as_f64().unwrap() > 0.0);
    assert_eq!(priced.get("cost_unknown"), None);
    Ok(())
}
