//! The cheapest of some configurations: the one rule for costs that differ too little to matter.

use std::cmp::Ordering;

/// Relative difference below which costs are considered equal. A job with perfect speed-up costs
/// the same everywhere, up to differences that no prediction can resolve, and then the faster
/// configuration should win.
const SAME_MONEY: f64 = 2e-3;

/// Returns the largest cost that counts as equal to the least.
pub(crate) fn as_cheap_as(least: f64) -> f64 {
    least * (1.0 + SAME_MONEY)
}

/// Returns the fastest of the places whose cost counts as equal to the least, and of equals the
/// first; `None` if no cost is known. `faster` compares two places by their time.
pub(crate) fn cheapest(
    places: impl Iterator<Item = usize> + Clone,
    cost: impl Fn(usize) -> Option<f64>,
    faster: impl Fn(usize, usize) -> Ordering,
) -> Option<usize> {
    let bound = as_cheap_as(places.clone().filter_map(&cost).min_by(f64::total_cmp)?);
    places.filter(|place| cost(*place).is_some_and(|cost| cost <= bound)).min_by(|a, b| faster(*a, *b))
}
