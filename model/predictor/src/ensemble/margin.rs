//! Distance in ln t from a prediction to a quantile, as a function of the distance beyond the
//! ranges.

use crate::ensemble::parameters::Parameters;
use crate::ensemble::slopes::Slopes;

/// Limit on the distance of a question, in ranges.
const FARTHEST: f64 = 3.0;

/// Distance in ln t from a prediction to a quantile of its spread.
#[derive(Clone, Copy, Debug)]
pub struct Margin {
    pub(super) unit: f64,
    /// At distance 0, in units of `unit`.
    pub(super) least: f64,
    /// Growth of the square with the squared distance, in units of `unit`.
    pub(super) per_square: f64,
    /// Growth of the square where contexts grow differently, in units of `unit`.
    pub(super) slopes: Slopes,
    /// The least growth of the square, by the parameters of a law, in units of `unit`.
    pub(super) parameters: Parameters,
    /// Growth of the square by the variance between candidates, in units of `unit`.
    pub(super) between: Parameters,
}

impl Margin {
    /// 1 at any distance.
    pub(super) const UNIT: Self = Self {
        unit: 1.0,
        least: 1.0,
        per_square: 0.0,
        slopes: Slopes::EQUAL,
        parameters: Parameters::KNOWN,
        between: Parameters::KNOWN,
    };
    /// Margin if nothing could be held out.
    pub(super) const UNKNOWN: Self = Self { unit: f64::INFINITY, ..Self::UNIT };

    /// Returns a margin that has grown by √2 at the distance `reach`.
    pub(super) fn growing(self, reach: f64) -> Self {
        Self { per_square: 1.0 / (reach * reach), ..self }
    }

    /// Returns the margin at a squared distance beyond the measured ranges.
    #[inline]
    pub fn at(self, distance_squared: f64) -> f64 {
        const MOST: f64 = FARTHEST * FARTHEST;
        let counted = if distance_squared < MOST { distance_squared } else { MOST };
        let least = self.least * self.least;
        let held_out = least + self.per_square * counted + self.slopes.at(counted);
        let known = held_out.max(least + self.parameters.at(distance_squared));
        self.unit * (known + self.between.at(distance_squared)).sqrt()
    }
}
