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
enum Contestant {
    Foreglow,
    Rival(&'static dyn Rival),
}

/// Result of a predictor over all splits.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Standing {
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

struct Bout {
    secs: f64,
    outcomes: Result<Vec<Outcome>, String>,
}

impl Contestant {
    fn all() -> Vec<Self> {
        std::iter::once(Self::Foreglow).chain(RIVALS.iter().map(|rival| Self::Rival(*rival))).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Foreglow => FOREGLOW,
            Self::Rival(rival) => rival.name(),
        }
    }

    fn meet(self, trial: &Trial, roles: &Roles) -> Bout {
        let start = Instant::now();
        let outcomes = match self {
            Self::Foreglow => trial.outcomes(|fit, asked| foreglow(fit, asked, roles)),
            Self::Rival(rival) => trial.rival(rival, roles).map_err(|error| error.to_string()),
        };
        Bout { secs: start.elapsed().as_secs_f64(), outcomes }
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
pub fn hold(trials: &[Trial], roles: &Roles, mut done: impl FnMut(usize, usize)) -> Vec<Standing> {
    let contestants = Contestant::all();
    let bouts: Vec<(&Trial, Contestant)> =
        trials.iter().flat_map(|trial| contestants.iter().map(move |contestant| (trial, *contestant))).collect();
    let total = bouts.len();
    let (send, receive) = mpsc::channel();
    let mut met: Vec<Bout> = Vec::new();
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            // Times differ by a factor of thousands, so every bout can move to another thread.
            let each = bouts.into_par_iter().with_max_len(1).map_with(send, |send, (trial, contestant)| {
                let bout = contestant.meet(trial, roles);
                let _ = send.send(());
                bout
            });
            met = each.collect();
        });
        for (count, ()) in receive.iter().enumerate() {
            done(count + 1, total);
        }
    });
    let mut standings: Vec<Standing> = contestants
        .iter()
        .enumerate()
        .map(|(place, contestant)| {
            let own = met.iter().skip(place).step_by(contestants.len());
            standing(contestant.name(), &own.collect::<Vec<_>>(), trials)
        })
        .collect();
    let key = |standing: &Standing| standing.score.mape_percent.unwrap_or(f64::INFINITY);
    standings.sort_by(|a, b| (a.name != FOREGLOW).cmp(&(b.name != FOREGLOW)).then(key(a).total_cmp(&key(b))));
    standings
}

fn standing(name: &'static str, bouts: &[&Bout], trials: &[Trial]) -> Standing {
    let outcomes: Vec<Outcome> =
        bouts.iter().filter_map(|bout| bout.outcomes.as_ref().ok()).flatten().copied().collect();
    let asked: usize = trials.iter().map(Trial::tested).sum();
    let mut score = score(&outcomes);
    score.unknown = asked - score.tested;
    let error = bouts.iter().find_map(|bout| bout.outcomes.as_ref().err());
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
    let went_well: Vec<f64> = bouts.iter().filter(|bout| bout.outcomes.is_ok()).map(|bout| bout.secs).collect();
    let fit_secs = (score.tested > 0).then(|| went_well.iter().sum::<f64>() / went_well.len() as f64);
    Standing { name, score, fit_secs, reason }
}
