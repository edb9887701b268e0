//! Figures of a protocol.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use foreglow_public::Speed;
use serde_json::{Value, json};

/// Quantile of the normal distribution at the end of a 90 % interval.
const NORMAL: f64 = 1.644_853_626_951_472_2;
/// Error by which a figure may exceed its reference.
const TOLERANCE: f64 = 1.05;

/// One held-out speed with its prediction.
#[derive(Clone, Debug)]
pub struct Held {
    /// What was left out.
    pub group: String,
    /// Name of the network.
    pub network: String,
    /// Measured images per second.
    pub images_per_sec: f64,
    /// The prediction.
    pub speed: Speed,
}

/// Figures of a protocol: means over its groups, of the means over their rows.
#[derive(Clone, Debug)]
pub struct Figures {
    pub protocol: String,
    /// MAPE of times, %.
    pub mape: f64,
    /// Median over the groups.
    pub median: f64,
    /// Mean relative error of speeds, %.
    pub of_speeds: f64,
    /// Share in the 90 % interval, %.
    pub coverage: f64,
    /// Factor from the prediction to the end of the interval.
    pub width: f64,
    pub rows: usize,
    /// Groups, each with its MAPE.
    pub groups: Vec<(String, f64, usize)>,
    /// Share of pairs in the right order, %, and their number.
    pub order: Option<(f64, usize)>,
}

fn log_error(one: &Held) -> f64 {
    one.speed.log_mean - libm::log(one.images_per_sec)
}

/// |t − t̂|/t, where t̂/t is the ratio of the measured to the predicted speed, %.
fn time_error(one: &Held) -> f64 {
    100.0 * (1.0 - libm::exp(-log_error(one))).abs()
}

impl Figures {
    pub fn of(protocol: &str, held: &[Held]) -> Self {
        let mut by_group: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
        for one in held {
            by_group.entry(&one.group).or_default().push(one);
        }
        let within =
            |rows: &[&Held], of: &dyn Fn(&Held) -> f64| rows.iter().map(|one| of(one)).sum::<f64>() / rows.len() as f64;
        let mean = |of: &dyn Fn(&Held) -> f64| {
            by_group.values().map(|rows| within(rows, of)).sum::<f64>() / by_group.len() as f64
        };
        let half = |one: &Held| NORMAL * one.speed.log_deviation;
        let groups: Vec<(String, f64, usize)> =
            by_group.iter().map(|(name, rows)| ((*name).to_owned(), within(rows, &time_error), rows.len())).collect();
        let mut sorted: Vec<f64> = groups.iter().map(|(_, error, _)| *error).collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            protocol: protocol.to_owned(),
            mape: mean(&time_error),
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN),
            of_speeds: mean(&|one| 100.0 * (1.0 - libm::exp(log_error(one))).abs()),
            coverage: mean(&|one| if log_error(one).abs() <= half(one) { 100.0 } else { 0.0 }),
            width: libm::exp(mean(&half)),
            rows: held.len(),
            groups,
            order: None,
        }
    }

    pub fn with_order(self, ordered: usize, pairs: usize) -> Self {
        Self { order: (pairs > 0).then(|| (100.0 * ordered as f64 / pairs as f64, pairs)), ..self }
    }

    /// Returns the row of `target/public-accuracy.json`.
    pub fn json(&self) -> Value {
        json!({
            "set": "Public measurements", "protocol": self.protocol, "predictor": "foreglow-public",
            "mape_percent": self.mape, "median_percent": self.median, "speed_error_percent": self.of_speeds,
            "coverage_percent": self.coverage, "width_factor": self.width, "rows": self.rows,
            "groups": self.groups.iter().map(|(name, error, rows)| json!({"name": name, "mape_percent": error, "rows": rows})).collect::<Vec<_>>(),
            "order_percent": self.order.map(|(percent, _)| percent),
        })
    }
}

/// Returns the figures as a table in Markdown.
pub fn table(figures: &[Figures]) -> String {
    let mut text = "| protocol | MAPE, mean | median | error of speeds | in the 90 % interval | width | rows, groups |\n|---|---|---|---|---|---|---|\n".to_owned();
    for one in figures {
        text.push_str(&format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.0} % | × {:.2} | {}, {} |\n",
            one.protocol,
            one.mape,
            one.median,
            one.of_speeds,
            one.coverage,
            one.width,
            one.rows,
            one.groups.len()
        ));
    }
    for (percent, pairs) in figures.iter().filter_map(|one| one.order) {
        text.push_str(&format!(
            "\nOrder of two GPUs that differ by more than a quarter: right in {percent:.1} % of {pairs} pairs.\n"
        ));
    }
    text
}

/// Writes the errors that [`check`] compares with.
pub fn write_reference(figures: &[Figures], file: &Path) -> anyhow::Result<()> {
    let lines = figures.iter().map(|one| format!("{},{:.2}\n", one.protocol.replace(',', ";"), one.mape));
    let text = format!("protocol,mape_percent\n{}", lines.collect::<String>());
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

/// Fails if an error exceeds its reference by more than a twentieth.
pub fn check(figures: &[Figures], file: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    for line in text.lines().skip(1) {
        let (name, error) = line.rsplit_once(',').context("a line has a protocol and an error")?;
        let reference: f64 = error.parse()?;
        let own = figures.iter().find(|one| one.protocol.replace(',', ";") == name);
        let own = own.with_context(|| format!("{name} was not measured"))?;
        anyhow::ensure!(own.mape <= reference * TOLERANCE, "{name}: {:.1} % in place of {reference:.1} %", own.mape);
    }
    Ok(())
}
