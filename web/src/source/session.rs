//! The part of the state that the link lacks: other jobs than the shown one, their excluded runs,
//! and what a short link omits. Session storage keeps it across a reload.

use leptos::prelude::*;

use crate::client::storage;
use crate::data::view_state::Rest;
use crate::state::Planner;

const KEY: &str = "foreglow.state.v1";

/// What this tab kept before a reload.
pub fn rest() -> Rest {
    storage::kept(KEY).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps session storage current.
pub fn follow(planner: Planner) {
    Effect::new(move |_| {
        planner.jobs.track();
        planner.edits.track();
        planner.pins.track();
        // The page is empty until the sources have answered. What a reload needs must not be
        // removed then.
        let Some(rest) = untrack(|| planner.state()).rest() else { return };
        // If it cannot be kept, a reload loses the other jobs; the shown one is in the link.
        if let Ok(text) = serde_json::to_string(&rest) {
            storage::keep(KEY, &text);
        }
    });
}
