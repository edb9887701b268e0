//! Text of predictions, shared by all panels.

use foreglow_model::{Interval, format_cost, format_time};
use leptos::prelude::*;

use crate::data::neighbours::TimeCost;
use crate::data::text::capitalised;
use crate::worker::plan::view::{PlanView, Row};

/// Placeholder until there is an answer.
pub const PENDING: &str = "–";

/// The time of a row as text for users.
pub fn time_of(row: &Row) -> String {
    format_time(row.secs, row.interval.as_ref())
}

/// The cost of a row as text for users.
pub fn money_of(row: &Row, currency: &str) -> String {
    format_cost(row.cost, row.secs, row.interval.as_ref(), currency)
}

/// The cost of a predicted time, in the unit in which a plan's lists compare costs.
pub fn compared_money(plan: &PlanView, cost: Option<f64>, secs: Option<f64>, interval: Option<&Interval>) -> String {
    format_cost(cost.map(|cost| plan.compared_cost(cost)), secs, interval, &plan.currency)
}

/// The title of these costs: `Cost`, or `Cost per million images`.
pub fn cost_title(plan: &PlanView) -> String {
    plan.compared_unit().map_or_else(|| "Cost".to_owned(), |unit| format!("Cost {}", unit.title()))
}

/// The cost of a row for a large number of inputs: `USD 0.05 per million images`.
pub fn unit_money(plan: &PlanView, row: &Row) -> Option<String> {
    let unit = plan.cost_unit.as_ref().filter(|unit| !unit.is_job())?;
    let cost = format_cost(Some(unit.cost(row.cost?)), row.secs, row.interval.as_ref(), &plan.currency);
    Some(format!("{cost} {}", unit.title()))
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
        // Without more digits, because a nominal probability is not precise.
        Some(interval) => format!("{:.0} % interval {}", interval.probability * 100.0, between(interval)),
        None => "no interval: too few runs".into(),
    }
}

/// Formats an interval's ends as `11.20 s – 13.60 s`, or `unknown`.
pub fn interval_ends(interval: Option<&Interval>) -> String {
    interval.map_or_else(|| "unknown".into(), between)
}

fn between(interval: &Interval) -> String {
    // A line breaks between the ends, and not between a number and its unit.
    interval.ends().map(|end| end.replace(' ', "\u{a0}")).join(" – ")
}

/// The list of warnings.
pub fn warnings(sentences: &[String]) -> impl IntoView + use<> {
    let items = sentences.iter().map(|sentence| view! { <li>{capitalised(sentence)}</li> }).collect_view();
    (!sentences.is_empty()).then(|| view! { <ul class="warnings">{items}</ul> })
}
