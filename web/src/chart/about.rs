//! Marks of a chart, and the sentences that describe them.

use std::sync::Arc;

use foreglow_model::{Feature, Interval, Setting, format_cost, format_time};
use foreglow_shared::{WhatIf, format_duration, format_percent, format_rate, sort_by};
use leptos::prelude::*;

use crate::data::machine_choice::Selection;
use crate::data::text::{counted, named};
use crate::state::Planner;
use crate::worker::plan::view::PlanView;

/// A point of a chart that the pointer or the keyboard can select.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Position, pixels.
    pub at: (f64, f64),
    /// What the point represents.
    pub about: About,
}

/// What a mark represents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// Executors and cores on the machine type of the what-if.
    Configuration(WhatIf),
    /// A row of the plan, by its index.
    Row(usize),
    /// A measured run and its prediction.
    Run {
        /// The setting of the run.
        setting: Setting,
        /// Measured time, seconds.
        measured_secs: f64,
        /// Predicted time with the setting held out, seconds; `None` for that of all runs.
        held_out_secs: Option<f64>,
    },
    /// A point of the curve of a single feature.
    Effect {
        /// The feature.
        feature: Feature,
        /// Number of executors, number of cores, or sampling rate.
        value: f64,
        /// Scaled time.
        scaled: f64,
        /// Whether the point was measured, rather than computed from the curve.
        measured: bool,
    },
}

impl About {
    /// Executors and cores of the mark, if it has some.
    fn counts(self, now: WhatIf) -> Option<WhatIf> {
        match self {
            Self::Configuration(configuration) => Some(configuration),
            Self::Row(_) => None,
            Self::Run { setting, .. } => {
                Some(WhatIf { executors: setting.executors, cores_per_executor: setting.cores_per_executor })
            }
            Self::Effect { feature: Feature::InverseExecutors, value, .. } => {
                Some(WhatIf { executors: value as u32, ..now })
            }
            Self::Effect { feature: Feature::InverseCores, value, .. } => {
                Some(WhatIf { cores_per_executor: value as u32, ..now })
            }
            Self::Effect { .. } => None,
        }
    }

    /// The what-if that a click selects; reactive.
    pub fn taken(self, planner: Planner) -> Option<Selection> {
        let now = planner.selection();
        match self {
            Self::Row(place) => {
                let plan = planner.answer.planned()?;
                Some(plan.selection(plan.row(Some(place))?))
            }
            _ => Some(Selection { counts: self.counts(now.counts)?, ..now }),
        }
    }

    /// A sentence that describes the mark; reactive.
    pub fn words(self, planner: Planner) -> Option<String> {
        match self {
            Self::Configuration(configuration) => {
                let cell = planner.answer.charts.with(|charts| charts.as_ref()?.grid.get(configuration));
                let figures = cell.map(|cell| (cell.secs, cell.interval, cell.cost));
                Some(described(planner, &named(configuration), configuration, figures))
            }
            Self::Row(place) => {
                let plan = planner.answer.planned()?;
                let row = plan.row(Some(place))?;
                let name = if plan.compares() { row.name.clone() } else { named(row.counts) };
                Some(described(planner, &name, row.counts, row.secs.map(|secs| (secs, row.interval, row.cost))))
            }
            Self::Run { setting, measured_secs, held_out_secs } => {
                let predicted = match held_out_secs {
                    Some(secs) => secs,
                    None => planner.answer.charts.with(|charts| charts.as_ref()?.predicted_secs(setting))?,
                };
                let off = format_percent((predicted / measured_secs - 1.0).abs() * 100.0);
                let side = if predicted < measured_secs { "less" } else { "more" };
                let without = if held_out_secs.is_some() { " by a fit without it" } else { "" };
                Some(format!(
                    "{}, {} of the images: measured {}, predicted {}{without}, {off} {side}",
                    setting.split(),
                    format_rate(setting.sampling_rate),
                    format_duration(measured_secs),
                    format_duration(predicted),
                ))
            }
            Self::Effect { feature, value, scaled, measured } => {
                let how = if measured { "measured" } else { "level 1 predicts" };
                Some(format!("{}: {how} ×{scaled:.3}", value_in_words(feature, value)))
            }
        }
    }
}

/// Sorts marks from left to right; those at one place keep their order.
pub fn from_left(mut marks: Vec<Mark>) -> Vec<Mark> {
    sort_by(&mut marks, |a, b| a.at.0.total_cmp(&b.at.0));
    marks
}

/// A short description of the what-if, shown without a selected mark; reactive.
pub fn in_short(planner: Planner) -> Option<String> {
    let row = planner.answer.looked_at()?;
    let WhatIf { executors, cores_per_executor } = row.counts;
    let figures = (row.secs?, row.interval, row.cost);
    let time = format_time(row.secs, row.interval.as_ref());
    Some(format!("What if {executors} × {cores_per_executor}: {time}{}.", money(planner, figures)))
}

/// Returns `, USD 0.12`; empty if the cost is unknown.
fn money(planner: Planner, (secs, interval, cost): Figures) -> String {
    let plan = planner.answer.planned().filter(|_| cost.is_some());
    let text = |plan: Arc<PlanView>| format_cost(cost, Some(secs), interval.as_ref(), &plan.currency);
    plan.map_or_else(String::new, |plan| format!(", {}", text(plan)))
}

/// `4 cores`, `10 % of the images`.
pub fn value_in_words(feature: Feature, value: f64) -> String {
    match feature {
        Feature::InverseExecutors => counted(value as u32, "executor"),
        // The mean of an uneven split.
        Feature::InverseCores if value.fract() > 0.0 => format!("{value:.2} cores"),
        Feature::InverseCores => counted(value as u32, "core"),
        Feature::SamplingRate => format!("{} of the images", format_rate(value)),
    }
}

/// Time, interval and cost.
type Figures = (f64, Option<Interval>, Option<f64>);

fn described(planner: Planner, name: &str, configuration: WhatIf, figures: Option<Figures>) -> String {
    let mut text = format!("{name}: ");
    match figures {
        Some(figures @ (secs, interval, _)) => {
            text.push_str(&format_time(Some(secs), interval.as_ref()));
            if let Some(interval) = interval {
                text.push_str(&format!(" ({})", interval.ends().join(" – ")));
            }
            text.push_str(&money(planner, figures));
        }
        None => text.push_str("unknown"),
    }
    let runs: Vec<String> = planner.answer.charts.with(|charts| {
        let runs = charts.as_ref().map(|charts| charts.runs.as_slice()).unwrap_or_default();
        let own = runs.iter().map(|run| &run.run).filter(|run| run.split() == configuration.split());
        own.map(|run| format!("{} on {}", format_duration(run.completion_time_secs), format_rate(run.sampling_rate)))
            .collect()
    });
    if runs.len() > 4 {
        text.push_str(&format!("; {} runs", runs.len()));
    } else if !runs.is_empty() {
        text.push_str(&format!("; measured {}", runs.join(", ")));
    }
    text
}
