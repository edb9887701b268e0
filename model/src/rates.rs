//! Makes predictions monotone in the sampling rate: more images never take less time.

use serde::{Deserialize, Serialize};

/// Grid points per decade of the sampling rate, in addition to the measured rates.
const PLACES_PER_DECADE: f64 = 4.0;
/// Limit on the measured rates among the grid points.
const MOST_MEASURED: usize = 12;
/// Grid points closer than this factor are merged.
const SAME: f64 = 1.05;

/// Grid of sampling rates; predictions in between are interpolated linearly in logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Ascending, ending with 1; empty if all runs have the same sampling rate.
    places: Vec<f64>,
}

impl Rates {
    /// Creates the grid from the smallest measured rate to 1.
    pub(crate) fn of(rates: impl Iterator<Item = f64>) -> Self {
        let mut measured: Vec<f64> = rates.collect();
        measured.sort_unstable_by(f64::total_cmp);
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
        places.sort_unstable_by(f64::total_cmp);
        places.dedup();
        Self { places }
    }

    /// Returns the grid points that a prediction at `rate` depends on: the last one not above it
    /// and all larger ones. Empty at rate 1, which needs no correction.
    pub(crate) fn places(&self, rate: f64) -> Vec<f64> {
        if rate >= 1.0 || self.places.is_empty() {
            return Vec::new();
        }
        let above = self.places.partition_point(|place| *place <= rate);
        // Below the first point, the line through the first two is extrapolated.
        self.places[above.saturating_sub(1)..].to_vec()
    }

    /// Returns the time at `rate`, seconds, from the predicted `times` at `places`.
    ///
    /// From the whole job, which keeps its time, down to smaller rates, the time never rises and
    /// never falls faster than the number of images. Returns `own` if there are no points.
    pub(crate) fn rising(&self, rate: f64, places: &[f64], times: &[f64], own: f64) -> f64 {
        let mut logs: Vec<f64> = Vec::with_capacity(times.len());
        for (index, secs) in times.iter().enumerate().rev() {
            let log = libm::log(*secs);
            logs.push(match logs.last() {
                Some(above) => log.clamp(above - libm::log(places[index + 1] / places[index]), *above),
                None => log,
            });
        }
        let [.., second, first] = logs.as_slice() else { return own };
        let (low, high) = (libm::log(places[0]), libm::log(places[1]));
        let share = (libm::log(rate) - low) / (high - low);
        libm::exp(first + share * (second - first))
    }
}
