//! What `foreglow evaluate` says, and the means over the parts of a protocol.

use std::iter::Sum;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::protocol::Protocol;

/// The answer for one part.
pub struct Part(Vec<Value>);

/// How a predictor did in a protocol.
pub struct Row {
    /// The data set.
    pub set: &'static str,
    /// What was asked.
    pub protocol: String,
    /// The predictor.
    pub predictor: String,
    /// Mean over the parts of the mean absolute percentage error; `None` where a part has none.
    pub mape_percent: Option<f64>,
    /// Share of the tested runs inside their interval.
    pub coverage_percent: Option<f64>,
    /// Tested runs within the fitted ranges, and those of them inside their interval.
    pub within: Covered,
    /// The same beyond the fitted ranges.
    pub beyond: Covered,
    /// Tested runs of all parts.
    pub tested: u64,
    /// Runs that could not be predicted, in no figure.
    pub unknown: u64,
    /// Mean over the parts of the seconds that a fit took.
    pub fit_secs: Option<f64>,
}

/// Tested runs, and how many of them lie inside their interval.
#[derive(Clone, Copy, Default)]
pub struct Covered {
    pub held: u64,
    pub tested: u64,
}

impl Covered {
    /// Share of the tested runs; `None` of none.
    pub fn percent(self) -> Option<f64> {
        (self.tested > 0).then(|| 100.0 * self.held as f64 / self.tested as f64)
    }
}

impl Sum for Covered {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self { held: sum.held + part.held, tested: sum.tested + part.tested })
    }
}

impl Part {
    /// Runs `foreglow evaluate`.
    ///
    /// # Errors
    /// It fails.
    pub fn evaluate(foreglow: &Path, data: &Path, arguments: &[String]) -> anyhow::Result<Self> {
        let mut command = Command::new(foreglow);
        command.args(["evaluate", "--format", "json"]);
        for (place, word) in arguments.iter().enumerate() {
            let is_file = place > 0 && arguments[place - 1] == "--input";
            command.arg(if is_file { data.join(word) } else { word.into() });
        }
        let output = command.output().context("foreglow cannot be started")?;
        if !output.status.success() {
            bail!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        let mut answer: Value = serde_json::from_slice(&output.stdout)?;
        match answer["predictors"].take() {
            Value::Array(predictors) => Ok(Self(predictors)),
            _ => bail!("the answer of foreglow evaluate has no predictors"),
        }
    }

    fn of(&self, predictor: &str) -> &Value {
        self.0.iter().find(|standing| standing["name"] == predictor).unwrap_or(&Value::Null)
    }
}

/// Every predictor of a protocol, Foreglow first and then by MAPE.
pub fn rows(protocol: &Protocol, parts: &[Part]) -> Vec<Row> {
    let names = parts.first().map_or(&[][..], |part| &part.0).iter().filter_map(|standing| standing["name"].as_str());
    let mut rows: Vec<Row> = names.map(|name| row(protocol, parts, name)).collect();
    let key = |row: &Row| (row.predictor != "foreglow", row.mape_percent.unwrap_or(f64::INFINITY));
    rows.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    rows
}

fn row(protocol: &Protocol, parts: &[Part], predictor: &str) -> Row {
    let mean = |field: &str| {
        let values: Option<Vec<f64>> = parts.iter().map(|part| part.of(predictor)[field].as_f64()).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    };
    let sum = |field: &str| parts.iter().filter_map(|part| part.of(predictor)[field].as_u64()).sum::<u64>();
    let covered = |place: &str| {
        let count = |part: &Part, name: &str| part.of(predictor)["coverage"][place][name].as_u64().unwrap_or(0);
        parts.iter().map(|part| Covered { held: count(part, "held"), tested: count(part, "tested") }).sum()
    };
    let (within, beyond): (Covered, Covered) = (covered("within"), covered("beyond"));
    Row {
        set: protocol.set,
        protocol: protocol.name.clone(),
        predictor: predictor.to_owned(),
        mape_percent: mean("mape_percent"),
        coverage_percent: [within, beyond].into_iter().sum::<Covered>().percent(),
        within,
        beyond,
        tested: sum("tested"),
        unknown: sum("unknown"),
        fit_secs: mean("fit_secs"),
    }
}

impl Row {
    /// The row as `target/accuracy.json` has it.
    pub fn json(&self) -> Value {
        json!({
            "set": self.set,
            "protocol": self.protocol,
            "predictor": self.predictor,
            "mape_percent": self.mape_percent,
            "coverage_percent": self.coverage_percent,
            "within": { "held": self.within.held, "tested": self.within.tested },
            "beyond": { "held": self.beyond.held, "tested": self.beyond.tested },
            "tested": self.tested,
            "unknown": self.unknown,
            "fit_secs": self.fit_secs,
        })
    }
}
