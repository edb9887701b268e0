//! The outstanding configurations among those in ascending order of time.

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

/// Returns the Pareto front of configurations in ascending order of time.
pub(super) fn front(secs: &dyn Fn(usize) -> f64, costs: &[f64]) -> Vec<usize> {
    let mut front: Vec<usize> = Vec::new();
    for place in 0..costs.len() {
        let last = front.last().copied();
        if costs[place] < last.map_or(f64::INFINITY, |last| costs[last]) {
            // Of equal times the cheapest.
            front.truncate(front.len() - usize::from(last.is_some_and(|last| secs(last) == secs(place))));
            front.push(place);
        }
    }
    front
}

/// Returns at most `MAX_FRONT` places, evenly spaced, including both ends.
pub(super) fn thinned(front: &[usize]) -> Vec<usize> {
    let last = front.len().saturating_sub(1);
    let count = front.len().min(MAX_FRONT);
    (0..count).map(|index| front[last * index / count.saturating_sub(1).max(1)]).collect()
}
