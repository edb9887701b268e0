//! What repeated runs of one setting say: their median, how surely, how far they spread, and which do not belong.

use crate::ensemble::outliers::{median, outliers};

/// Of a normal sample, the standard deviation is so many times the median absolute deviation.
const NORMAL: f64 = 1.4826;
/// Up to so many runs the ranks of the interval are exact.
const EXACT: usize = 70;

/// A summary of the times of equal runs.
///
/// ```
/// # use foreglow_model::Repetitions;
/// let runs = Repetitions::of(&[2.0, 2.1, 1.9, 2.2, 2.0, 9.0]).unwrap();
/// assert_eq!((runs.median, runs.interval), (2.05, Some((1.9, 9.0))));
/// assert_eq!(runs.outliers, [5]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Repetitions {
    /// Their median, seconds.
    pub median: f64,
    /// The median of all runs that could be made lies in it with a probability of at least 95 %, seconds; `None` of fewer
    /// than 6 runs, whose smallest and largest do not bound it so surely.
    ///
    /// The bounds are runs: the j-th and the (n + 1 − j)-th, where the number of runs below the median is binomial with
    /// 1/2 (Le Boudec, "Performance Evaluation of Computer and Communication Systems", EPFL Press 2010, theorem 2.1 and
    /// table A.1). No distribution of the times is presumed.
    pub interval: Option<(f64, f64)>,
    /// 1.4826 · the median absolute deviation ÷ the median: the relative standard deviation, were they normal.
    pub spread: f64,
    /// Indices of those that lie far from the others, by the modified z-score of the logarithms of the times.
    pub outliers: Vec<usize>,
}

impl Repetitions {
    /// Summarises times, seconds, each above 0; `None` of none, or where one is no time.
    pub fn of(secs: &[f64]) -> Option<Self> {
        if secs.is_empty() || secs.iter().any(|secs| !(secs.is_finite() && *secs > 0.0)) {
            return None;
        }
        let mut sorted = secs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = median(secs);
        let deviations: Vec<f64> = secs.iter().map(|secs| (secs - middle).abs()).collect();
        let logs: Vec<f64> = secs.iter().map(|secs| libm::log(*secs)).collect();
        Some(Self {
            median: middle,
            interval: lower_rank(secs.len()).map(|rank| (sorted[rank - 1], sorted[secs.len() - rank])),
            spread: NORMAL * median(&deviations) / middle,
            outliers: outliers(&logs),
        })
    }

    /// The larger distance of the interval's ends from the median, as a share of the median; `None` without an interval.
    pub fn half_width(&self) -> Option<f64> {
        let (lower, upper) = self.interval?;
        Some((self.median - lower).max(upper - self.median) / self.median)
    }
}

/// The largest rank j of n runs with P(B < j) ≤ 2.5 %, B binomial with n and 1/2; `None` where there is none.
fn lower_rank(runs: usize) -> Option<usize> {
    if runs > EXACT {
        // The normal approximation that table A.1 ends with.
        return Some((0.5 * runs as f64 - 0.98 * (runs as f64).sqrt()).floor() as usize);
    }
    let (mut below, mut term, mut rank) = (0.0, 0.5_f64.powi(runs as i32), 0);
    while below + term <= 0.025 {
        below += term;
        rank += 1;
        // From C(n, k) to C(n, k + 1), and k + 1 is the rank.
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
