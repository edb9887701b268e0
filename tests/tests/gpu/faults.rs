//! Too small GPUs, and GPUs that disappear.

use std::time::{Duration, Instant};

use foreglow_shared::{ExceededMemory, Outcome, read_samples};
use foreglow_tests::{GpuRig, Program};

use crate::{SMALL, on};

#[test]
fn a_gpu_with_too_little_memory_is_the_outcome_out_of_memory() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let rig = rig.and("FOREGLOW_RIG_MEMORY_MIB", "24");
    let home = tempfile::tempdir()?;
    for mode in ["inference", "training"] {
        let file = home.path().join(format!("{mode}.jsonl"));
        let line = format!(
            "collect --mode {mode} --model resnet18 --image-px 64 --images 64 --batch-size 32 --partition-size 32 \
             --sampling-rate 1 --cores 1 --executors 1 --output {}",
            file.display()
        );
        let answer = on(&rig, home.path(), &line);
        let samples = read_samples(&std::fs::read(&file)?)?;
        assert_eq!(samples.len(), 1, "{}", answer.stderr);
        let reason = samples[0].reason.clone().unwrap_or_default();
        assert_eq!(samples[0].outcome, Outcome::OutOfMemory, "{mode}: {reason}");
        assert_eq!(samples[0].exceeded_memory, Some(ExceededMemory::Accelerator), "{mode}: {reason}");
        assert!(reason.contains("GPU") && reason.contains("--batch-size"), "{mode}: {reason}");
    }
    Ok(())
}

#[test]
fn a_gpu_that_is_lost_in_mid_run_fails_the_run_with_its_reason_and_keeps_what_was_measured() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "Rig GPU")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let (lost, file) = (home.path().join("lost"), home.path().join("samples.jsonl"));
    let rig = rig.and("FOREGLOW_RIG_LOST", lost.display().to_string()).and("FOREGLOW_RIG_LOST_GPU", "1");
    let line = format!("collect {SMALL} --executors 2 --repeat 3 --output {}", file.display());
    let args: Vec<&str> = line.split_whitespace().collect();
    let program = Program::start_with(home.path(), &args, rig.variables())?;
    let patience = Instant::now() + Duration::from_secs(300);
    while std::fs::read_to_string(&file).unwrap_or_default().lines().count() == 0 {
        anyhow::ensure!(Instant::now() < patience, "no sample after 300 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::write(&lost, "")?;
    program.wait_for_line("runs failed; their reasons are in", Duration::from_secs(300))?;
    let samples = read_samples(&std::fs::read(&file)?)?;
    assert_eq!(samples.len(), 3, "the sweep goes on");
    assert_eq!(samples[0].outcome, Outcome::Completed, "{:?}", samples[0].reason);
    let last = &samples[2];
    assert_eq!((last.outcome, last.completion_time_secs), (Outcome::Failed, None));
    assert!(last.reason.as_deref().unwrap().contains("device was lost"), "{:?}", last.reason);
    Ok(())
}

/// Returns the refusal of each command: one sentence with exit code 2, before any measurement.
fn refusal(rig: &GpuRig, arguments: &str) -> String {
    let home = tempfile::tempdir().expect("a folder for temporary files");
    let answer = on(rig, home.path(), &format!("run {SMALL} {arguments}"));
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{}", answer.stderr);
    let lines: Vec<&str> = answer.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines.len(), 1, "{}", answer.stderr);
    lines[0].to_owned()
}

#[test]
fn a_machine_without_a_vulkan_driver_says_so() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let empty = rig.and("VK_DRIVER_FILES", "/nonexistent.json").and("VK_ICD_FILENAMES", "/nonexistent.json");
    let sentence = refusal(&empty, "--device gpu");
    assert!(sentence.contains("the graphics driver finds no GPU; use --device cpu"), "{sentence}");
    Ok(())
}

#[test]
fn a_gpu_with_too_small_limits_is_refused_by_name() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let small = rig.and("FOREGLOW_RIG_INVOCATIONS", "128");
    let sentence = refusal(&small, "--device gpu");
    assert!(sentence.contains("Rig GPU allows 128 invocations per workgroup"), "{sentence}");
    let home = tempfile::tempdir()?;
    let devices = on(&small, home.path(), "devices");
    assert!(devices.stdout.contains("limits too small"), "{}", devices.stdout);
    Ok(())
}

#[test]
fn a_number_format_that_the_gpu_lacks_is_refused_with_those_that_it_has() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "Rig GPU")? else { return Ok(()) };
    let sentence = refusal(&rig, "--dtype bf16");
    assert!(sentence.contains("--dtype bf16 is not supported by Rig GPU; choose f32 or f16"), "{sentence}");
    let sentence = refusal(&rig, "--dtype f16 --mode training --epochs 1");
    assert!(sentence.contains("--dtype f16 is for inference"), "{sentence}");
    let sentence = refusal(&rig.and("FOREGLOW_RIG_WITHOUT", "f16"), "--dtype f16");
    assert!(sentence.contains("--dtype f16 is not supported by Rig GPU; choose f32"), "{sentence}");
    Ok(())
}
