//! Cache of a comparison, from one decision to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::MachineLimits;
use crate::Prediction;

/// Cache of the last decision. A copy of a comparison starts with an empty cache, which changes no
/// answer.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Kept>);

/// The weights and predictions of the last decision.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) weights: Option<Weights>,
    pub(super) predicted: Predicted,
}

/// Costs and feasibility of each configuration under limits without a deadline, in the order of
/// the configurations.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) limits: MachineLimits,
    /// Infinite if no price is known.
    pub(super) costs: Vec<f64>,
    /// Late time, which is exceeded with at most the allowed probability, seconds; `None` if a
    /// limit other than the deadline is not met.
    pub(super) late_secs: Vec<Option<f64>>,
    /// Number of the machine type.
    pub(super) machines: Vec<usize>,
    /// Places of the Pareto front.
    pub(super) front: Vec<usize>,
}

/// Predictions of the notable configurations.
#[derive(Debug, Default)]
pub(super) struct Predicted {
    /// Places, ascending.
    places: Vec<usize>,
    /// One per place.
    predictions: Vec<Prediction>,
}

impl Cache {
    /// A panic leaves no partial entry, because each is inserted when it is complete.
    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Weights {
    /// Whether these weights apply to the limits: all limits but the deadline are equal.
    pub(super) fn are_of(&self, limits: &MachineLimits) -> bool {
        self.limits == MachineLimits { deadline_secs: self.limits.deadline_secs, ..*limits }
    }
}

impl Predicted {
    /// Caches the predictions of these places, ascending, and computes the missing ones.
    pub(super) fn keep(&mut self, places: &[usize], predict: impl Fn(usize) -> Prediction) {
        let known = |place: &usize| self.places.binary_search(place).ok().map(|known| self.predictions[known].clone());
        let predictions = places.iter().map(|place| known(place).unwrap_or_else(|| predict(*place))).collect();
        *self = Self { places: places.to_vec(), predictions };
    }

    /// Returns one prediction per place of the last [`Predicted::keep`].
    pub(super) fn predictions(&self) -> &[Prediction] {
        &self.predictions
    }
}
