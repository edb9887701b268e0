//! Public measurements on which the answer about a job without samples is based.

use foreglow_shared::{format_count, format_probability};
use serde::Serialize;

/// Public measurements on which the answer about a job without samples is based.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublicBasis {
    /// Name of the network.
    pub network: String,
    /// Public speeds that were fitted for every question.
    pub measurements: usize,
    /// Public speeds of the network itself; 0 if it is predicted from the costs of its graph.
    pub rows_of_network: usize,
    /// Number of their sources.
    pub sources: usize,
    /// Number format.
    pub number_format: &'static str,
    /// Kind of the user's software; `None` if unknown.
    pub software: Option<&'static str>,
    /// Number of the user's own speeds.
    pub known: usize,
    /// Machine types that cannot run the job, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// How sure the recommended machine type costs less than the next ones, which is surer than the
    /// times.
    pub order: Vec<Order>,
    /// What contradicts the own speeds.
    pub notes: Vec<String>,
}

/// How sure one machine type costs less than another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Order {
    /// The machine type that costs less as predicted.
    pub machine: String,
    /// The other one.
    pub than: String,
    /// Probability that the first costs less.
    pub probability: f64,
}

impl PublicBasis {
    /// Describes the basis in sentences.
    pub fn describe(&self) -> String {
        let own = match self.known {
            0 => String::new(),
            count => format!(" and {} of your own", format_count(count, "number")),
        };
        let network = match self.rows_of_network {
            0 => format!("; {} itself is in none of them, only the costs of its graph are known", self.network),
            _ => String::new(),
        };
        let next = match (self.known, self.software) {
            (0, None) => {
                " One number of your own narrows the intervals most (--known 'RTX 3090=812/s'), then the kind of your \
                 software (--software plain)."
            }
            (0, Some(_)) => " One number of your own narrows the intervals most (--known 'RTX 3090=812/s').",
            _ => "",
        };
        format!(
            "Nothing was measured here: predicted from public measurements of the runs of others ({} of {}){own}, with {}{network}.{next}",
            format_count(self.measurements, "speed"),
            format_count(self.sources, "source"),
            self.number_format,
        )
    }

    /// Returns the notes below the answer.
    pub fn notes(&self) -> String {
        let left_out =
            self.left_out.iter().map(|(machine, reason)| format!("Left out: {machine}, because {reason}.\n"));
        let order: Vec<String> = self
            .order
            .iter()
            .map(|order| format!("than {} with {}", order.than, format_probability(order.probability)))
            .collect();
        let order = self.order.first().map(|first| format!("{} costs less {}.\n", first.machine, order.join(", ")));
        let notes = self.notes.iter().map(|note| format!("Note: {note}.\n"));
        let lines: String = order.into_iter().chain(left_out).chain(notes).collect();
        if lines.is_empty() { lines } else { format!("\n{lines}") }
    }
}
