//! Comparison of a store with the sent samples.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use anyhow::Context as _;
use foreglow_tests::collector::{self, Collector, Connection};
use serde_json::Value;

/// Restarts a collector, and compares its samples with the sent and acknowledged ones.
pub fn check(store: &OsStr, acknowledged: &BTreeSet<String>) -> anyhow::Result<()> {
    let collector = Collector::start(store, "")?;
    let mut connection = Connection::open(&collector.address)?;
    let health = get(&mut connection, "/healthz")?;
    anyhow::ensure!(health == "ok\n", "the store is damaged: {health}");
    let (mut stored, mut lines, mut figures) = (BTreeSet::new(), 0, Figures::default());
    let mut after = String::new();
    loop {
        let page = get(&mut connection, &format!("/api/v1/samples?limit=100000{after}"))?;
        for line in page.lines() {
            let sample: Value = serde_json::from_str(line)?;
            let id = sample["id"].as_str().context("a sample has no id")?.to_owned();
            let number = u64::from_str_radix(id.rsplit('-').next().unwrap_or_default(), 16)?;
            let sent: Value = serde_json::from_str(&collector::sample(number))?;
            anyhow::ensure!(sample == sent, "{line} was stored, and {sent} was sent");
            figures.count(&sample)?;
            lines += 1;
            after = format!("&after={id}");
            stored.insert(id);
        }
        if page.is_empty() {
            break;
        }
    }
    anyhow::ensure!(lines == stored.len(), "{} samples are stored more than once", lines - stored.len());
    let lost = acknowledged.difference(&stored).count();
    anyhow::ensure!(lost == 0, "{lost} of {} acknowledged samples are lost", acknowledged.len());
    figures.compare(&mut connection)
}

/// Returns an answer with the status 200.
fn get(connection: &mut Connection, path: &str) -> anyhow::Result<String> {
    let (status, answer) = connection.send("GET", path, "")?;
    anyhow::ensure!(status == 200, "{path}: {status} {answer}");
    Ok(answer)
}

/// Expected figures of the collector for the samples.
#[derive(Debug, Default)]
struct Figures {
    workloads: BTreeMap<String, u64>,
    /// Completion times of equal runs, seconds.
    runs: BTreeMap<String, Vec<f64>>,
}

/// Fields that equal runs share, besides the sampling rate.
const KEY: [&str; 5] = ["workload", "configuration", "engine", "outcome", "host"];

impl Figures {
    fn count(&mut self, sample: &Value) -> anyhow::Result<()> {
        *self.workloads.entry(sample["workload"].to_string()).or_default() += 1;
        let secs = sample["completion_time_secs"].as_f64().context("a sample has no time")?;
        self.runs.entry(key(sample)).or_default().push(secs);
        Ok(())
    }

    /// Compares the figures with the answers of the collector.
    fn compare(&self, connection: &mut Connection) -> anyhow::Result<()> {
        let answer: Value = serde_json::from_str(&get(connection, "/api/v1/workloads")?)?;
        let list = answer["workloads"].as_array().context("there are no workloads")?;
        let counted = list.iter().map(|one| (one["workload"].to_string(), one["samples"].as_u64().unwrap_or(0)));
        let counted: BTreeMap<String, u64> = counted.collect();
        anyhow::ensure!(counted == self.workloads, "workloads: {counted:?} in place of {:?}", self.workloads);
        let answer: Value = serde_json::from_str(&get(connection, "/api/v1/runs?limit=100000")?)?;
        let list = answer["runs"].as_array().context("there are no runs")?;
        anyhow::ensure!(list.len() == self.runs.len(), "{} runs in place of {}", list.len(), self.runs.len());
        for runs in list {
            let secs = self.runs.get(&key(runs)).with_context(|| format!("no sample is of {runs}"))?;
            let times = &runs["completion_time"];
            let found = [&times["mean_secs"], &times["least_secs"], &times["most_secs"]].map(Value::as_f64);
            let mean = secs.iter().sum::<f64>() / secs.len() as f64;
            let right = [mean, secs.iter().copied().fold(f64::MAX, f64::min), secs.iter().copied().fold(0.0, f64::max)];
            // Up to rounding, because the collector adds in another order.
            let is_same =
                |(found, right): (&Option<f64>, &f64)| found.is_some_and(|found| (found - right).abs() < 1e-9);
            anyhow::ensure!(
                runs["samples"] == secs.len() && found.iter().zip(&right).all(is_same),
                "{runs} in place of {} samples, {right:?}",
                secs.len()
            );
        }
        Ok(())
    }
}

fn key(of: &Value) -> String {
    // The same rate may be written 1 or 1.0.
    format!("{} {:?}", KEY.map(|field| of[field].to_string()).join(" "), of["sampling_rate"].as_f64())
}
