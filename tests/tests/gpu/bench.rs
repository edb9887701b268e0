//! The benchmark for a fresh machine with a GPU completes.

use std::process::Command;

use anyhow::Context as _;
use foreglow_tests::{GpuRig, foreglow, workspace_dir};
use serde_json::Value;

#[test]
fn the_gpu_benchmark_measures_its_small_cases_and_writes_comparisons_and_a_table() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(1, "NVIDIA A10G")? else { return Ok(()) };
    let out = tempfile::tempdir()?;
    let script = workspace_dir().join("bench/gpu/run.py");
    let output = Command::new("python3")
        .arg(&script)
        .args(["--quick", "--foreglow", &foreglow()?.display().to_string(), "--out"])
        .arg(out.path())
        .envs(rig.variables().iter().map(|(name, value)| (*name, value.as_str())))
        .output()
        .context("python3 cannot be started")?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(out.path().join(name));
    let entries: Vec<Value> = serde_json::from_str(&read("gpu.json")?)?;
    let raw: Value = serde_json::from_str(&read("gpu-raw.json")?)?;
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let expected = [
        "lenet5 32 px, inference, batch 8, f32",
        "lenet5 32 px, inference, batch 8, f16",
        "lenet5 32 px, training, batch 8, f32",
        "the demo, from its start to its answer",
    ];
    assert_eq!(names, expected, "{raw}");
    assert_eq!(raw["skipped"], Value::Array(Vec::new()));
    assert_eq!(raw["machine"]["gpu"]["name"], "NVIDIA A10G");
    for entry in &entries {
        assert!(entry["ours"].as_f64().unwrap() > 0.0, "{entry}");
        assert!(entry["unit"] == "images/s" || entry["unit"] == "s", "{entry}");
    }
    let table = read("gpu.md")?;
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + expected.len(), "{table}");
    let columns = |row: &str| row.matches(" | ").count();
    assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{table}");
    Ok(())
}
