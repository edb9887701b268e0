//! The default predictor of any table of runs.
//!
//! An [`Ensemble`] of all rows answers; a name of a category, such as a machine type, is one of its
//! features. Two kinds of questions are improved by a second model:
//!
//! | question | answer |
//! |---|---|
//! | a name with few rows | the mean with a regression on fully measured names ([`borrowing`]) |
//! | two names without common runs | the mean with a regression on the others ([`pairs`]) |

mod borrowing;
mod pairs;
mod transfer;

use self::borrowing::Borrowing;
use self::pairs::Pairs;
use crate::{Dataset, DatasetError, Ensemble, Features, FitError, Meaning, Prediction, Tuning, Values};

/// A fitted predictor of a table of runs.
///
/// ```
/// # use foreglow_predictor::{Column, Dataset, Features, TablePredictor};
/// let nodes = Column::numeric("nodes", vec![1.0, 2.0, 3.0, 4.0], None);
/// let features = Features::new(vec![nodes]).unwrap();
/// let dataset = Dataset::new(features, vec![120.0, 60.0, 40.0, 30.0], vec![false; 4]).unwrap();
/// let predictor = TablePredictor::fit(&dataset, &[]).unwrap();
/// let asked = Features::new(vec![Column::numeric("nodes", vec![6.0], None)]).unwrap();
/// let secs = predictor.predict(&asked).unwrap()[0].completion_time_secs.unwrap();
/// assert!((secs - 20.0).abs() < 1.0, "{secs}");
/// ```
#[derive(Clone, Debug)]
pub struct TablePredictor {
    all: Ensemble,
    borrowing: Vec<Borrowing>,
    pairs: Option<Pairs>,
}

impl TablePredictor {
    /// Fits the runs; `known` has the meanings of numeric columns by name.
    ///
    /// # Errors
    /// Every run is a lower bound.
    pub fn fit(dataset: &Dataset, known: &[(&str, Meaning)]) -> Result<Self, FitError> {
        Self::fit_tuned(dataset, known, Tuning::default())
    }

    /// Fits like [`TablePredictor::fit`], with other constants.
    ///
    /// # Errors
    /// Every run is a lower bound.
    pub fn fit_tuned(dataset: &Dataset, known: &[(&str, Meaning)], tuning: Tuning) -> Result<Self, FitError> {
        let is_category = |values: &Values| matches!(values, Values::Category { .. });
        let categories = dataset.features().columns().iter().filter(|column| is_category(&column.values));
        Ok(Self {
            all: Ensemble::fit_tuned(dataset, known, tuning)?,
            borrowing: categories.filter_map(|column| Borrowing::of(dataset, known, tuning, &column.name)).collect(),
            pairs: Pairs::of(dataset),
        })
    }

    /// Predicts the completion time of each row of questions. Columns are found by name; a category
    /// may have names that no run had. If there is no prediction, the time is `None` and a warning
    /// says why.
    ///
    /// # Errors
    /// A column is missing, or is a category only here or only in the runs.
    pub fn predict(&self, questions: &Features) -> Result<Vec<Prediction>, DatasetError> {
        let mut predictions = self.all.predict(questions)?;
        for borrowing in &self.borrowing {
            borrowing.improve(questions, &mut predictions)?;
        }
        if let Some(pairs) = &self.pairs {
            pairs.improve(questions, &mut predictions)?;
        }
        self.all.bound(questions, &mut predictions)?;
        Ok(predictions)
    }
}
