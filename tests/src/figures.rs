//! Figures of benchmarks: printed, and written as JSON.

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::workspace_dir;

/// Returns a figure.
pub fn figure(what: &str, value: f64, unit: &str) -> Value {
    json!({ "what": what, "value": (value * 10.0).round() / 10.0, "unit": unit })
}

/// Returns a quantile of times.
pub fn quantile(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = ((sorted.len().saturating_sub(1)) as f64 * part).round();
    sorted.get(place as usize).copied().unwrap_or(f64::NAN)
}

/// Prints figures.
pub fn print(figures: &[Value]) {
    for figure in figures {
        let text = |field: &str| figure[field].as_str().unwrap_or_default();
        eprintln!("{:60} {:>10.1} {}", text("what"), figure["value"], text("unit"));
    }
}

/// Writes a report to `target/bench`.
///
/// # Errors
/// The file cannot be written.
pub fn write(name: &str, report: &Value) -> anyhow::Result<()> {
    let path = workspace_dir().join("target/bench").join(name);
    std::fs::create_dir_all(path.parent().context("the file has a folder")?)?;
    std::fs::write(&path, format!("{report:#}\n"))?;
    eprintln!("written to {}", path.display());
    Ok(())
}
