//! Which configurations stand beside the recommended one, and what each gives up.

use foreglow_model::{Candidate, Decision};
use foreglow_shared::{format_duration, format_money};

/// The next cheaper configuration of the front and the next faster one, as places in the candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Costs less and takes longer, by as little as there is.
    pub cheaper: Option<usize>,
    /// Takes less time and costs more, by as little as there is.
    pub faster: Option<usize>,
}

impl Neighbours {
    /// Of the recommended configuration; none of none.
    pub fn of(decision: &Decision) -> Self {
        let at = |place: usize| decision.candidates[place].time_and_burden();
        let Some((secs, cost)) = decision.recommended.and_then(at) else { return Self::default() };
        let front = || decision.pareto.iter().filter_map(|place| Some((*place, at(*place)?)));
        // The front comes by time ascending, and its money falls along it.
        let cheaper = front().find(|(_, other)| other.1 < cost && other.0 > secs);
        let faster = front().rfind(|(_, other)| other.0 < secs && other.1 > cost);
        Self { cheaper: cheaper.map(|(place, _)| place), faster: faster.map(|(place, _)| place) }
    }

    /// What there is none of.
    pub fn missing(self) -> &'static str {
        match (self.cheaper, self.faster) {
            (None, None) => "nothing here is cheaper or faster",
            (None, Some(_)) => "nothing here is cheaper",
            (Some(_), None) => "nothing here is faster",
            (Some(_), Some(_)) => "",
        }
    }
}

/// What a configuration takes, and how surely it is in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Seconds.
    pub secs: f64,
    /// Money.
    pub cost: f64,
}

impl Taken {
    /// Of a candidate, where it is known.
    pub fn of(candidate: &Candidate) -> Option<Self> {
        Some(Self { secs: candidate.prediction.completion_time_secs?, cost: candidate.cost? })
    }

    /// `15.10 s longer, USD 0.004 less` than another; what is the same to the digit that is shown is left out.
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
        assert_eq!(Neighbours::of(&decision(Some(0))).missing(), "nothing here is cheaper");
        assert_eq!(Neighbours::of(&decision(Some(3))).missing(), "nothing here is faster");
    }

    #[test]
    fn what_is_given_up_is_said_in_time_and_money_and_what_is_the_same_is_not() {
        let own = Taken { secs: 21.0, cost: 1.1 };
        assert_eq!(Taken { secs: 40.0, cost: 1.0 }.beside(own, "EUR"), "19.00 s longer, EUR 0.1000 less");
        assert_eq!(Taken { secs: 21.0, cost: 1.3 }.beside(own, "EUR"), "EUR 0.2000 more");
        assert_eq!(own.beside(own, "EUR"), "the same");
    }
}
