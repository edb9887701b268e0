//! Why a configuration is recommended, or why none is.

use foreglow_model::{Candidate, Decision, Limits, Objective, Plan};
use foreglow_shared::{format_duration, format_price, format_probability};

use super::rows::{is_alone, is_public, row};

/// Explains a decision in one or two sentences.
pub fn verdict(plan: &Plan, decision: &Decision, limits: &Limits) -> String {
    let is_priced = decision.objective == Objective::Cost;
    if decision.recommended.is_none() {
        return shortfall(plan, decision, limits);
    }
    let best = match decision.objective {
        Objective::Cost => "cheapest",
        Objective::ExecutorHours => "one of the fewest executor-hours",
        Objective::Time => "fastest",
    };
    // The two sentences after a semicolon are not shown together.
    let tie = decision
        .as_cheap
        .map(|place| format!("; it costs the same as {} within the error", name(plan, &decision.candidates[place])));
    match limits.deadline_secs {
        Some(deadline) => format!("The {best} that meets {}{}", format_duration(deadline), tie.unwrap_or_default()),
        None if limits.budget.is_some() => "The fastest within the budget".into(),
        None if is_priced => {
            format!(
                "The cheapest at any speed{}",
                tie.unwrap_or_else(|| "; set a deadline to see the cost of speed".into())
            )
        }
        None => format!("The {best} at any speed{}", tie.unwrap_or_default()),
    }
}

/// Returns why the cost of all configurations is unknown; `None` if one is known.
pub fn cost_unknown(plan: &Plan) -> Option<String> {
    if plan.objective() == Objective::Cost {
        return None;
    }
    let accelerator = plan.predictor().arms().iter().find_map(|arm| arm.accelerator.as_deref());
    let refused = plan.space().sheet.as_ref().and_then(|sheet| sheet.check_for(accelerator).err());
    Some(refused.map_or_else(|| "no machine type has a known price".to_owned(), |error| error.to_string()))
}

/// Returns the source of the prices of a candidate.
pub fn prices(plan: &Plan, candidate: &Candidate, limits: &Limits) -> String {
    let pricing = plan.pricing(candidate.placement.arm);
    match (pricing.sheet(), pricing.machine_type()) {
        (Some(sheet), _) => format!("{}, {}", sheet.name, sheet.date),
        (None, Some(_)) if limits.spot => "Spot prices of whole machines, billed by the second".into(),
        (None, Some(_)) => "Whole machines, billed by the second with the provider's minimum".into(),
        (None, None) => "No price is known".into(),
    }
}

fn name(plan: &Plan, candidate: &Candidate) -> String {
    match is_alone(plan) {
        true => candidate.split().to_string(),
        false => row(plan, candidate, false).name,
    }
}

fn time(candidate: &Candidate) -> String {
    candidate.prediction.completion_time_secs.map_or_else(|| "unknown".into(), format_duration)
}

fn shortfall(plan: &Plan, decision: &Decision, limits: &Limits) -> String {
    let at = |place: Option<usize>| place.and_then(|place| decision.candidates.get(place));
    let Some(fastest) = at(decision.fastest) else { return nothing_compared(plan, decision) };
    if limits.min_accuracy.is_some() {
        return "No configuration of these runs is known to have this accuracy within the other limits.".into();
    }
    if let Some(reason) = cost_unknown(plan).filter(|_| limits.budget.is_some() || limits.max_hourly_cost.is_some()) {
        return format!("No configuration is known to keep the budget: {reason}.");
    }
    let is_late = |deadline: &f64| fastest.prediction.completion_time_secs > Some(*deadline);
    if let Some(deadline) = limits.deadline_secs.filter(is_late) {
        return format!(
            "No configuration meets {}. The fastest, {}, takes {}. Extend the deadline{}.",
            format_duration(deadline),
            name(plan, fastest),
            time(fastest),
            if is_public(plan) { "" } else { ", or allow more executors and cores" },
        );
    }
    let money = |amount: f64| format_price(amount, plan.currency());
    if let Some((most, least)) = limits.max_hourly_cost.zip(plan.least_hourly_cost(limits))
        && least > most
    {
        return format!(
            "No configuration costs at most {} an hour: the cheapest machines cost {}. Raise the limit.",
            money(most),
            money(least)
        );
    }
    let cheapest = at(decision.cheapest).and_then(|candidate| Some((candidate, candidate.cost?)));
    let is_dear = |cost: f64| limits.budget.is_some_and(|budget| cost > budget);
    if let Some((cheapest, cost)) = cheapest.filter(|(_, cost)| is_dear(*cost)) {
        return format!(
            "No configuration keeps the budget. The cheapest, {}, costs {}. Raise the budget.",
            name(plan, cheapest),
            money(cost)
        );
    }
    match at(decision.likeliest).and_then(|candidate| Some((candidate, candidate.success_probability?))) {
        Some((candidate, most)) => format!(
            "No configuration meets the limits with a probability of {}. The likeliest, {}, does with {}. Relax the \
             limits, or {}.",
            format_probability(limits.probability),
            name(plan, candidate),
            format_probability(most),
            if is_public(plan) { "give a speed that you know" } else { "collect more samples" },
        ),
        None if limits.max_hourly_cost.is_some() => format!(
            "No configuration meets all limits. The fastest is {}: {}. Relax the limits.",
            name(plan, fastest),
            time(fastest)
        ),
        None => {
            "There are too few samples to estimate the probability of meeting the limits. Collect more, or set the \
                 probability to 50 %, for which the predicted time decides."
                .into()
        }
    }
}

fn nothing_compared(plan: &Plan, decision: &Decision) -> String {
    let excluded = decision.candidates.iter().find_map(|candidate| candidate.exclusion.as_ref());
    match (excluded, plan.omissions()) {
        (Some(exclusion), _) if exclusion.is_about_memory() => {
            format!("No configuration is known to fit into its memory: {exclusion}.")
        }
        (_, [first, ..]) => format!("No configuration can be compared: {}.", first.reason),
        _ => "All times are unknown; the warnings of the what-if say what to collect.".into(),
    }
}
