//! Coverage of the 90 % intervals on the development groups.

use std::collections::BTreeMap;

use foreglow_model::{Prediction, Spread, Warning};

use crate::groups::Group;

/// Half the step of the numeric derivative that gives a density, in ln t.
const STEP: f64 = 1e-4;
/// Classes of the number of fitted rows: largest number and name.
const ROWS: [(usize, &str); 4] = [(5, "3 to 5"), (15, "6 to 15"), (60, "16 to 60"), (usize::MAX, "more")];

/// Result of a group on its questions within the fitted ranges, or on those beyond them.
pub struct Finding {
    source: &'static str,
    is_beyond: bool,
    rows: usize,
    /// Share of the tested runs inside their interval.
    held: f64,
    asked: usize,
    /// Mean log density of ln(measured ÷ predicted) under the Student's t distribution alone.
    log_density: Option<f64>,
}

/// Fits a group and predicts its tested runs.
///
/// # Errors
/// The group cannot be fitted or predicted.
pub fn find(group: &Group) -> anyhow::Result<Vec<Finding>> {
    let predictions = group.fit.fit()?.predict(group.asked.0.features())?;
    let asked: Vec<(&Prediction, f64)> = predictions.iter().zip(group.asked.0.secs().iter().copied()).collect();
    let part = |is_beyond: bool| {
        let asked: Vec<(&Prediction, f64)> = asked.iter().filter(|(p, _)| leaves(p) == is_beyond).copied().collect();
        let held: Vec<bool> = asked.iter().filter_map(|(prediction, secs)| holds(prediction, *secs)).collect();
        let densities: Vec<f64> = asked.iter().filter_map(|(prediction, secs)| density(prediction, *secs)).collect();
        (!held.is_empty()).then(|| Finding {
            source: group.source,
            is_beyond,
            rows: group.fit.len(),
            held: held.iter().filter(|held| **held).count() as f64 / held.len() as f64,
            asked: held.len(),
            log_density: mean(&densities),
        })
    };
    Ok([false, true].into_iter().filter_map(part).collect())
}

fn leaves(prediction: &Prediction) -> bool {
    prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }))
}

/// Returns whether a measured time is inside the interval of its prediction; `None` without an
/// interval.
pub fn holds(prediction: &Prediction, secs: f64) -> Option<bool> {
    prediction.interval.map(|interval| (interval.lower_secs..=interval.upper_secs).contains(&secs))
}

fn density(prediction: &Prediction, secs: f64) -> Option<f64> {
    let spread = prediction.spread.as_ref().filter(|spread| matches!(spread, Spread::StudentT { .. }))?;
    let ratio = secs / prediction.completion_time_secs?;
    let [below, above] = [-STEP, STEP].map(|step| spread.probability_below(ratio * libm::exp(step)));
    Some(libm::log(((above - below) / (2.0 * STEP)).max(f64::MIN_POSITIVE)))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Prints the coverage by class: of each source, and the mean over the sources. Within a source,
/// each group has the same weight.
pub fn print(findings: &[Finding]) {
    println!("| 90 % intervals | groups | asked | held, mean over groups by source | mean |\n|---|---|---|---|---|");
    for is_beyond in [false, true] {
        let place = if is_beyond { "beyond" } else { "within" };
        let mut least = 0;
        for (most, rows) in ROWS {
            let chosen =
                |finding: &&Finding| finding.is_beyond == is_beyond && finding.rows > least && finding.rows <= most;
            line(&format!("{place}, {rows} rows fitted"), &findings.iter().filter(chosen).collect::<Vec<_>>());
            least = most;
        }
        line(place, &findings.iter().filter(|finding| finding.is_beyond == is_beyond).collect::<Vec<_>>());
    }
    let mut by_part = BTreeMap::<(bool, &str), Vec<f64>>::new();
    for finding in findings {
        by_part.entry((finding.is_beyond, finding.source)).or_default().extend(finding.log_density);
    }
    let parts: Vec<f64> = by_part.values().filter_map(|part| mean(part)).collect();
    let density = mean(&parts).unwrap_or(f64::NAN);
    println!("\nMean logarithm of the density of ln(measured ÷ predicted), where Student's t says it: {density:.4}");
}

fn line(name: &str, findings: &[&Finding]) {
    let mut by_source = BTreeMap::<&str, Vec<f64>>::new();
    findings.iter().for_each(|finding| by_source.entry(finding.source).or_default().push(100.0 * finding.held));
    let means: Vec<(&str, f64)> = by_source.iter().filter_map(|(source, held)| Some((*source, mean(held)?))).collect();
    let Some(all) = mean(&means.iter().map(|(_, held)| *held).collect::<Vec<f64>>()) else { return };
    let sources: Vec<String> = means.iter().map(|(source, held)| format!("{source} {held:.1}")).collect();
    let asked: usize = findings.iter().map(|finding| finding.asked).sum();
    println!("| {name} | {} | {asked} | {} | {all:.1} |", findings.len(), sources.join(", "));
}
