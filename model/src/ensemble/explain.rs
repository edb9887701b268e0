//! How a prediction came about: what the candidates say by themselves, their weights, and how they
//! did on held-out rows.

use foreglow_shared::sort_by;
use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::dataset::{DatasetError, Features};
use crate::ensemble::candidate::Kind;
use crate::ensemble::outliers::median;
use crate::ensemble::shape::Shape;
use crate::regression::Regression;

/// How a prediction came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What was blended, the heaviest first.
    pub parts: Vec<Part>,
    /// Features in which the question lies beyond what was measured; none where it lies inside.
    pub beyond: Vec<String>,
    /// Distinct rows that were fitted, repeats taken together.
    pub fitted: usize,
    /// Rows that were predicted by a fit without them, as the question lies to the rest.
    pub held_out: usize,
    /// Median of how far those predictions were off, percent; `None` where nothing could be held
    /// out.
    pub median_error_percent: Option<f64>,
}

/// One candidate of a blend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is, for a person.
    pub name: String,
    /// Its weight; all weights sum to 1.
    pub weight: f64,
    /// The time that it predicts alone, seconds. The weighted mean of the logarithms is that of the
    /// blend.
    pub secs: f64,
}

/// A row that was predicted by a fit without it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldOutRow {
    /// The numeric features, in the order of the table.
    pub(crate) numeric: Vec<f64>,
    pub(crate) measured_secs: f64,
    pub(crate) predicted_secs: f64,
}

impl Ensemble {
    /// How the prediction of the first row of questions came about; `None` where the runs cannot
    /// say.
    ///
    /// # Errors
    /// As [`Ensemble::predict`].
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

    /// Every row that was held out to judge predictions inside what was measured, beside its
    /// prediction by a fit without it.
    pub(crate) fn held_out(&self) -> Vec<HeldOutRow> {
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
    /// What it is, for a person.
    fn name(self) -> &'static str {
        match self {
            Self::Near => "a smooth surface that bends soon",
            Self::Far => "a smooth surface that bends late",
            Self::TwoTerms => "a sum of two power laws, and a smooth remainder",
            Self::ThreeTerms => "a sum of three power laws, and a smooth remainder",
            Self::LogAdditive => "a product of one power a feature",
            Self::Law => "scaling laws of work and workers, and a smooth remainder",
            Self::Proportional => "in proportion to the work, and a smooth function of the configuration",
        }
    }
}
