//! Trade-offs between configurations, in words.

use foreglow_shared::{CostUnit, Estimate};

/// The completion time and the cost of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeCost {
    /// Completion time, seconds.
    pub secs: f64,
    /// Cost, in the price sheet's currency.
    pub cost: f64,
}

impl TimeCost {
    /// Formats the difference to another configuration: `15 s longer, USD 0.10 less`. Amounts that
    /// are equal as shown are omitted. The costs may be those of a unit: `USD 0.10 less per million
    /// images`.
    pub fn beside(self, other: Self, currency: &str, unit: Option<&CostUnit>) -> String {
        let time = difference(self.secs, other.secs, |rough| rough.duration(), ["longer", "shorter"]);
        let money = difference(self.cost, other.cost, |rough| rough.money(currency), ["more", "less"]);
        let money = money.map(|money| unit.map(|unit| format!("{money} {}", unit.title())).unwrap_or(money));
        let words: Vec<String> = [time, money].into_iter().flatten().collect();
        if words.is_empty() { "the same".into() } else { words.join(", ") }
    }
}

fn difference(own: f64, other: f64, format: impl Fn(Estimate) -> String, words: [&str; 2]) -> Option<String> {
    let format = |amount: f64| format(Estimate::rough(amount));
    (format(own) != format(other))
        .then(|| format!("{} {}", format((own - other).abs()), words[usize::from(own < other)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trade_off_names_time_and_money_and_omits_what_is_equal() {
        let own = TimeCost { secs: 21.0, cost: 1.1 };
        assert_eq!(TimeCost { secs: 40.0, cost: 1.0 }.beside(own, "EUR", None), "19 s longer, EUR 0.10 less");
        assert_eq!(TimeCost { secs: 21.0, cost: 1.3 }.beside(own, "EUR", None), "EUR 0.20 more");
        assert_eq!(own.beside(own, "EUR", None), "the same");
        let job = r#"{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1}"#;
        let unit = CostUnit::of(&serde_json::from_str(job).unwrap(), 3600.0, 0.001, 0.001);
        let text = TimeCost { secs: 21.0, cost: 1.3 }.beside(own, "EUR", unit.as_ref());
        assert_eq!(text, "EUR 0.20 more per million images");
    }
}
