//! The work of the fit worker, and the messages in which it is asked for and answered.

use foreglow_model::{Predictor, ScenarioRow, scenario_table};
use serde::{Deserialize, Serialize};

use crate::job::Job;

/// What the page asks of the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FitRequest {
    /// Tells the answer to this request from the answer to an earlier one.
    pub number: u64,
    /// What to fit.
    pub job: Job,
}

/// What the worker says to the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// It has loaded and takes requests.
    Ready,
    /// The request with this number is answered.
    Answer(u64, Result<Box<Fitted>, String>),
    /// It cannot go on, and why.
    Broken(String),
}

/// A fitted predictor and how every scenario would have done on the same runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fitted {
    /// Predicts at once, so that the page follows the slider.
    pub predictor: Predictor,
    /// The accuracy of each scenario.
    pub scenarios: Vec<ScenarioRow>,
}

/// Fits a job. `clock` tells seconds and is what the table's training times are taken with.
///
/// # Errors
/// One sentence for a person: why these runs give no predictor.
pub fn fit(job: &Job, clock: &mut dyn FnMut() -> f64) -> Result<Fitted, String> {
    let predictor = Predictor::fit(&job.context, &job.observations).map_err(|error| error.to_string())?;
    let scenarios = scenario_table(&job.context, &job.observations, clock);
    Ok(Fitted { predictor, scenarios })
}
