//! The predictor.

use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::prediction::Prediction;
use crate::{Choice, FitError, Scenario, Setting, Warning};

/// A fitted predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    scenario: Scenario,
    choices: Vec<Choice>,
}

impl Predictor {
    /// Fits observations of one context.
    ///
    /// # Errors
    /// [`FitError`] says what is missing and what to collect.
    pub fn fit(context: &Context, observations: &[Observation]) -> Result<Self, FitError> {
        let _ = (context, observations);
        Err(FitError::NoObservations)
    }

    /// Predicts the completion time of a setting.
    pub fn predict(&self, setting: Setting) -> Prediction {
        let _ = setting;
        Prediction::unknown(vec![Warning::NotPositive])
    }

    /// The scenario that was fitted.
    pub fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// What was chosen at each place.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }
}
