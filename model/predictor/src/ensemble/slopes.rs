//! Variance between contexts of the growth beyond a range.
//!
//! Candidates extrapolate all contexts in nearly the same way. Where context c grows faster or
//! slower, ln t is off by u_c·d at a distance d beyond the range, in units of the table's range,
//! with one u_c for all its rows. The variance of u_c between contexts is estimated from held-out
//! errors; the error of a question grows with it in proportion to the distance.

use serde::{Deserialize, Serialize};

/// Variance between contexts of the growth of ln t beyond a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Slopes {
    /// Per squared unit of distance.
    pub(super) variance: f64,
    /// Mean squared distance of the held-out rows, whose errors include it.
    pub(super) held_out: f64,
}

/// A held-out row of a context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    pub(super) context: usize,
    /// ln(measured / predicted) per unit of distance.
    pub(super) slope: f64,
    /// Distance beyond the fitted rows, above 0.
    pub(super) distance: f64,
}

impl Slopes {
    /// All contexts grow as predicted.
    pub(super) const EQUAL: Self = Self { variance: 0.0, held_out: 0.0 };

    /// Estimates the variance from the rows of each fold.
    pub(super) fn of(folds: &[Vec<Slope>]) -> Self {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for (variance, contexts) in folds.iter().filter_map(|fold| between(fold)) {
            sum += variance * (contexts - 1.0);
            freedom += contexts - 1.0;
        }
        if freedom == 0.0 {
            return Self::EQUAL;
        }
        let squares: Vec<f64> = folds.iter().flatten().map(|row| row.distance * row.distance).collect();
        Self { variance: sum / freedom, held_out: squares.iter().sum::<f64>() / squares.len() as f64 }
    }

    /// Returns the variance of ln t that the held-out errors lack, at a squared distance.
    pub(super) fn at(self, distance_squared: f64) -> f64 {
        self.variance * (distance_squared - self.held_out).max(0.0)
    }
}

/// Returns the variance between contexts, at least 0, and the number of contexts: the analysis of
/// variance of a random effect with unequal numbers of rows (Searle, Casella and McCulloch,
/// "Variance components", 1992, §3.6). The expected mean square of noise between contexts is
/// increased by one standard error, because chance differences would widen intervals. `None` if
/// noise and contexts cannot be separated.
fn between(rows: &[Slope]) -> Option<(f64, f64)> {
    let mut contexts: Vec<(f64, f64)> = vec![(0.0, 0.0); rows.iter().map(|row| row.context + 1).max()?];
    for row in rows {
        contexts[row.context].0 += 1.0;
        contexts[row.context].1 += row.slope;
    }
    let mean_of = |(count, sum): (f64, f64)| sum / count;
    let within: f64 = rows
        .iter()
        .map(|row| {
            let error = row.slope - mean_of(contexts[row.context]);
            error * error
        })
        .sum();
    contexts.retain(|(count, _)| *count > 0.0);
    let (all, count) = (rows.len() as f64, contexts.len() as f64);
    if count < 2.0 || all <= count {
        return None;
    }
    let mean = rows.iter().map(|row| row.slope).sum::<f64>() / all;
    let squares = |(count, sum): &(f64, f64)| count * (sum / count - mean) * (sum / count - mean);
    let between = contexts.iter().map(squares).sum::<f64>() / (count - 1.0);
    // The variance of a mean square of f degrees of freedom is 2/f of its squared mean.
    let noise = within / (all - count) * (1.0 + (2.0 / (count - 1.0)).sqrt());
    let rows_per_context = (all - contexts.iter().map(|(count, _)| count * count).sum::<f64>() / all) / (count - 1.0);
    Some((((between - noise) / rows_per_context).max(0.0), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(slopes: &[&[f64]]) -> Vec<Slope> {
        let row = |context: usize| move |slope: &f64| Slope { context, slope: *slope, distance: 0.5 };
        slopes.iter().enumerate().flat_map(|(context, of)| of.iter().map(row(context))).collect()
    }

    #[test]
    fn the_variance_between_contexts_is_that_of_the_textbook() {
        // Means 1 and 3, mean squares 4 between and 0.02 within, two rows each.
        let factor = 1.0 + 2.0_f64.sqrt();
        let (variance, contexts) = between(&rows(&[&[0.9, 1.1], &[2.9, 3.1]])).unwrap();
        assert!((variance - (4.0 - 0.02 * factor) / 2.0).abs() < 1e-12 && contexts == 2.0, "{variance}");
        // Three rows and one: n₀ = 4 − 10/4.
        let (variance, _) = between(&rows(&[&[0.9, 1.0, 1.1], &[3.0]])).unwrap();
        assert!((variance - (3.0 - 0.01 * factor) / 1.5).abs() < 1e-12, "{variance}");
    }

    #[test]
    fn noise_within_contexts_is_no_difference_between_them() {
        assert_eq!(between(&rows(&[&[-1.0, 1.0], &[-0.9, 1.1]])).unwrap().0, 0.0);
        assert!(between(&rows(&[&[1.0, 2.0, 3.0]])).is_none(), "one context");
        assert!(between(&rows(&[&[1.0], &[2.0]])).is_none(), "one row in each");
        assert_eq!(Slopes::of(&[]).at(4.0), 0.0);
    }

    #[test]
    fn only_what_is_beyond_the_held_out_rows_is_added() {
        let slopes = Slopes::of(&[rows(&[&[0.9, 1.1], &[2.9, 3.1]])]);
        assert!(slopes.variance > 1.9);
        assert_eq!((slopes.at(0.1), slopes.at(0.25)), (0.0, 0.0));
        assert!((slopes.at(1.25) - slopes.variance).abs() < 1e-12);
    }
}
