//! GPUs are counted: one for each executor.

use foreglow_shared::{Context, Outcome};
use foreglow_tests::GpuRig;
use serde_json::Value;

use crate::{SMALL, measured, on};

#[test]
fn the_devices_are_listed_with_their_names_and_addresses() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "NVIDIA A10G")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let answer = on(&rig, home.path(), "devices --format json").json()?;
    let gpus: Vec<&Value> =
        answer["devices"].as_array().unwrap().iter().filter(|device| device["kind"] == "discrete_gpu").collect();
    assert_eq!(gpus.len(), 2, "{answer}");
    assert!(gpus.iter().all(|gpu| gpu["name"] == "NVIDIA A10G"), "{answer}");
    assert_eq!((&gpus[0]["pci_bus_id"], &gpus[1]["pci_bus_id"]), (&"ffff:01:00.0".into(), &"ffff:02:00.0".into()));
    assert_eq!(answer["auto"], gpus[0]["index"], "a GPU is taken before the processor");
    Ok(())
}

/// `pick` has a unit test of the other ways to name the same GPUs: each run here tunes its kernels.
#[test]
fn the_gpus_by_default_and_by_number_are_the_same_two() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "NVIDIA A10G")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let sample = measured(&rig, home.path(), "--device auto --executors 2");
    assert_eq!(sample.outcome, Outcome::Completed);
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("NVIDIA A10G"));
    let addresses: Vec<_> = sample.host.accelerators.iter().map(|gpu| gpu.pci_bus_id.as_deref().unwrap()).collect();
    assert_eq!(addresses, ["ffff:01:00.0", "ffff:02:00.0"]);
    let second = measured(&rig, home.path(), "--device 2 --executors 1");
    assert_eq!(Context::of(&second), Context::of(&sample));
    Ok(())
}

#[test]
fn an_executor_too_many_is_refused_unless_they_may_share() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    for command in ["run", "collect --output samples.jsonl"] {
        let answer = on(&rig, home.path(), &format!("{command} {SMALL} --executors 2"));
        assert_eq!(answer.code, Some(2));
        assert!(answer.stderr.contains("exceeds the 1 GPU (Rig GPU) of this machine"), "{}", answer.stderr);
        assert!(answer.stderr.contains("--share-gpu"), "{}", answer.stderr);
    }
    let alone = measured(&rig, home.path(), "--executors 1");
    let shared = measured(&rig, home.path(), "--executors 2 --share-gpu");
    assert_eq!(shared.outcome, Outcome::Completed);
    assert!(shared.configuration.shares_accelerators && !alone.configuration.shares_accelerators);
    assert_ne!(Context::of(&shared), Context::of(&alone), "times with sharing are of another context");
    Ok(())
}

/// The tuner's probes take 16 of the 24 s of a first start.
#[test]
fn a_later_executor_does_not_measure_the_peaks_of_the_gpu_again() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let rig = rig.and("FOREGLOW_CACHE", home.path().join("cache").display().to_string());
    let first = measured(&rig, home.path(), "--executors 1");
    let files = || std::fs::read_dir(home.path().join("cache/gpu-peaks"))?.collect::<Result<Vec<_>, _>>();
    assert_eq!(files()?.len(), 1, "one GPU has one file");
    let peaks: Value = serde_json::from_slice(&std::fs::read(files()?[0].path())?)?;
    assert!(!peaks.as_array().unwrap().is_empty());
    let second = measured(&rig, home.path(), "--executors 1");
    assert!(second.startup_secs < first.startup_secs, "{:?} and {:?}", second.startup_secs, first.startup_secs);
    Ok(())
}

#[test]
fn a_collection_asks_for_as_many_executors_as_there_are_gpus() -> anyhow::Result<()> {
    for (gpus, expected) in [(1, "1"), (2, "1 2")] {
        let Some(rig) = GpuRig::with(gpus, "Rig GPU")? else { return Ok(()) };
        let home = tempfile::tempdir()?;
        let output = home.path().join("samples.jsonl");
        let line = format!("collect {SMALL} --dry-run --format json --output {}", output.display());
        let answer = on(&rig, home.path(), &line);
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        let executors = |line: &str| serde_json::from_str::<Value>(line).unwrap()["configuration"]["executors"].clone();
        let mut asked: Vec<String> = answer.stdout.lines().map(|line| executors(line).to_string()).collect();
        asked.dedup();
        assert_eq!(asked.join(" "), expected);
    }
    Ok(())
}

#[test]
fn a_run_writes_once_a_second_what_it_uses() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let file = home.path().join("monitor.jsonl");
    let line = format!(
        "run --model lenet5 --images 20000 --sampling-rate 1 --batch-size 8 --cores 1 --executors 1 --timeout 4 --format json \
         --monitor {}",
        file.display()
    );
    let answer = on(&rig, home.path(), &line);
    let sample = foreglow_shared::parse_line(answer.stdout.trim())?;
    let usage = &sample.extra["usage"];
    let moments: Vec<Value> =
        std::fs::read_to_string(&file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(!moments.is_empty() && usage["moments"] == moments.len(), "{usage}, {moments:?}");
    for moment in &moments {
        assert_eq!(moment["sample"], sample.id.to_string());
        assert!(moment["secs"].as_f64().unwrap() >= 1.0 && moment["memory_mib"].as_u64().unwrap() > 0, "{moment}");
    }
    assert!(usage["images_per_sec"]["mean"].as_f64().unwrap() > 0.0, "{usage}");

    let nowhere = on(&rig, home.path(), &line.replace("monitor.jsonl", "no/such/folder/m.jsonl"));
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.stderr.contains("cannot be opened for writing"), "{}", nowhere.stderr);
    Ok(())
}
