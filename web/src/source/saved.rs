//! Named scenarios in local storage: a name and a link each.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use web_sys::Storage;

const KEY: &str = "foreglow.scenarios.v1";

/// A named scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The name that the user gave it.
    pub name: String,
    /// The fragment of its link, without `#`.
    pub fragment: String,
}

/// All named scenarios, in the order in which they were saved; empty without local storage.
pub fn list() -> Vec<Named> {
    let text = storage().and_then(|storage| storage.get_item(KEY).ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Saves a scenario, replacing one of the same name.
///
/// # Errors
/// Local storage is unavailable or full; one sentence.
pub fn save(named: Named) -> Result<(), &'static str> {
    let mut scenarios = list();
    match scenarios.iter_mut().find(|known| known.name == named.name) {
        Some(known) => *known = named,
        None => scenarios.push(named),
    }
    write(&scenarios)
}

/// Deletes the scenario with this name.
///
/// # Errors
/// As [`save`].
pub fn forget(name: &str) -> Result<(), &'static str> {
    let mut scenarios = list();
    scenarios.retain(|known| known.name != name);
    write(&scenarios)
}

fn write(scenarios: &[Named]) -> Result<(), &'static str> {
    let denied = "This browser does not store data for this page. The address bar holds the scenario: bookmark it.";
    let full = "The browser's storage for this page is full. Delete a scenario, or bookmark the address.";
    let text = serde_json::to_string(scenarios).map_err(|_| denied)?;
    storage().ok_or(denied)?.set_item(KEY, &text).map_err(|_| full)
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}
