//! The Pareto front of time and cost.

use std::cmp::Ordering;

use foreglow_shared::sort_by;

/// Returns the indices of the points `(time, cost)` that no other point dominates, by ascending
/// time; of equal points the first. A point dominates another if it is no larger in both and
/// smaller in one. Points that are not finite are skipped. O(n log n).
///
/// ```
/// # use foreglow_model::pareto_front;
/// let points = [(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.0, 2.5), (2.0, 2.0)];
/// assert_eq!(pareto_front(&points), [1, 2, 0]);
/// ```
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<usize> {
    let finite = |index: &usize| points[*index].0.is_finite() && points[*index].1.is_finite();
    let mut indices: Vec<usize> = (0..points.len()).filter(finite).collect();
    sort_by(&mut indices, |a, b| order(points[*a], points[*b]));
    let mut least = f64::INFINITY;
    indices.retain(|index| {
        let money = points[*index].1;
        let better = money < least;
        least = if better { money } else { least };
        better
    });
    indices
}

/// Compares points by time, then cost.
pub(crate) fn order(a: (f64, f64), b: (f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}
