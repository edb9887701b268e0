//! The outstanding configurations among those in ascending order of time.

/// Relative difference below which costs are considered equal; then the faster configuration wins.
pub(super) const SAME_MONEY: f64 = 2e-3;
/// Limit on the listed points of the front.
const MAX_FRONT: usize = 64;

/// Places of the notable configurations.
pub(super) struct Notable {
    pub(super) recommended: Option<usize>,
    pub(super) fastest: Option<usize>,
    pub(super) cheapest: Option<usize>,
    pub(super) likeliest: Option<usize>,
    pub(super) pareto: Vec<usize>,
    pub(super) best_per_machine: Vec<usize>,
}

impl Notable {
    /// Returns all places, ascending.
    pub(super) fn places(&self) -> Vec<usize> {
        let single = [self.recommended, self.fastest, self.cheapest, self.likeliest];
        let lists = self.pareto.iter().chain(&self.best_per_machine).copied();
        let mut places: Vec<usize> = single.into_iter().flatten().chain(lists).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Returns the cheapest of some places in ascending order of time; of costs that are practically
/// equal the fastest. `None` if no price is known.
pub(super) fn cheapest(costs: &[f64], places: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let least = places.clone().map(|place| costs[place]).fold(f64::INFINITY, f64::min);
    let bound = least * (1.0 + SAME_MONEY);
    places.into_iter().find(|place| least.is_finite() && costs[*place] <= bound)
}

/// Returns the Pareto front of configurations in ascending order of time.
pub(super) fn front(costs: &[f64]) -> Vec<usize> {
    let mut least = f64::INFINITY;
    let is_better = |place: &usize| {
        let better = costs[*place] < least;
        least = least.min(costs[*place]);
        better
    };
    (0..costs.len()).filter(is_better).collect()
}

/// Returns at most `MAX_FRONT` places, evenly spaced, including both ends.
pub(super) fn thinned(front: &[usize]) -> Vec<usize> {
    let last = front.len().saturating_sub(1);
    let count = front.len().min(MAX_FRONT);
    (0..count).map(|index| front[last * index / count.saturating_sub(1).max(1)]).collect()
}
