//! The Pareto front of time and cost.

use std::cmp::Ordering;

/// Limit on the listed points of the front if not all configurations are listed.
pub(super) const MAX_FRONT: usize = 64;

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
    let mut places: Vec<usize> = (0..points.len()).filter(|place| points[*place].0.is_finite()).collect();
    places.sort_by(|a, b| order(points[*a], points[*b]));
    front_by_time(places, &|place| points[place].0, &|place| points[place].1)
}

/// Returns the Pareto front of places in ascending order of time. Infinite costs are skipped.
pub(super) fn front_by_time(
    places: impl IntoIterator<Item = usize>,
    secs: &dyn Fn(usize) -> f64,
    cost: &dyn Fn(usize) -> f64,
) -> Vec<usize> {
    let mut front: Vec<usize> = Vec::new();
    let mut least = f64::INFINITY;
    for place in places {
        if cost(place) < least {
            least = cost(place);
            // Of equal times the cheapest.
            front.pop_if(|last| secs(*last) == secs(place));
            front.push(place);
        }
    }
    front
}

/// Returns at most [`MAX_FRONT`] of the places, evenly spaced, including both ends.
pub(super) fn thinned(front: &[usize]) -> Vec<usize> {
    let last = front.len().saturating_sub(1);
    let count = front.len().min(MAX_FRONT);
    (0..count).map(|index| front[last * index / count.saturating_sub(1).max(1)]).collect()
}

/// Compares points by time, then cost.
pub(crate) fn order(a: (f64, f64), b: (f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}
