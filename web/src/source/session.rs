//! The jobs that do not fit in the link, which holds one job of up to two thousand runs and those
//! that it is compared with. Session storage keeps them across a reload.

use foreglow_shared::{Job, MOST_RUNS_IN_LINK};
use leptos::prelude::*;
use web_sys::Storage;

use crate::state::Planner;

const KEY: &str = "foreglow.jobs.v1";

/// The jobs that this tab showed before a reload.
pub fn jobs() -> Vec<Job> {
    let text = storage().and_then(|storage| storage.get_item(KEY).ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps session storage current.
pub fn follow(planner: Planner) {
    Effect::new(move |_| {
        let Some(storage) = storage() else { return };
        // If the storage is full or forbidden, a reload loses the other jobs; the link keeps the
        // shown one.
        let _ = planner.jobs.with(|jobs| match jobs.as_slice() {
            // The page is empty until the sources have answered; a reload's jobs must survive that.
            [] => Ok(()),
            [job] if job.runs() <= MOST_RUNS_IN_LINK => storage.remove_item(KEY),
            jobs => serde_json::to_string(jobs).map_or(Ok(()), |text| storage.set_item(KEY, &text)),
        });
    });
}

fn storage() -> Option<Storage> {
    window().session_storage().ok().flatten()
}
