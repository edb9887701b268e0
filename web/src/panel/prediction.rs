//! Text of predictions, shared by all panels.

use foreglow_model::{Interval, Prediction};
use foreglow_shared::format_duration;
use leptos::prelude::*;

use crate::data::text::capitalised;

/// Placeholder until a predictor is available.
pub const PENDING: &str = "–";

/// A predicted time as text for users, and with all digits for `data-secs`.
pub fn time_of(prediction: Option<&Prediction>) -> (String, Option<String>) {
    match prediction.map(|prediction| prediction.completion_time_secs) {
        Some(Some(secs)) => (format_duration(secs), Some(secs.to_string())),
        Some(None) => ("unknown".into(), None),
        None => (PENDING.into(), None),
    }
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

/// The list of a prediction's warnings.
pub fn warnings(prediction: Option<&Prediction>) -> impl IntoView + use<> {
    let sentences: Vec<String> =
        prediction.map(|prediction| prediction.warnings.iter().map(ToString::to_string).collect()).unwrap_or_default();
    (!sentences.is_empty()).then(|| {
        let items = sentences.into_iter().map(|sentence| view! { <li>{capitalised(&sentence)}</li> }).collect_view();
        view! { <ul class="warnings">{items}</ul> }
    })
}
