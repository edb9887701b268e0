//! Named scenarios, kept in this browser: a name and the link of each.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use web_sys::Storage;

const KEY: &str = "foreglow.scenarios.v1";

/// A scenario with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// What the person calls it.
    pub name: String,
    /// What stands behind the `#` of its link.
    pub fragment: String,
}

/// Every named scenario, in the order in which they were saved; none where the browser keeps nothing.
pub fn list() -> Vec<Named> {
    let text = storage().and_then(|storage| storage.get_item(KEY).ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Saves a scenario in place of the one of the same name.
///
/// # Errors
/// One sentence: the browser keeps nothing, or has no room.
pub fn save(named: Named) -> Result<(), &'static str> {
    let mut scenarios = list();
    match scenarios.iter_mut().find(|known| known.name == named.name) {
        Some(known) => *known = named,
        None => scenarios.push(named),
    }
    write(&scenarios)
}

/// Forgets the scenario of a name.
///
/// # Errors
/// As [`save`].
pub fn forget(name: &str) -> Result<(), &'static str> {
    let mut scenarios = list();
    scenarios.retain(|known| known.name != name);
    write(&scenarios)
}

fn write(scenarios: &[Named]) -> Result<(), &'static str> {
    let denied = "This browser keeps nothing for this page. The address bar holds the scenario: bookmark it.";
    let full = "This browser has no room left for this page. Forget a scenario, or bookmark the address.";
    let text = serde_json::to_string(scenarios).map_err(|_| denied)?;
    storage().ok_or(denied)?.set_item(KEY, &text).map_err(|_| full)
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}
