//! The pinned configurations.

use leptos::prelude::*;

use super::Planner;
use crate::data::machine_choice::Selection;

/// Limit on the pins, to keep the link short and the table readable.
const MOST_PINS: usize = 12;

impl Planner {
    /// Pins a configuration, unless it is pinned or there are too many.
    pub fn pin(self, selection: Selection) {
        self.pins.update(|pins| {
            if !pins.contains(&selection) && pins.len() < MOST_PINS {
                pins.push(selection);
            }
        });
    }

    /// Whether a configuration cannot be pinned again; reactive.
    pub fn is_pinned(self, selection: &Selection) -> bool {
        self.pins.with(|pins| pins.contains(selection) || pins.len() >= MOST_PINS)
    }
}
