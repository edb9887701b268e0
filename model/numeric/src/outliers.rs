//! The median, and outliers by the modified z-score.

use std::borrow::Borrow;

/// Modified z-score above which a value is an outlier (Iglewicz and Hoaglin, "How to detect and
/// handle outliers", ASQC Quality Press, 1993).
const OUTLIER: f64 = 3.5;
/// Distance from the median, log units, below which no value is an outlier: if the others agree to
/// 0.1 %, a deviation of a few per cent should not warn.
const NEAR: f64 = 0.05;

/// Median of |x| of a normal distribution with standard deviation 1.
pub const MEDIAN_OF_NORMAL: f64 = 0.674_49;

/// Returns the indices of outliers among logarithms of times: the modified z-score 0.6745·(x −
/// median)/MAD is above 3.5, where MAD is the median absolute deviation. If MAD is 0, the score is
/// (x − median)/(1.2533·mean absolute deviation).
pub fn outliers(logs: &[f64]) -> Vec<usize> {
    if logs.len() < 3 {
        return Vec::new();
    }
    let centre = median(logs);
    let deviations: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    let mad = median(&deviations);
    let unit = if mad > 0.0 {
        mad / MEDIAN_OF_NORMAL
    } else {
        1.2533 * deviations.iter().sum::<f64>() / deviations.len() as f64
    };
    let is_outlier = |row: &usize| deviations[*row] > OUTLIER * unit && matters(deviations[*row]);
    (0..logs.len()).filter(is_outlier).collect()
}

/// Returns the indices of log errors that are outliers and also large in themselves. If errors
/// share a bias, a run far from the others can be close to its own prediction.
pub fn outlying_errors(errors: &[f64]) -> Vec<usize> {
    outliers(errors).into_iter().filter(|place| matters(errors[*place])).collect()
}

/// Whether a difference of two logarithms of times is large enough to tell the user about it.
fn matters(difference: f64) -> bool {
    difference.abs() > NEAR
}

/// Returns the median; 0 of nothing.
pub fn median(values: impl IntoIterator<Item = impl Borrow<f64>>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().map(|value| *value.borrow()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count => f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_far_from_agreeing_ones_is_an_outlier_and_noise_is_none() {
        assert_eq!(outliers(&[1.0, 1.01, 0.99, 1.02, 2.0]), [4]);
        assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.2, 0.8]), [0usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0]), [6]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.004]), [0usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.03]), [0usize; 0]);
        assert_eq!(outliers(&[1.0, 5.0]), [0usize; 0]);
    }

    #[test]
    fn a_run_near_its_prediction_is_no_outlier_however_far_the_others_are_from_theirs() {
        let biased = [-0.04, -0.041, -0.039, -0.04, 0.03];
        assert_eq!((outliers(&biased), outlying_errors(&biased)), (vec![4], vec![]));
        assert_eq!(outlying_errors(&[-0.04, -0.041, -0.039, -0.04, 0.2]), [4]);
    }
}
