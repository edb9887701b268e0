//! Marks of a chart, and the sentences that describe them.

use foreglow_model::{Feature, Setting};
use foreglow_shared::{WhatIf, format_duration, format_money, format_percent, format_rate};
use leptos::prelude::*;

use crate::data::text::{counted, named};
use crate::plot::lines::ends_secs;
use crate::state::Planner;

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
    /// A configuration and its prediction.
    Configuration(WhatIf),
    /// A measured run and its prediction.
    Run {
        /// The setting of the run.
        setting: Setting,
        /// Measured time, seconds.
        measured_secs: f64,
        /// Predicted time with the setting held out, seconds; `None` to ask the current predictor.
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
    /// The what-if that a click selects.
    pub fn taken(self, now: WhatIf) -> Option<WhatIf> {
        match self {
            Self::Configuration(configuration) => Some(configuration),
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

    /// A sentence that describes the mark; reactive.
    pub fn words(self, planner: Planner) -> Option<String> {
        match self {
            Self::Configuration(configuration) => of_configuration(planner, configuration),
            Self::Run { setting, measured_secs, held_out_secs } => {
                let predicted = match held_out_secs {
                    Some(secs) => secs,
                    None => planner.fitted()?.predictor.predict(setting).completion_time_secs?,
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

/// A short description of the what-if, shown without a selected mark; reactive.
pub fn in_short(planner: Planner) -> Option<String> {
    let what_if = planner.what_if.get();
    let secs = planner.prediction.with(|prediction| prediction.as_ref()?.completion_time_secs)?;
    let money = money(planner, what_if, secs);
    let WhatIf { executors, cores_per_executor } = what_if;
    Some(format!("What if {executors} × {cores_per_executor}: {}{money}.", format_duration(secs)))
}

/// Returns `, USD 0.12`; empty if the prices do not cover the hardware.
fn money(planner: Planner, configuration: WhatIf, secs: f64) -> String {
    let Some(cost) = planner.cost(configuration, secs) else { return String::new() };
    planner.prices.with(|prices| format!(", {}", format_money(cost, &prices.currency)))
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

fn of_configuration(planner: Planner, configuration: WhatIf) -> Option<String> {
    let prediction = planner.predict(configuration)?;
    let mut text = format!("{}: ", named(configuration));
    match prediction.completion_time_secs {
        Some(secs) => {
            text.push_str(&format_duration(secs));
            if let Some((lower, upper)) = prediction.interval.as_ref().map(ends_secs) {
                text.push_str(&format!(" ({} – {})", format_duration(lower), format_duration(upper)));
            }
            text.push_str(&money(planner, configuration, secs));
        }
        None => text.push_str("unknown"),
    }
    let selected = planner.selected.get();
    let runs: Vec<String> = planner.jobs.with(|jobs| {
        let runs = jobs.get(selected).map(|job| job.observations.as_slice()).unwrap_or_default();
        let own = runs.iter().filter(|run| run.split() == configuration.split());
        own.map(|run| format!("{} on {}", format_duration(run.completion_time_secs), format_rate(run.sampling_rate)))
            .collect()
    });
    if runs.len() > 4 {
        text.push_str(&format!("; {} runs", runs.len()));
    } else if !runs.is_empty() {
        text.push_str(&format!("; measured {}", runs.join(", ")));
    }
    Some(text)
}
