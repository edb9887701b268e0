//! What a mark of a drawing stands for, and how that is said.

use foreglow_model::{Feature, Setting};
use foreglow_shared::{WhatIf, format_duration, format_money, format_percent, format_rate};
use leptos::prelude::*;

use crate::chart::lines::ends_secs;
use crate::panel::counted;
use crate::state::Planner;

/// A place in a drawing that can be pointed at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Pixels.
    pub at: (f64, f64),
    /// What is there.
    pub about: About,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// A configuration with its prediction.
    Configuration(WhatIf),
    /// What was measured, and what is predicted of it.
    Run {
        /// Where.
        setting: Setting,
        /// Seconds.
        measured_secs: f64,
        /// Seconds; `None` where the present predictor is to be asked.
        held_out_secs: Option<f64>,
    },
    /// What one feature does.
    Effect {
        /// Which.
        feature: Feature,
        /// E, C or SR.
        value: f64,
        /// Scaled time.
        scaled: f64,
        /// Whether it was measured, or lies on the curve.
        measured: bool,
    },
}

impl About {
    /// The what-if that a click turns to.
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

    /// A sentence about it; reactive.
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
                    named(WhatIf { executors: setting.executors, cores_per_executor: setting.cores_per_executor }),
                    format_rate(setting.sampling_rate),
                    format_duration(measured_secs),
                    format_duration(predicted),
                ))
            }
            Self::Effect { feature, value, scaled, measured } => {
                let how = if measured { "measured" } else { "level 1 says" };
                Some(format!("{}: {how} ×{scaled:.3}", value_in_words(feature, value)))
            }
        }
    }
}

/// The what-if in a few words, where nothing is pointed at; reactive.
pub fn in_short(planner: Planner) -> Option<String> {
    let what_if = planner.what_if.get();
    let secs = planner.prediction.with(|prediction| prediction.as_ref()?.completion_time_secs)?;
    let money = money(planner, what_if, secs);
    let WhatIf { executors, cores_per_executor } = what_if;
    Some(format!("What if {executors} × {cores_per_executor}: {}{money}.", format_duration(secs)))
}

/// `, USD 0.12`; empty where the prices do not cover the hardware.
fn money(planner: Planner, configuration: WhatIf, secs: f64) -> String {
    let Some(cost) = planner.cost(configuration, secs) else { return String::new() };
    planner.prices.with(|prices| format!(", {}", format_money(cost, &prices.currency)))
}

/// `2 executors × 4 cores`.
pub fn named(configuration: WhatIf) -> String {
    let WhatIf { executors, cores_per_executor } = configuration;
    format!("{} × {}", counted(executors, "executor"), counted(cores_per_executor, "core"))
}

/// `4 cores`, `10 % of the images`.
pub fn value_in_words(feature: Feature, value: f64) -> String {
    match feature {
        Feature::InverseExecutors => counted(value as u32, "executor"),
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
        let own = runs.iter().filter(|run| {
            (run.executors, run.cores_per_executor) == (configuration.executors, configuration.cores_per_executor)
        });
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
