//! The cheapest of some configurations: the one rule for costs that differ too little to matter.

use std::cmp::Ordering;

/// Stopping threshold of advice: the expected saving, as a share of the cost, below which more runs
/// are not worth it.
pub const LEAST_SAVING: f64 = 0.02;

/// Relative difference below which costs are equal, whatever their error. A job with perfect
/// speed-up costs the same everywhere, up to differences that no prediction can resolve, and then
/// the faster configuration should win.
const SAME_MONEY: f64 = 2e-3;
/// Largest relative difference that counts as equal, however uncertain the costs are: the saving for
/// which another run would be made.
pub(crate) const MOST_SAME_MONEY: f64 = LEAST_SAVING;

/// Returns the largest cost that counts as equal to the least, whose relative standard error is
/// `error`: one standard error more.
pub(crate) fn as_cheap_as(least: f64, error: f64) -> f64 {
    least * (1.0 + error.clamp(SAME_MONEY, MOST_SAME_MONEY))
}

/// Returns the fastest of the places whose cost counts as equal to the least, and of equals the
/// first; `None` if no cost is known. `error` is the relative standard error of the cost of a
/// place, and `faster` compares two places by their time.
pub(crate) fn cheapest(
    places: impl Iterator<Item = usize> + Clone,
    cost: impl Fn(usize) -> Option<f64>,
    error: impl Fn(usize) -> f64,
    faster: impl Fn(usize, usize) -> Ordering,
) -> Option<usize> {
    let (least, least_cost) = least(places.clone(), &cost)?;
    let bound = as_cheap_as(least_cost, error(least));
    places.filter(|place| cost(*place).is_some_and(|cost| cost <= bound)).min_by(|a, b| faster(*a, *b))
}

/// Returns the place with the least cost, and this cost; of equals the first.
pub(crate) fn least(places: impl Iterator<Item = usize>, cost: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
    let known = places.filter_map(|place| Some((place, cost(place)?)));
    known.min_by(|(_, a), (_, b)| a.total_cmp(b))
}
