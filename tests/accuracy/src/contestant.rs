//! The default predictor, called as `foreglow evaluate` calls it. Only this file changes with its
//! interface.

use foreglow_model::{
    Answer, Borrowing, Dataset, Ensemble, Features, Outcome, Pairs, Prediction, Predictor, Roles, Setting, Tuning,
    Warning,
};
use foreglow_shared::{Job, Observation};

/// The name of the default predictor.
pub const FOREGLOW: &str = Predictor::NAME;

/// The predictor's constants that are chosen on data.
pub type Constants = Tuning;

/// Returns the constants to choose from when a data set is left out, the model's own first.
pub fn candidates() -> Vec<Constants> {
    let own = Constants::default();
    vec![
        own,
        Constants { flexible_prior: 0.3, ..own },
        Constants { held_out_rows: 12.0, ..own },
        Constants { efficiency: 0.1, ..own },
        Constants { likeness: 0.3, ..own },
    ]
}

/// Returns the predictor's answers for rows of a table; `borrows` names a category with few rows of
/// some names.
///
/// # Errors
/// The predictor cannot be fitted.
pub fn answer_table(
    fit: &Dataset,
    asked: &Features,
    roles: &Roles,
    constants: &Constants,
    borrows: Option<&str>,
) -> Result<Vec<Answer>, String> {
    let predictions = match borrows {
        // As a plan over several machine types asks, which has no constants to choose.
        Some(category) => Borrowing::fit(fit, &roles.meanings(), category)
            .map_err(|error| error.to_string())
            .and_then(|predictor| predictor.predict(asked).map_err(|error| error.to_string()))?,
        None => Ensemble::fit_tuned(fit, &roles.meanings(), *constants)
            .map_err(|error| error.to_string())
            .and_then(|predictor| predictor.predict(asked).map_err(|error| error.to_string()))?,
    };
    let is_beyond = |prediction: &Prediction| {
        prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }))
    };
    Ok(predictions.iter().map(|prediction| answer(prediction, is_beyond(prediction))).collect())
}

/// Returns the answers for pairs of a machine type and a CNN that were measured only apart.
///
/// # Errors
/// The table has other than two categories, or a question cannot be answered.
pub fn answer_pairs(fit: &Dataset, asked: &Features) -> Result<Vec<Answer>, String> {
    let pairs = Pairs::of(fit).ok_or("the table does not have two categories")?;
    let predictions = pairs.predict(asked).map_err(|error| error.to_string())?;
    let unknown = || Answer { secs: None, interval: None, is_beyond: false };
    Ok(predictions.into_iter().map(|prediction| prediction.map_or_else(unknown, |it| answer(&it, false))).collect())
}

/// Returns the predictor's answers for runs of a job.
///
/// # Errors
/// The predictor cannot be fitted.
pub fn answer_job(job: &Job, asked: &[Observation], constants: &Constants) -> Result<Vec<Outcome>, String> {
    let predictor = Predictor::fit_tuned(job, *constants).map_err(|error| error.to_string())?;
    let outcome = |run: &Observation| {
        let prediction = predictor.predict(Setting::of(run));
        // A whole job is always beyond samples of its images, so this alone gives no warning.
        let most = job.observations.iter().map(|run| run.sampling_rate).fold(0.0, f64::max);
        let is_beyond = run.sampling_rate > most
            || prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }));
        Outcome { measured_secs: run.completion_time_secs, answer: answer(&prediction, is_beyond) }
    };
    Ok(asked.iter().map(outcome).collect())
}

fn answer(prediction: &Prediction, is_beyond: bool) -> Answer {
    Answer {
        secs: prediction.completion_time_secs,
        interval: prediction.interval.map(|interval| (interval.lower_secs, interval.upper_secs)),
        is_beyond,
    }
}
