//! Comparison of Foreglow's predictor with its rivals.

use foreglow_model::Held;
use foreglow_shared::{format_duration, format_percent};
use serde::Serialize;

use super::SCHEMA;
use crate::evaluation::{Evaluation, MethodResult};
use crate::output::Format;
use crate::table::{aligned, csv_of, table};

/// Accuracy of every predictor on a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationAnswer {
    schema: u32,
    rows: usize,
    split: String,
    notes: Vec<String>,
    predictors: Vec<MethodResult>,
}

impl EvaluationAnswer {
    /// Creates the answer from an evaluation.
    pub fn new(evaluation: Evaluation) -> Self {
        let Evaluation { rows, split, notes, results: predictors } = evaluation;
        Self { schema: SCHEMA, rows, split, notes, predictors }
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{} rows: {}\n\n{}", self.rows, self.split, results(&self.predictors));
        if !self.notes.is_empty() {
            text.push('\n');
            self.notes.iter().for_each(|note| text.push_str(&format!("Note: {note}.\n")));
        }
        text
    }

    fn csv(&self) -> String {
        let columns = "name,mape_percent,median_ape_percent,coverage_percent,fit_secs,tested,unknown,reason";
        csv_of(columns, &self.predictors)
    }
}

/// Renders the predictors with their figures, followed by the reasons for missing figures.
pub(super) fn results(predictors: &[MethodResult]) -> String {
    let columns = aligned(["<predictor", "MAPE", "median error", "in 90 % interval", "tested", "fit"]);
    let percent = |value: Option<f64>| value.map_or_else(|| "–".into(), format_percent);
    let cells = |result: &MethodResult| {
        vec![
            result.name.to_owned(),
            percent(result.score.mape_percent),
            percent(result.score.median_ape_percent),
            percent(result.score.coverage_percent),
            result.score.tested.to_string(),
            result.fit_secs.map_or_else(|| "–".into(), format_duration),
        ]
    };
    let has_figures = |result: &&MethodResult| result.score.mape_percent.is_some();
    let mut text = table(&columns, predictors.iter().filter(has_figures).map(cells));
    predictors.iter().filter_map(covered).for_each(|line| text.push_str(&line));
    let reasons: String = predictors
        .iter()
        .filter_map(|result| Some(format!("  {}: {}\n", result.name, result.reason.as_ref()?)))
        .collect();
    if !reasons.is_empty() {
        text.push_str(&format!("\nMissing or partial figures:\n{reasons}"));
    }
    text
}

/// Returns a sentence about the coverage of a predictor's intervals.
fn covered(result: &MethodResult) -> Option<String> {
    let coverage = result.score.coverage?;
    let parts = [(coverage.within, "within"), (coverage.beyond, "beyond")];
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|(part, place)| Some((part, place, format_percent(part.percent()?))))
        .enumerate()
        .map(|(index, (Held { held, tested }, place, percent))| {
            let ranges = ["the fitted ranges", "them"][index];
            let runs = ["runs ", ""][index];
            format!("{held} of {tested} {runs}{place} {ranges} ({percent})")
        })
        .collect();
    Some(format!("\nThe 90 % intervals of {} held {}.\n", result.name, parts.join(" and ")))
}
