//! More images never take less time: predictions made to rise with the sampling rate.

use serde::{Deserialize, Serialize};

/// Places a decade at which predictions are asked for, beside the measured rates.
const PLACES_PER_DECADE: f64 = 4.0;
/// Measured rates that are places, at most.
const MOST_MEASURED: usize = 12;
/// Places nearer than this factor are one.
const SAME: f64 = 1.05;

/// Sampling rates at which predictions are asked for; in between they are a line in logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Ascending; the last is 1. Empty where the sampling rate never varied.
    places: Vec<f64>,
}

impl Rates {
    /// Places between the smallest measured rate and 1.
    pub(crate) fn of(rates: impl Iterator<Item = f64>) -> Self {
        let mut measured: Vec<f64> = rates.collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let (Some(smallest), true) = (measured.first().copied(), measured.len() > 1) else {
            return Self { places: Vec::new() };
        };
        let step = measured.len().div_ceil(MOST_MEASURED);
        let mut places: Vec<f64> = measured.iter().copied().step_by(step).collect();
        places.push(1.0);
        let steps = (libm::log10(1.0 / smallest) * PLACES_PER_DECADE) as usize;
        for step in 1..=steps {
            let place = smallest * libm::exp10(step as f64 / PLACES_PER_DECADE);
            if places.iter().all(|other| place / other > SAME || other / place > SAME) {
                places.push(place);
            }
        }
        places.retain(|place| *place <= 1.0);
        places.sort_by(f64::total_cmp);
        places.dedup();
        Self { places }
    }

    /// The places that a prediction at a rate depends on: the last one up to it and all above. None where the rate is 1,
    /// the last place.
    pub(crate) fn places(&self, rate: f64) -> Vec<f64> {
        if rate >= 1.0 || self.places.is_empty() {
            return Vec::new();
        }
        let above = self.places.partition_point(|place| *place <= rate);
        // Below the first place the line between the first two goes on.
        self.places[above.saturating_sub(1)..].to_vec()
    }

    /// The time at a rate, from the times at its places: the largest function that is no larger than any of these and
    /// never falls. The last place, which is the whole job, keeps its time. `own` is the time where there are no places.
    pub(crate) fn rising(&self, rate: f64, places: &[f64], times: &[f64], own: f64) -> f64 {
        let logs: Vec<f64> = times
            .iter()
            .rev()
            .scan(f64::INFINITY, |least, secs| {
                *least = least.min(libm::log(*secs));
                Some(*least)
            })
            .collect();
        let [.., second, first] = logs.as_slice() else { return own };
        let (low, high) = (libm::log(places[0]), libm::log(places[1]));
        let share = (libm::log(rate) - low) / (high - low);
        libm::exp(first + share * (second - first))
    }
}
