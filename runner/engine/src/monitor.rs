//! Resource use of a run, sampled once a second.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_machine::AcceleratorUse;
use serde::Serialize;
use serde_json::{Value, json};

/// Time between two moments.
const PERIOD: Duration = Duration::from_secs(1);

/// Resource use of a run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Time since the clock started, seconds.
    pub secs: f64,
    /// Images finished per second since the previous moment.
    pub images_per_sec: f64,
    /// Processors in use by the executors.
    pub processors: f64,
    /// Resident memory of the executors, MiB.
    pub memory_mib: Option<u64>,
    /// Use of each GPU, in the driver's order; empty if no driver reports it.
    pub accelerators: Vec<AcceleratorUse>,
}

/// The moments of a run.
#[derive(Default)]
pub struct Monitor {
    moments: Vec<Moment>,
    last: Option<(Instant, u64)>,
    file: Option<(File, Value)>,
}

/// Opens the file of a monitor for appending.
///
/// # Errors
/// The file cannot be opened.
pub fn open(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("--monitor {}: the file cannot be opened for writing", path.display()))
}

impl Monitor {
    /// Writes each moment to a file as a line of JSON, together with the fields of `run`.
    pub fn writing_to(file: File, run: Value) -> Self {
        Self { file: Some((file, run)), ..Self::default() }
    }

    /// Records a moment if the interval has passed. `look` returns processors, memory and
    /// accelerators.
    pub fn tick(
        &mut self,
        clock: Instant,
        images: u64,
        look: impl FnOnce() -> (f64, Option<u64>, Vec<AcceleratorUse>),
    ) {
        let (since, before) = self.last.unwrap_or((clock, 0));
        let elapsed = since.elapsed();
        if elapsed < PERIOD {
            return;
        }
        let (processors, memory_mib, accelerators) = look();
        let images_per_sec = images.saturating_sub(before) as f64 / elapsed.as_secs_f64();
        let secs = clock.elapsed().as_secs_f64();
        self.last = Some((Instant::now(), images));
        let moment = Moment {
            secs: rounded(secs),
            images_per_sec: rounded(images_per_sec),
            processors: rounded(processors),
            memory_mib,
            accelerators,
        };
        self.write(&moment);
        self.moments.push(moment);
    }

    fn write(&mut self, moment: &Moment) {
        let Some((file, run)) = &mut self.file else { return };
        let mut line = json!(moment);
        if let (Value::Object(line), Value::Object(run)) = (&mut line, run) {
            line.extend(run.clone());
        }
        // A full disk ends the monitoring, not the run.
        if let Err(error) = writeln!(file, "{line}") {
            foreglow_exit::note(&format!("warning: the monitor's file cannot be written: {error}"));
            self.file = None;
        }
    }

    /// Returns mean and maximum of each value; `None` if the run was shorter than a second.
    pub fn summary(&self) -> Option<Value> {
        let of = |part: &dyn Fn(&Moment) -> Option<f64>| of_all(self.moments.iter().filter_map(part));
        let devices = self.moments.first()?.accelerators.len();
        let accelerators: Vec<Value> = (0..devices)
            .map(|device| {
                let of_device = |part: fn(&AcceleratorUse) -> Option<f64>| {
                    of(&|moment| moment.accelerators.get(device).and_then(part))
                };
                json!({
                    "use_percent": of_device(|one| one.use_percent.map(f64::from)),
                    "memory_used_mib": of_device(|one| one.memory_used_mib.map(|mib| mib as f64)),
                })
            })
            .collect();
        Some(json!({
            "moments": self.moments.len(),
            "images_per_sec": of(&|moment| Some(moment.images_per_sec)),
            "processors": of(&|moment| Some(moment.processors)),
            "memory_mib": of(&|moment| moment.memory_mib.map(|mib| mib as f64)),
            "accelerators": accelerators,
        }))
    }
}

/// Returns mean and maximum; `null` without values.
fn of_all(numbers: impl Iterator<Item = f64>) -> Value {
    let numbers: Vec<f64> = numbers.collect();
    if numbers.is_empty() {
        return Value::Null;
    }
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    json!({ "mean": rounded(mean), "max": rounded(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)) })
}

fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summed_up_by_means_and_maxima_and_each_moment_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor.jsonl");
        let mut monitor = Monitor::writing_to(open(&path).unwrap(), json!({ "sample": "a" }));
        assert_eq!(monitor.summary(), None, "nothing was looked at");
        // The clock started 2 s ago, so one moment is due at once, and no second one.
        let clock = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let gpu = |percent| AcceleratorUse { use_percent: Some(percent), ..AcceleratorUse::default() };
        monitor.tick(clock, 100, || (1.5, Some(64), vec![gpu(40)]));
        monitor.tick(clock, 100, || unreachable!("a second has not passed"));
        monitor.last = Some((clock, 100));
        monitor.tick(clock, 100, || (0.5, Some(128), vec![gpu(80)]));
        let summary = monitor.summary().unwrap();
        assert_eq!((&summary["moments"], &summary["processors"]), (&json!(2), &json!({ "mean": 1.0, "max": 1.5 })));
        assert_eq!(summary["memory_mib"], json!({ "mean": 96.0, "max": 128.0 }));
        assert_eq!(summary["accelerators"][0]["use_percent"], json!({ "mean": 60.0, "max": 80.0 }));
        assert_eq!(summary["accelerators"][0]["memory_used_mib"], Value::Null);
        assert!((summary["images_per_sec"]["max"].as_f64().unwrap() - 50.0).abs() < 1.0, "{summary}");
        let lines: Vec<Value> =
            std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[1]["sample"], &lines[1]["memory_mib"]), (&json!("a"), &json!(128)));
    }
}
