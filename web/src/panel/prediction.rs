//! Text of predictions, shared by all panels.

use foreglow_model::Interval;
use foreglow_shared::{format_duration, format_money};
use leptos::prelude::*;

use crate::data::neighbours::TimeCost;
use crate::data::text::capitalised;
use crate::worker::plan::view::Row;

/// Placeholder until there is an answer.
pub const PENDING: &str = "–";

/// A time as text for users.
pub fn time_of(secs: Option<f64>) -> String {
    secs.map_or_else(|| "unknown".into(), format_duration)
}

/// A cost as text for users.
pub fn money_of(cost: Option<f64>, currency: &str) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, currency))
}

/// A number with all digits, for `data-secs` and `data-cost`.
pub fn all_digits(number: Option<f64>) -> Option<String> {
    number.map(|number| number.to_string())
}

/// Time and cost of a row, if both are known.
pub fn taken(row: &Row) -> Option<TimeCost> {
    Some(TimeCost { secs: row.secs?, cost: row.cost? })
}

/// Formats an interval as `90 % interval 11.20 s – 13.60 s`.
pub fn interval_text(interval: Option<&Interval>) -> String {
    match interval {
        Some(Interval { lower_secs, upper_secs, probability }) => {
            // Without more digits, because a nominal probability is not precise.
            let percent = probability * 100.0;
            format!("{percent:.0} % interval {} – {}", format_duration(*lower_secs), format_duration(*upper_secs))
        }
        None => "no interval: too few runs".into(),
    }
}

/// Formats an interval's ends as `11.20 s – 13.60 s`, or `unknown`.
pub fn interval_ends(interval: Option<&Interval>) -> String {
    interval.map_or_else(
        || "unknown".into(),
        |interval| format!("{} – {}", format_duration(interval.lower_secs), format_duration(interval.upper_secs)),
    )
}

/// A time with two digits, where more would suggest a precision that the answer lacks: `6.5 h`.
pub fn roughly(secs: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min")];
    // Up to two days in hours.
    let unit = UNITS.into_iter().find(|(unit, name)| secs >= *unit * if *name == "d" { 2.0 } else { 1.0 });
    let (unit, name) = unit.unwrap_or((1.0, "s"));
    let amount = secs / unit;
    if amount < 9.95 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// The ends of an interval with two digits: `1.7 h – 25 h`.
pub fn roughly_between(interval: &Interval) -> String {
    format!("{} – {}", roughly(interval.lower_secs), roughly(interval.upper_secs))
}

/// The list of warnings.
pub fn warnings(sentences: &[String]) -> impl IntoView + use<> {
    let items = sentences.iter().map(|sentence| view! { <li>{capitalised(sentence)}</li> }).collect_view();
    (!sentences.is_empty()).then(|| view! { <ul class="warnings">{items}</ul> })
}
