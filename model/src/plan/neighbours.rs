//! Neighbours of the recommended configuration on the front of time and cost.

use super::{Decision, Objective};
use crate::Spread;
use crate::cheapest::as_cheap_as;

/// The next cheaper and the next faster configuration on the Pareto front, as indices of
/// candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The next point of the front that costs less, by more than counts as equal, and takes longer.
    pub cheaper: Option<usize>,
    /// The next point of the front that takes less time and costs more.
    pub faster: Option<usize>,
}

impl Neighbours {
    /// Returns the neighbours of the recommended configuration; empty without a recommendation.
    pub fn of(decision: &Decision) -> Self {
        let at = |place: usize| decision.candidates[place].time_and_objective();
        let Some((secs, cost)) = decision.recommended.and_then(at) else { return Self::default() };
        let front = || decision.pareto.iter().filter_map(|place| Some((*place, at(*place)?)));
        // The front is sorted by ascending time, so that its costs descend.
        let is_priced = decision.objective == Objective::Cost;
        let spread = |place: usize| decision.candidates[place].prediction.spread.as_ref().filter(|_| is_priced);
        let error = |place: usize| spread(place).and_then(Spread::log_deviation);
        let at_most = |place: usize, cost: f64| as_cheap_as(cost, error(place).unwrap_or(0.0));
        let cheaper = front().find(|(place, other)| at_most(*place, other.1) < cost && other.0 > secs);
        let faster = front().rfind(|(_, other)| other.0 < secs && other.1 > cost);
        Self { cheaper: cheaper.map(|(place, _)| place), faster: faster.map(|(place, _)| place) }
    }
}

#[cfg(test)]
mod tests {
    use foreglow_shared::CoreSplit;

    use super::*;
    use crate::{Candidate, Placement, Prediction};

    fn candidate(executors: u32, secs: f64, cost: f64) -> Candidate {
        Candidate {
            placement: Placement::new(0, CoreSplit::even(executors, 1), 1024),
            prediction: Prediction {
                completion_time_secs: Some(secs),
                interval: None,
                spread: None,
                warnings: Vec::new(),
            },
            cost: Some(cost),
            hourly_cost: None,
            objective: Some(cost),
            success_probability: None,
            meets_deadline: true,
            within_budget: true,
            keeps_accuracy: true,
            is_feasible: true,
            accuracy: None,
            exclusion: None,
        }
    }

    fn decision(recommended: Option<usize>) -> Decision {
        let candidates =
            vec![candidate(1, 40.0, 1.0), candidate(2, 21.0, 1.1), candidate(3, 15.0, 1.3), candidate(4, 12.0, 1.7)];
        Decision {
            compared: 4,
            objective: Objective::Cost,
            candidates,
            recommended,
            as_cheap: None,
            fastest: Some(3),
            cheapest: Some(0),
            likeliest: None,
            pareto: vec![3, 2, 1, 0],
            best_per_machine: vec![0],
        }
    }

    #[test]
    fn the_neighbours_are_the_next_ones_along_the_front() {
        assert_eq!(Neighbours::of(&decision(Some(1))), Neighbours { cheaper: Some(0), faster: Some(2) });
        assert_eq!(Neighbours::of(&decision(Some(0))), Neighbours { cheaper: None, faster: Some(1) });
        assert_eq!(Neighbours::of(&decision(Some(3))), Neighbours { cheaper: Some(2), faster: None });
        assert_eq!(Neighbours::of(&decision(None)), Neighbours::default());
    }

    #[test]
    fn what_costs_practically_the_same_is_not_cheaper() {
        let mut decision = decision(Some(1));
        decision.candidates[0] = candidate(1, 40.0, 1.0985);
        assert_eq!(Neighbours::of(&decision), Neighbours { cheaper: None, faster: Some(2) });
    }
}
