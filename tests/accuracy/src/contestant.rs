//! The default predictor, called like `foreglow evaluate` does. Only this file depends on its
//! interface.

use foreglow_model::{
    Answer, Dataset, Features, Outcome, Prediction, Predictor, Roles, Setting, TablePredictor, Tuning, Warning,
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

/// Returns the predictor's answers for rows of a table.
///
/// # Errors
/// The predictor cannot be fitted.
pub fn answer_table(
    fit: &Dataset,
    asked: &Features,
    roles: &Roles,
    constants: &Constants,
) -> Result<Vec<Answer>, String> {
    let predictions = TablePredictor::fit_tuned(fit, &roles.meanings(), *constants)
        .map_err(|error| error.to_string())
        .and_then(|predictor| predictor.predict(asked).map_err(|error| error.to_string()))?;
    let is_beyond = |prediction: &Prediction| {
        prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }))
    };
    Ok(predictions.iter().map(|prediction| Answer::of(prediction, is_beyond(prediction))).collect())
}

/// Returns the predictor's answers for runs of a job.
///
/// # Errors
/// The predictor cannot be fitted.
pub fn answer_job(job: &Job, asked: &[Observation], constants: &Constants) -> Result<Vec<Outcome>, String> {
    let predictor = Predictor::fit_tuned(job, *constants).map_err(|error| error.to_string())?;
    let outcome = |run: &Observation| {
        let prediction = predictor.predict(Setting::of(run));
        // A whole job is always beyond samples of its images, so this alone does not count as
        // extrapolation.
        let most = job.observations.iter().map(|run| run.sampling_rate).fold(0.0, f64::max);
        let is_beyond = run.sampling_rate > most
            || prediction.warnings.iter().any(|warning| matches!(warning, Warning::OutsideSampledRange { .. }));
        Outcome { measured_secs: run.completion_time_secs, answer: Answer::of(&prediction, is_beyond) }
    };
    Ok(asked.iter().map(outcome).collect())
}
