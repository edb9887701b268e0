//! How accurate predictors are on runs that they did not learn from.
//!
//! Runs that are equal in every feature are repeats of one setting: they are fitted by their median, and never stand on
//! both sides of a split. A run whose time is only a lower bound is never tested.

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

/// What a setting that was run several times is tested against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The median of its runs.
    #[default]
    Median,
    /// Each of its runs.
    Each,
}

/// One split of a table: runs to learn from, and other runs to predict.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    fit: Dataset,
    /// Completed runs; `None` where there is none.
    test: Option<Dataset>,
}

impl Trial {
    /// Learns from the medians of some runs and predicts others.
    pub fn new(fit: &Dataset, test: &Dataset, repeats: Repeats) -> Self {
        let test = match repeats {
            Repeats::Median => Settings::of(test).medians().completed(),
            Repeats::Each => test.completed(),
        };
        Self { fit: Settings::of(fit).medians().clone(), test }
    }

    /// The runs to learn from, one a setting.
    pub fn fit(&self) -> &Dataset {
        &self.fit
    }

    /// Runs to predict.
    pub fn tested(&self) -> usize {
        self.test.as_ref().map_or(0, |test| test.secs().len())
    }

    /// What a predictor answers for the runs to predict, beside what was measured.
    ///
    /// # Errors
    /// What `answer` returns.
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

    /// What a rival answers. It learns from the completed runs alone: a lower bound is no time to it.
    ///
    /// # Errors
    /// The rival cannot work with this table.
    pub fn rival(&self, rival: &dyn Rival, roles: &Roles) -> Result<Vec<Outcome>, RivalError> {
        self.outcomes(|fit, asked| {
            let completed = fit.completed().ok_or(RivalError::NoRun)?;
            let answers = rival.answer(&completed, asked, roles)?;
            Ok(answers.into_iter().map(|secs| Answer { secs, ..Answer::default() }).collect())
        })
    }
}
