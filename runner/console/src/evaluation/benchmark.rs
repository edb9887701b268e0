//! Evaluation of every predictor on every split, in parallel.

use std::sync::mpsc;
use std::time::Instant;

use foreglow_model::{
    Answer, Dataset, Features, Outcome, RIVALS, Rival, Roles, Score, TablePredictor, Trial, Warning, score,
};
use rayon::prelude::*;

/// Name of the default predictor.
pub(super) const FOREGLOW: &str = "foreglow";

/// A predictor under evaluation.
#[derive(Clone, Copy)]
enum Method {
    Foreglow,
    Rival(&'static dyn Rival),
}

/// Result of a predictor over all splits.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MethodResult {
    /// Name of the predictor.
    pub name: &'static str,
    /// Error statistics.
    #[serde(flatten)]
    pub score: Score,
    /// Mean time of a fit with its predictions over the splits, seconds; `None` if every fit
    /// failed.
    pub fit_secs: Option<f64>,
    /// Reason why figures are missing or cover only a part of the runs.
    pub reason: Option<String>,
}

struct MethodRun {
    secs: f64,
    outcomes: Result<Vec<Outcome>, String>,
}

impl Method {
    fn all() -> Vec<Self> {
        std::iter::once(Self::Foreglow).chain(RIVALS.iter().map(|rival| Self::Rival(*rival))).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Foreglow => FOREGLOW,
            Self::Rival(rival) => rival.name(),
        }
    }

    fn run(self, trial: &Trial, roles: &Roles) -> MethodRun {
        let start = Instant::now();
        let outcomes = match self {
            Self::Foreglow => trial.outcomes(|fit, asked| foreglow(fit, asked, roles)),
            Self::Rival(rival) => trial.rival(rival, roles).map_err(|error| error.to_string()),
        };
        MethodRun { secs: start.elapsed().as_secs_f64(), outcomes }
    }
}

fn foreglow(fit: &Dataset, asked: &Features, roles: &Roles) -> Result<Vec<Answer>, String> {
    let predictor = TablePredictor::fit(fit, &roles.meanings()).map_err(|error| error.to_string())?;
    let predictions = predictor.predict(asked).map_err(|error| error.to_string())?;
    let is_beyond = |prediction: &foreglow_model::Prediction| {
        prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }))
    };
    Ok(predictions.iter().map(|prediction| Answer::of(prediction, is_beyond(prediction))).collect())
}

/// Evaluates every predictor on every trial, and calls `done(finished, total)` after each. Foreglow
/// comes first, then the rivals by MAPE, then those without a MAPE.
pub fn benchmark(trials: &[Trial], roles: &Roles, mut done: impl FnMut(usize, usize)) -> Vec<MethodResult> {
    let methods = Method::all();
    let runs: Vec<(&Trial, Method)> =
        trials.iter().flat_map(|trial| methods.iter().map(move |method| (trial, *method))).collect();
    let total = runs.len();
    let (send, receive) = mpsc::channel();
    let mut done_runs: Vec<MethodRun> = Vec::new();
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            // Times differ by a factor of thousands, so every run of a method can move to another
            // thread.
            let each = runs.into_par_iter().with_max_len(1).map_with(send, |send, (trial, method)| {
                let run = method.run(trial, roles);
                let _ = send.send(());
                run
            });
            done_runs = each.collect();
        });
        for (count, ()) in receive.iter().enumerate() {
            done(count + 1, total);
        }
    });
    let mut results: Vec<MethodResult> = methods
        .iter()
        .enumerate()
        .map(|(place, method)| {
            let own = done_runs.iter().skip(place).step_by(methods.len());
            result(method.name(), &own.collect::<Vec<_>>(), trials)
        })
        .collect();
    let key = |result: &MethodResult| result.score.mape_percent.unwrap_or(f64::INFINITY);
    results.sort_by(|a, b| (a.name != FOREGLOW).cmp(&(b.name != FOREGLOW)).then(key(a).total_cmp(&key(b))));
    results
}

fn result(name: &'static str, runs: &[&MethodRun], trials: &[Trial]) -> MethodResult {
    let outcomes: Vec<Outcome> = runs.iter().filter_map(|run| run.outcomes.as_ref().ok()).flatten().copied().collect();
    let asked: usize = trials.iter().map(Trial::tested).sum();
    let mut score = score(&outcomes);
    score.unknown = asked - score.tested;
    let error = runs.iter().find_map(|run| run.outcomes.as_ref().err());
    let reason = match (error, score.unknown) {
        (_, 0) => (score.mape_percent.is_none() && asked > 0).then(|| "its errors are too large for a mean".to_owned()),
        (Some(error), unknown) if unknown == asked => Some(error.clone()),
        (Some(error), unknown) => Some(format!("{unknown} of {asked} runs are left out: {error}")),
        (None, unknown) => {
            let why = match name {
                FOREGLOW => "the fitted runs do not cover them",
                _ => "no fitted run shares their other features",
            };
            Some(format!("{unknown} of {asked} runs are left out: {why}"))
        }
    };
    let went_well: Vec<f64> = runs.iter().filter(|run| run.outcomes.is_ok()).map(|run| run.secs).collect();
    let fit_secs = (score.tested > 0).then(|| went_well.iter().sum::<f64>() / went_well.len() as f64);
    MethodResult { name, score, fit_secs, reason }
}
