//! The Pareto front of time and money.

use std::cmp::Ordering;

/// Indices of the points `(time, money)` that no other point beats: none is at most as large in both and smaller in one.
/// By time ascending; of equal points the first. Points that are not finite are passed over. O(n log n).
///
/// ```
/// # use foreglow_model::pareto_front;
/// assert_eq!(pareto_front(&[(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.0, 2.5), (2.0, 2.0)]), [1, 2, 0]);
/// ```
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<usize> {
    let finite = |index: &usize| points[*index].0.is_finite() && points[*index].1.is_finite();
    let mut indices: Vec<usize> = (0..points.len()).filter(finite).collect();
    indices.sort_by(|a, b| order(points[*a], points[*b]).then(a.cmp(b)));
    let mut least = f64::INFINITY;
    indices.retain(|index| {
        let money = points[*index].1;
        let better = money < least;
        least = if better { money } else { least };
        better
    });
    indices
}

/// Orders points by time, then money.
pub(crate) fn order(a: (f64, f64), b: (f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}
