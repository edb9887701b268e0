//! The two-level hierarchy: what each feature does to the time alone, then the time from the product of that.

use serde::{Deserialize, Serialize};

use crate::learner::{Linear, Table};
use crate::row::{Row, longest_secs};
use crate::scaled_time::scaled_times;
use crate::selection::select;
use crate::{Choice, Feature, FitError, Place, Setting};

/// Level 1 and level 2-2 (the paper, §4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hierarchy {
    level1: Vec<Effect>,
    level2: Linear,
    /// Unit of level 2's target: the longest training time, so that the unit of the times changes no choice.
    longest_secs: f64,
}

/// What one feature does to the scaled time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Effect {
    feature: Feature,
    /// `None` where no two rows differ in this feature alone: the effect is then 1 everywhere.
    line: Option<Linear>,
}

impl Hierarchy {
    /// Fits two rows or more.
    ///
    /// # Errors
    /// No two rows differ in the sampling rate alone: without its effect nothing can be said about the whole job.
    pub(crate) fn fit(rows: &[Row]) -> Result<(Self, Vec<Choice>), FitError> {
        let mut choices = Vec::new();
        let mut level1 = Vec::new();
        for feature in Feature::ALL {
            let table = scaled_times(rows, feature);
            let line = (table.rows() > 0).then(|| {
                let (choice, line) = select(Place::Level1(feature), &table);
                choices.push(choice);
                line
            });
            if feature == Feature::SamplingRate && line.is_none() {
                return Err(FitError::NoSharedConfiguration);
            }
            level1.push(Effect { feature, line });
        }
        let longest_secs = longest_secs(rows);
        let table = Table {
            features: rows.iter().map(|row| vec![product(&level1, row.setting)]).collect(),
            target: rows.iter().map(|row| row.secs / longest_secs).collect(),
        };
        let (choice, level2) = select(Place::Level2, &table);
        choices.push(choice);
        Ok((Self { level1, level2, longest_secs }, choices))
    }

    /// The value at a setting, seconds; `None` where an effect is not above 0, since a job takes no negative share of a
    /// time, and two such shares would multiply to a positive one.
    pub(crate) fn secs(&self, setting: Setting) -> Option<f64> {
        let positive = self.level1.iter().all(|effect| effect.at(setting) > 0.0);
        positive.then(|| self.level2.at(&[product(&self.level1, setting)]) * self.longest_secs)
    }
}

impl Effect {
    fn at(&self, setting: Setting) -> f64 {
        self.line.as_ref().map_or(1.0, |line| line.at(&[self.feature.transform(setting)]))
    }
}

fn product(level1: &[Effect], setting: Setting) -> f64 {
    level1.iter().map(|effect| effect.at(setting)).product()
}
