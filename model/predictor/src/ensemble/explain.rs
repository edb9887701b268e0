//! Explains a prediction: each candidate's own prediction, weight and errors on held-out rows.

use serde::{Deserialize, Serialize};

use foreglow_shared::sort_by;

use super::Ensemble;
use crate::dataset::{DatasetError, Features};
use crate::ensemble::candidate::Kind;
use crate::ensemble::shape::Shape;
use crate::regression::Regression;
use foreglow_numeric::median;

/// Explanation of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The candidates, by descending weight.
    pub parts: Vec<Part>,
    /// Features in which the question is beyond the measured range.
    pub beyond: Vec<String>,
    /// Number of distinct rows that were fitted; repeats count once.
    pub fitted: usize,
    /// Number of held-out rows of the question's shape.
    pub held_out: usize,
    /// Median absolute error on the held-out rows, percent; `None` if nothing could be held out.
    pub median_error_percent: Option<f64>,
}

/// One candidate of a blend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Description for users.
    pub name: String,
    /// Its weight; all weights sum to 1.
    pub weight: f64,
    /// Its own prediction, seconds. The blend is the weighted mean of the logarithms.
    pub secs: f64,
}

/// A held-out row.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOutRow {
    /// The numeric features, in the order of the table.
    pub numeric: Vec<f64>,
    /// Its time, seconds.
    pub measured_secs: f64,
    /// The time predicted from the other rows, seconds.
    pub predicted_secs: f64,
}

impl Ensemble {
    /// Explains the prediction for the first row of questions; `None` if there is no prediction.
    ///
    /// # Errors
    /// The errors of [`Ensemble::predict`].
    pub fn explain(&self, questions: &Features) -> Result<Option<Explanation>, DatasetError> {
        let table = &self.state.table;
        let extent = &self.state.extent;
        let aligned = table.schema.align(questions)?;
        let points = table.schema.points(&aligned);
        let (Some(numeric), Some(category)) = (points.numeric.first(), points.category.first()) else {
            return Ok(None);
        };
        let unknown = self.predict(questions)?.first().is_none_or(|answer| answer.completion_time_secs.is_none());
        if unknown || extent.is_one_point() {
            return Ok(None);
        }
        let shape = extent.shape(numeric, category);
        let mut fitted = self.lock();
        let blend = fitted.blend(&self.state, &shape);
        let members = fitted.members(&blend);
        drop(fitted);
        let mut parts: Vec<Part> = blend
            .members
            .iter()
            .zip(&members)
            .map(|((kind, weight), (member, _))| Part {
                name: kind.name().to_owned(),
                weight: *weight,
                secs: libm::exp(table.mean_log + member.log(numeric, category)),
            })
            .collect();
        sort_by(&mut parts, |a, b| b.weight.total_cmp(&a.weight));
        let names: Vec<&str> = table.schema.numeric().collect();
        let beyond = match &shape {
            Shape::Beyond(sides) => sides.iter().map(|(column, _)| names[*column].to_owned()).collect(),
            _ => Vec::new(),
        };
        let errors: Vec<f64> =
            blend.residuals.iter().map(|(_, error)| (1.0 - libm::exp(-error)).abs() * 100.0).collect();
        Ok(Some(Explanation {
            parts,
            beyond,
            fitted: table.rows(),
            held_out: errors.len(),
            median_error_percent: (!errors.is_empty()).then(|| median(&errors)),
        }))
    }

    /// Returns the rows that were held out to judge predictions inside the measured ranges, with
    /// their predictions.
    pub fn held_out(&self) -> Vec<HeldOutRow> {
        let table = &self.state.table;
        if self.state.extent.is_one_point() {
            return Vec::new();
        }
        let blend = self.lock().blend(&self.state, &Shape::Inside);
        let row = |(row, error): &(usize, f64)| {
            let log = table.mean_log + table.training.logs[*row];
            HeldOutRow {
                numeric: table.training.points.numeric[*row].clone(),
                measured_secs: libm::exp(log),
                predicted_secs: libm::exp(log - error),
            }
        };
        blend.residuals.iter().map(row).collect()
    }
}

impl Kind {
    /// Returns the description for users.
    fn name(self) -> &'static str {
        match self {
            Self::Near => "a smooth surface that bends soon",
            Self::Far => "a smooth surface that bends late",
            Self::TwoTerms => "a sum of two power laws, and a smooth remainder",
            Self::ThreeTerms => "a sum of three power laws, and a smooth remainder",
            Self::LogAdditive => "a product of one power a feature",
            Self::Law => "scaling laws of work and workers, and a smooth remainder",
            Self::Synchronised => "workers that average gradients, and a smooth remainder",
            Self::Proportional => "in proportion to the work, and a smooth function of the configuration",
        }
    }
}
