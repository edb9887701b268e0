//! A graphics adapter that disappears during a sweep. The adapter is Mesa's software adapter, which
//! the Vulkan loader finds through a file: removing the file is like removing the card.
#![cfg(all(feature = "gpu", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use foreglow_shared::Outcome;

use crate::bench_folder::{foreglow, images, text};

/// Search paths of the Vulkan loader on Linux ("Driver discovery on Linux").
const DRIVERS: [&str; 2] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// Returns the manifest file of the software driver.
fn software_driver() -> Option<PathBuf> {
    let files = DRIVERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| path.to_string_lossy().contains("lvp_icd"))
}

#[test]
fn an_adapter_that_disappears_during_a_sweep_fails_its_runs_with_the_reason() {
    let Some(driver) = software_driver() else {
        eprintln!("SKIPPED: this machine has no software Vulkan adapter");
        return;
    };
    let folder = images(8);
    let (file, own) = (folder.path().join("samples.jsonl"), folder.path().join("driver.json"));
    std::fs::copy(driver, &own).unwrap();
    let mut collect = foreglow(&["collect", "--model", "lenet5", "--data", text(folder.path()), "--device", "1"]);
    collect.args([
        "--executors",
        "1",
        "--cores",
        "1",
        "--sampling-rate",
        "1",
        "--repeat",
        "3",
        "--output",
        text(&file),
    ]);
    let collect = collect.env("VK_DRIVER_FILES", &own).env("VK_ICD_FILENAMES", &own);
    let collect = collect.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_a_sample(&file);
    std::fs::remove_file(&own).unwrap();
    let output = collect.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    let samples = foreglow_shared::read_samples(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(samples.len(), 3, "the sweep went on: {err}");
    assert_eq!(samples[0].outcome, Outcome::Completed, "{:?}", samples[0].reason);
    let last = &samples[2];
    assert_eq!((last.outcome, last.completion_time_secs), (Outcome::Failed, None));
    let reason = last.reason.as_deref().unwrap();
    assert!(reason.contains("the device does not exist"), "{reason}");
    assert!(err.contains("runs failed; their reasons are in"), "{err}");
}

fn wait_for_a_sample(file: &Path) {
    let patience = Instant::now() + Duration::from_secs(300);
    while std::fs::read_to_string(file).unwrap_or_default().lines().count() == 0 {
        assert!(Instant::now() < patience, "no sample after 300 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}
