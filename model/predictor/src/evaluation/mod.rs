//! Evaluates predictors on held-out runs.
//!
//! Runs with equal features are repeats of one setting. They are fitted by their median and never
//! divided between the two sides of a split. Runs whose time is a lower bound are never tested.

mod samples;
mod score;
mod settings;
mod split;

pub use crate::evaluation::samples::sample_trial;
pub use crate::evaluation::score::{Answer, Coverage, Held, Outcome, Score, score};
pub use crate::evaluation::settings::Settings;
pub use crate::evaluation::split::{Split, draw};

use crate::rival::{Rival, RivalError, Roles};
use crate::{Dataset, Features};

/// Measured value of a setting that was run several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The median of its runs is one test value.
    #[default]
    Median,
    /// Each run is a test value.
    Each,
}

/// One split of a table: training and test runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    fit: Dataset,
    /// Completed test runs; `None` if there are none.
    test: Option<Dataset>,
}

impl Trial {
    /// Creates a trial that trains on the medians of `fit` and tests on `test`.
    pub fn new(fit: &Dataset, test: &Dataset, repeats: Repeats) -> Self {
        let test = match repeats {
            Repeats::Median => Settings::of(test).medians().completed(),
            Repeats::Each => test.completed(),
        };
        Self { fit: Settings::of(fit).medians().clone(), test }
    }

    /// Returns the training data, one row per setting.
    pub fn fit(&self) -> &Dataset {
        &self.fit
    }

    /// Returns the number of test values.
    pub fn tested(&self) -> usize {
        self.test.as_ref().map_or(0, |test| test.secs().len())
    }

    /// Returns a predictor's answers for the test runs with the measured times.
    ///
    /// # Errors
    /// The errors of `answer`.
    pub fn outcomes<E>(
        &self,
        answer: impl FnOnce(&Dataset, &Features) -> Result<Vec<Answer>, E>,
    ) -> Result<Vec<Outcome>, E> {
        let Some(test) = &self.test else { return Ok(Vec::new()) };
        let answers = answer(&self.fit, test.features())?;
        Ok(answers
            .into_iter()
            .zip(test.secs())
            .map(|(answer, secs)| Outcome { measured_secs: *secs, answer })
            .collect())
    }

    /// Returns a rival's answers. It is trained on completed runs only, because rivals do not
    /// support lower bounds.
    ///
    /// # Errors
    /// [`RivalError`]: the rival does not support this table.
    pub fn rival(&self, rival: &dyn Rival, roles: &Roles) -> Result<Vec<Outcome>, RivalError> {
        self.outcomes(|fit, asked| {
            let completed = fit.completed().ok_or(RivalError::NoRun)?;
            let answers = rival.answer(&completed, asked, roles)?;
            Ok(answers.into_iter().map(|secs| Answer { secs, ..Answer::default() }).collect())
        })
    }
}
