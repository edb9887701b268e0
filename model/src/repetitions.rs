//! Statistics of repeated runs of one setting: median, confidence interval, spread and outliers.

use foreglow_numeric::{MEDIAN_OF_NORMAL, median, outliers};

/// Number of runs up to which the ranks of the interval are exact.
const EXACT: usize = 70;

/// Summary of the times of equal runs.
///
/// ```
/// # use foreglow_model::Repetitions;
/// let runs = Repetitions::of(&[2.0, 2.1, 1.9, 2.2, 2.0, 9.0]).unwrap();
/// assert_eq!((runs.median, runs.interval), (2.05, Some((1.9, 9.0))));
/// assert_eq!(runs.outliers, [5]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Repetitions {
    /// Median, seconds.
    pub median: f64,
    /// Confidence interval of the median with a coverage of at least 95 %, seconds. `None` for
    /// fewer than 6 runs, whose extremes do not reach this coverage.
    ///
    /// The bounds are the j-th and the (n + 1 − j)-th run, because the number of runs below the
    /// median is binomial with probability 1/2 (Le Boudec, "Performance Evaluation of Computer and
    /// Communication Systems", EPFL Press 2010, theorem 2.1 and table A.1). No distribution of the
    /// times is assumed.
    pub interval: Option<(f64, f64)>,
    /// Median absolute deviation ÷ 0.67449 ÷ median: the relative standard deviation if
    /// times are normal.
    pub spread: f64,
    /// Indices of outliers, by the modified z-score of the logarithms of the times.
    pub outliers: Vec<usize>,
}

impl Repetitions {
    /// Summarises times, seconds; `None` if there are none or one is not finite and above 0.
    pub fn of(secs: &[f64]) -> Option<Self> {
        if secs.is_empty() || secs.iter().any(|secs| !(secs.is_finite() && *secs > 0.0)) {
            return None;
        }
        let mut sorted = secs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = median(secs);
        let deviations: Vec<f64> = secs.iter().map(|secs| (secs - middle).abs()).collect();
        let logs: Vec<f64> = secs.iter().map(|secs| libm::log(*secs)).collect();
        Some(Self {
            median: middle,
            interval: lower_rank(secs.len()).map(|rank| (sorted[rank - 1], sorted[secs.len() - rank])),
            spread: median(&deviations) / MEDIAN_OF_NORMAL / middle,
            outliers: outliers(&logs),
        })
    }

    /// Returns the larger distance of the interval's ends from the median, as a share of the
    /// median; `None` without an interval.
    pub fn half_width(&self) -> Option<f64> {
        let (lower, upper) = self.interval?;
        Some((self.median - lower).max(upper - self.median) / self.median)
    }
}

/// Returns the largest rank j of n runs with P(B < j) ≤ 2.5 %, where B is binomial with n and 1/2;
/// `None` for too few runs.
fn lower_rank(runs: usize) -> Option<usize> {
    if runs > EXACT {
        // The normal approximation at the end of table A.1.
        return Some((0.5 * runs as f64 - 0.98 * (runs as f64).sqrt()).floor() as usize);
    }
    let (mut below, mut term, mut rank) = (0.0, libm::scalbn(1.0, -(runs as i32)), 0);
    while below + term <= 0.025 {
        below += term;
        rank += 1;
        // The step from C(n, k) to C(n, k + 1), where k + 1 is the rank.
        term *= (runs - rank + 1) as f64 / rank as f64;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_published_table() {
        // Le Boudec, table A.1: n, j.
        let table = [(6, 1), (7, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (30, 10), (50, 18), (70, 27)];
        for (runs, rank) in table {
            assert_eq!(lower_rank(runs), Some(rank), "{runs}");
        }
        assert!((1..=5).all(|runs| lower_rank(runs).is_none()));
        assert_eq!(lower_rank(100), Some(40));
    }

    #[test]
    fn equal_times_have_no_spread_and_their_interval_no_width() {
        let runs = Repetitions::of(&[3.0; 6]).unwrap();
        assert_eq!((runs.median, runs.spread, runs.half_width()), (3.0, 0.0, Some(0.0)));
        assert!(runs.outliers.is_empty());
    }

    #[test]
    fn the_half_width_is_that_of_the_farther_end() {
        let runs = Repetitions::of(&[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 6.0]).unwrap();
        assert_eq!((runs.interval, runs.half_width()), (Some((1.0, 6.0)), Some(2.0)));
        assert_eq!(Repetitions::of(&[1.0, 2.0]).unwrap().half_width(), None);
        for secs in [&[] as &[f64], &[1.0, 0.0], &[f64::NAN], &[-1.0], &[f64::INFINITY]] {
            assert_eq!(Repetitions::of(secs), None);
        }
    }
}
