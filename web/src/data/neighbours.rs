//! The neighbours of the recommended configuration on the front, and their trade-offs.

use foreglow_model::{Candidate, Decision};
use foreglow_shared::{format_duration, format_money};

/// The next cheaper and the next faster configuration on the Pareto front, as indices of
/// candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The next point of the front that costs less and takes longer.
    pub cheaper: Option<usize>,
    /// The next point of the front that takes less time and costs more.
    pub faster: Option<usize>,
}

impl Neighbours {
    /// Returns the neighbours of the recommended configuration; empty without a recommendation.
    pub fn of(decision: &Decision) -> Self {
        let at = |place: usize| decision.candidates[place].time_and_burden();
        let Some((secs, cost)) = decision.recommended.and_then(at) else { return Self::default() };
        let front = || decision.pareto.iter().filter_map(|place| Some((*place, at(*place)?)));
        // The front is sorted by ascending time, so that its costs descend.
        let cheaper = front().find(|(_, other)| other.1 < cost && other.0 > secs);
        let faster = front().rfind(|(_, other)| other.0 < secs && other.1 > cost);
        Self { cheaper: cheaper.map(|(place, _)| place), faster: faster.map(|(place, _)| place) }
    }

    /// Says which neighbours are missing.
    pub fn missing(self) -> &'static str {
        match (self.cheaper, self.faster) {
            (None, None) => "no configuration is cheaper or faster",
            (None, Some(_)) => "no configuration is cheaper",
            (Some(_), None) => "no configuration is faster",
            (Some(_), Some(_)) => "",
        }
    }
}

/// The completion time and the cost of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Completion time, seconds.
    pub secs: f64,
    /// Cost, in the price sheet's currency.
    pub cost: f64,
}

impl Taken {
    /// Returns the time and cost of a candidate, if both are known.
    pub fn of(candidate: &Candidate) -> Option<Self> {
        Some(Self { secs: candidate.prediction.completion_time_secs?, cost: candidate.cost? })
    }

    /// Formats the difference to another configuration: `15.10 s longer, USD 0.004 less`. Amounts
    /// that are equal as shown are omitted.
    pub fn beside(self, other: Self, currency: &str) -> String {
        let time = difference(self.secs, other.secs, format_duration, ["longer", "shorter"]);
        let money = difference(self.cost, other.cost, |money| format_money(money, currency), ["more", "less"]);
        let words: Vec<String> = [time, money].into_iter().flatten().collect();
        if words.is_empty() { "the same".into() } else { words.join(", ") }
    }
}

fn difference(own: f64, other: f64, format: impl Fn(f64) -> String, words: [&str; 2]) -> Option<String> {
    (format(own) != format(other))
        .then(|| format!("{} {}", format((own - other).abs()), words[usize::from(own < other)]))
}

#[cfg(test)]
mod tests {
    use foreglow_model::Prediction;

    use super::*;

    fn candidate(executors: u32, secs: f64, cost: f64) -> Candidate {
        Candidate {
            executors,
            cores_per_executor: 1,
            memory_per_executor_mib: 1024,
            prediction: Prediction {
                completion_time_secs: Some(secs),
                interval: None,
                spread: None,
                warnings: Vec::new(),
            },
            cost: Some(cost),
            burden: Some(cost),
            success_probability: None,
            meets_deadline: true,
            within_budget: true,
            keeps_accuracy: true,
            exclusion: None,
        }
    }

    fn decision(recommended: Option<usize>) -> Decision {
        let candidates =
            vec![candidate(1, 40.0, 1.0), candidate(2, 21.0, 1.1), candidate(3, 15.0, 1.3), candidate(4, 12.0, 1.7)];
        Decision {
            weighed: 4,
            candidates,
            recommended,
            fastest: Some(3),
            cheapest: Some(0),
            likeliest: None,
            pareto: vec![3, 2, 1, 0],
        }
    }

    #[test]
    fn the_neighbours_are_the_next_ones_along_the_front() {
        assert_eq!(Neighbours::of(&decision(Some(1))), Neighbours { cheaper: Some(0), faster: Some(2) });
        assert_eq!(Neighbours::of(&decision(Some(0))), Neighbours { cheaper: None, faster: Some(1) });
        assert_eq!(Neighbours::of(&decision(Some(3))), Neighbours { cheaper: Some(2), faster: None });
        assert_eq!(Neighbours::of(&decision(None)), Neighbours::default());
        assert_eq!(Neighbours::of(&decision(Some(1))).missing(), "");
        assert_eq!(Neighbours::of(&decision(Some(0))).missing(), "no configuration is cheaper");
        assert_eq!(Neighbours::of(&decision(Some(3))).missing(), "no configuration is faster");
    }

    #[test]
    fn a_trade_off_names_time_and_money_and_omits_what_is_equal() {
        let own = Taken { secs: 21.0, cost: 1.1 };
        assert_eq!(Taken { secs: 40.0, cost: 1.0 }.beside(own, "EUR"), "19.00 s longer, EUR 0.1000 less");
        assert_eq!(Taken { secs: 21.0, cost: 1.3 }.beside(own, "EUR"), "EUR 0.2000 more");
        assert_eq!(own.beside(own, "EUR"), "the same");
    }
}
