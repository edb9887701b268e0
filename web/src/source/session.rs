//! The jobs that the link has no room for: a link holds one of some thousand runs, a file may hold many and more. They stay in this tab's storage, so that a
//! reload loses none.

use foreglow_shared::Job;
use leptos::prelude::*;
use web_sys::Storage;

use super::address::MOST_RUNS_IN_LINK;
use crate::state::Planner;

const KEY: &str = "foreglow.jobs.v1";

/// The jobs that this tab showed before it was reloaded.
pub fn jobs() -> Vec<Job> {
    let text = storage().and_then(|storage| storage.get_item(KEY).ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps the tab's storage current.
pub fn follow(planner: Planner) {
    Effect::new(move |_| {
        let Some(storage) = storage() else { return };
        // A storage that is full or forbidden loses the other jobs at a reload; the link keeps the one that is shown.
        let _ = planner.jobs.with(|jobs| match jobs.as_slice() {
            // Nothing is there before the sources have answered; what a reload needs must survive that.
            [] => Ok(()),
            [job] if job.observations.len() + job.incomplete.len() <= MOST_RUNS_IN_LINK => storage.remove_item(KEY),
            jobs => serde_json::to_string(jobs).map_or(Ok(()), |text| storage.set_item(KEY, &text)),
        });
    });
}

fn storage() -> Option<Storage> {
    window().session_storage().ok().flatten()
}
