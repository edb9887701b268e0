//! Cache of a plan, from one decision to the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreglow_shared::CoreSplit;

use super::{Limits, Plan};
use crate::Prediction;

/// Cache of the last decision. A copy of a plan starts with an empty cache, which changes no
/// answer.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Cached>);

/// The weights and predictions of the last decision.
#[derive(Debug, Default)]
pub(super) struct Cached {
    pub(super) weights: Option<Weights>,
    pub(super) predicted: Predicted,
    /// The outstanding configurations of a grid, as a plan of their own.
    pub(super) outstanding: Option<(Vec<CoreSplit>, Arc<Plan>)>,
}

/// What each configuration costs, and whether it meets the limits but the deadline, in the order of
/// the configurations.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) limits: Limits,
    /// Infinite if no price is known.
    pub(super) costs: Vec<f64>,
    /// The quantity that ranks the configurations; infinite if it is unknown.
    pub(super) objectives: Vec<f64>,
    /// Late time, which is exceeded with at most the allowed probability, seconds; infinite if too
    /// few samples tell it.
    pub(super) late_secs: Vec<f64>,
    /// Whether all limits but the deadline are met.
    pub(super) is_allowed: Vec<bool>,
    /// Number of the machine type.
    pub(super) machines: Vec<usize>,
    /// Places of the Pareto front.
    pub(super) front: Vec<usize>,
}

/// Predictions of the listed configurations.
#[derive(Debug, Default)]
pub(super) struct Predicted {
    /// Places, ascending.
    places: Vec<usize>,
    /// One per place.
    predictions: Vec<Prediction>,
}

impl Cache {
    /// Creates a cache of the predictions of all configurations of a short plan.
    pub(super) fn with_predictions(predictions: Vec<Prediction>) -> Self {
        let predicted = Predicted { places: (0..predictions.len()).collect(), predictions };
        Self(Mutex::new(Cached { predicted, ..Cached::default() }))
    }

    /// A panic leaves no partial entry, because each is inserted when it is complete.
    pub(super) fn lock(&self) -> MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Weights {
    /// Returns the objective of a place; `None` if it is unknown.
    pub(super) fn objective(&self, place: usize) -> Option<f64> {
        Some(self.objectives[place]).filter(|objective| objective.is_finite())
    }

    /// Whether these weights apply to the limits: all limits but the deadline are equal.
    pub(super) fn are_of(&self, limits: &Limits) -> bool {
        self.limits == Limits { deadline_secs: self.limits.deadline_secs, ..*limits }
    }
}

impl Predicted {
    /// Caches the predictions of these places, ascending, and computes the missing ones.
    pub(super) fn update(&mut self, places: &[usize], mut predict: impl FnMut(usize) -> Prediction) {
        let known = |place: &usize| self.places.binary_search(place).ok().map(|known| self.predictions[known].clone());
        let predictions = places.iter().map(|place| known(place).unwrap_or_else(|| predict(*place))).collect();
        *self = Self { places: places.to_vec(), predictions };
    }

    /// Returns one prediction per place of the last [`Predicted::update`].
    pub(super) fn predictions(&self) -> &[Prediction] {
        &self.predictions
    }
}
