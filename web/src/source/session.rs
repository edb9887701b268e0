//! State that does not fit in the link, which contains one job of up to two thousand runs and its
//! comparison: the other jobs, their excluded runs, and the parts that a short link omits. Session
//! storage keeps this state across a reload.

use foreglow_shared::{Job, MOST_RUNS_IN_LINK, WhatIf};
use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use web_sys::Storage;

use crate::data::edits::Edits;
use crate::state::Planner;

const KEY: &str = "foreglow.jobs.v1";
/// The keys of the excluded runs and of the measured sizes.
const EDITS: [&str; 2] = ["foreglow.excluded.v1", "foreglow.sizes.v1"];
const PINS: &str = "foreglow.pins.v1";

/// The jobs that this tab showed before a reload.
pub fn jobs() -> Vec<Job> {
    read(KEY).unwrap_or_default()
}

/// The configurations that were pinned before a reload.
pub fn pins() -> Vec<WhatIf> {
    read(PINS).unwrap_or_default()
}

/// Restores the excluded runs and the measured sizes of [`jobs`].
pub fn restore_edits(planner: Planner) {
    planner.edits.update(|edits| edits.add(EDITS.map(|key| read(key).unwrap_or_default())));
}

fn read<T: DeserializeOwned>(key: &str) -> Option<T> {
    serde_json::from_str(&storage()?.get_item(key).ok()??).ok()
}

fn write<T: Serialize>(key: &str, value: &T) {
    if let Some((storage, text)) = storage().zip(serde_json::to_string(value).ok()) {
        // If the storage is full or forbidden, a reload loses the other jobs; the shown one is in
        // the link.
        let _ = storage.set_item(key, &text);
    }
}

/// Keeps session storage current.
pub fn follow(planner: Planner) {
    Effect::new(move |_| {
        let keeps_sizes = planner.edits.with(Edits::keeps_sizes);
        planner.jobs.with(|jobs| match jobs.as_slice() {
            // The page is empty until the sources have answered. The jobs of a reload must not be
            // removed then.
            [] => {}
            [job] if keeps_sizes && job.runs() <= MOST_RUNS_IN_LINK => {
                let _ = storage().map(|storage| storage.remove_item(KEY));
            }
            _ => write(KEY, jobs),
        });
    });
    Effect::new(move |_| {
        let (edits, pins) = (planner.edits.with(Edits::as_jobs), planner.pins.get());
        if !planner.jobs.with(Vec::is_empty) {
            EDITS.iter().zip(&edits).for_each(|(key, jobs)| write(key, jobs));
            write(PINS, &pins);
        }
    });
}

fn storage() -> Option<Storage> {
    window().session_storage().ok().flatten()
}
