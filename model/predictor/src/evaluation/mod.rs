//! Evaluates predictors on held-out runs.
//!
//! Runs with equal features are repeats of one setting. They are never divided between the two
//! sides of a split. Runs whose time is a lower bound are never tested.

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

/// Values of a setting that was run several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The median of its runs is fitted or tested.
    #[default]
    Median,
    /// Each run is fitted or tested. Intervals are for one run, and their width depends on how the
    /// repeats of the fitted settings differ. Rivals are trained on the medians.
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
    /// Creates a trial that trains on `fit` and tests on `test`.
    pub fn new(fit: &Dataset, test: &Dataset, repeats: Repeats) -> Self {
        let values = |runs: &Dataset| match repeats {
            Repeats::Median => Settings::of(runs).medians().clone(),
            Repeats::Each => runs.clone(),
        };
        Self { fit: values(fit), test: values(test).completed() }
    }

    /// Returns the training data.
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

    /// Returns a rival's answers. It is trained on the median of each setting, of completed runs
    /// only, because rivals do not support lower bounds.
    ///
    /// # Errors
    /// [`RivalError`]: the rival does not support this table.
    pub fn rival(&self, rival: &dyn Rival, roles: &Roles) -> Result<Vec<Outcome>, RivalError> {
        self.outcomes(|fit, asked| {
            let completed = Settings::of(fit).medians().completed().ok_or(RivalError::NoRun)?;
            let answers = rival.answer(&completed, asked, roles)?;
            Ok(answers.into_iter().map(|secs| Answer { secs, ..Answer::default() }).collect())
        })
    }
}
