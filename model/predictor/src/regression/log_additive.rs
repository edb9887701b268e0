//! Log-additive regression: a power of each number times a factor for each name.

use foreglow_learner::{Linear, Table, ridge};
use serde::{Deserialize, Serialize};

use crate::dataset::Training;
use crate::regression::Regression;
use crate::regression::encoding::{Encoding, Unit};
use crate::regression::plane::{Factored, Plane};

/// Penalties for selection, as decimal exponents in steps of one half: 10⁻⁴, 10⁻³·⁵, … 10².
const HALF_DECADES: std::ops::RangeInclusive<i32> = -8..=4;

/// ln t = b + Σ w·z + Σ u\[level\]: ridge regression on standardised numbers and one indicator per
/// name. The penalty has the smallest leave-one-out error, by the closed form of `learner::ridge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogAdditive {
    encoding: Encoding,
    line: Linear,
}

impl LogAdditive {
    pub(crate) fn fit(training: &Training) -> Self {
        let encoding = Encoding::of(&training.points, Unit::Spread);
        let points = &training.points;
        let features = points.numeric.iter().zip(&points.category).map(|(x, c)| features(&encoding, x, c)).collect();
        let table = Table { features, target: training.logs.clone() };
        let line = ridge::fit_best(&table, HALF_DECADES.map(|exponent| libm::exp10(0.5 * f64::from(exponent))));
        Self { encoding, line }
    }
}

impl Regression for LogAdditive {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        self.line.at(&features(&self.encoding, numeric, category))
    }

    /// The function is a sum of one function of each number.
    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64) {
        let (first_down, first_across) = (plane.down.values[0], plane.across.values[0]);
        let at = |down: f64, across: f64| self.log(&plane.at(down, across), plane.category);
        for (sum, down) in grid.down.iter_mut().zip(plane.down.values) {
            *sum += weight * at(*down, first_across);
        }
        let corner = at(first_down, first_across);
        for (sum, across) in grid.across.iter_mut().zip(plane.across.values) {
            *sum += weight * (at(first_down, *across) - corner);
        }
    }
}

fn features(encoding: &Encoding, numeric: &[f64], category: &[u32]) -> Vec<f64> {
    let mut features: Vec<f64> = encoding.numbers(numeric).collect();
    for (column, level) in encoding.category.iter().zip(encoding.levels(category)) {
        features.extend((0..column.levels.len()).map(|other| f64::from(u8::from(Some(other) == level))));
    }
    features
}
