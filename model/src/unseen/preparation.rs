//! The work of a run outside its CNN: reading, decoding, copying and handing over images.

use foreglow_numeric::median;
use foreglow_numeric::nnls;

/// Parts of the time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunParts {
    /// Executors × cores per executor.
    pub slots: f64,
    /// Images of the run.
    pub images: f64,
    /// Completion time, seconds.
    pub completion_secs: f64,
    /// Forward passes, seconds, summed over the slots.
    pub forward_secs: f64,
    /// Reading, decoding and copying, seconds, summed over the slots.
    pub preparation_secs: f64,
}

/// Seconds of an image outside the CNN: a constant, and an amount per number of the input.
pub(super) struct Preparation([f64; 2]);

impl Preparation {
    /// Fits the numbers of inputs and the seconds of their images.
    pub(super) fn fit(known: impl Iterator<Item = (f64, f64)>) -> Self {
        let rows: Vec<Vec<f64>> = known.map(|(input, secs)| vec![1.0 / secs, input / secs]).collect();
        match nnls(&rows, &vec![1.0; rows.len()]).as_slice() {
            [constant, per_number] => Self([*constant, *per_number]),
            _ => Self([0.0, 0.0]),
        }
    }

    /// Returns the seconds of an image whose input has this many numbers.
    pub(super) fn secs(&self, input: f64) -> f64 {
        self.0[0] + self.0[1] * input
    }
}

/// Returns the seconds of an image outside the CNN: on a single slot the completion time less the
/// forward passes, otherwise reading, decoding and copying. `None` if no run recorded them.
pub(super) fn beside(parts: &[RunParts]) -> Option<f64> {
    let is_single = parts.iter().any(|run| run.slots == 1.0);
    let secs = |run: &RunParts| {
        let all = if is_single { run.completion_secs - run.forward_secs } else { run.preparation_secs };
        all / run.images
    };
    let secs = parts.iter().filter(|run| !is_single || run.slots == 1.0).map(secs);
    Some(median(secs)).filter(|secs| *secs > 0.0 && secs.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(slots: f64, forward_secs: f64) -> RunParts {
        RunParts { slots, images: 10.0, completion_secs: 3.0, forward_secs, preparation_secs: 0.5 }
    }

    #[test]
    fn on_a_single_slot_all_but_the_forward_passes_is_preparation() {
        assert_eq!(beside(&[run(1.0, 2.0), run(2.0, 2.9)]), Some(0.1));
        // The completion time of several slots includes waiting for each other.
        assert_eq!(beside(&[run(2.0, 2.0)]), Some(0.05));
        assert_eq!(beside(&[]), None);
    }

    #[test]
    fn the_preparation_grows_with_the_input() {
        let preparation = Preparation::fit([(1e3, 2e-3), (2e3, 3e-3), (4e3, 5e-3)].into_iter());
        assert!((preparation.secs(8e3) - 9e-3).abs() < 1e-9, "{}", preparation.secs(8e3));
        assert_eq!(Preparation::fit(std::iter::empty()).secs(1e3), 0.0);
    }
}
