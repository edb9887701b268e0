//! Fragments of the address and history entries.

use std::cell::Cell;

use foreglow_shared::SHORT_PREFIX;

thread_local! {
    /// Whether the next address becomes a new history entry instead of replacing the current one.
    static BEGINS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a fragment holds a question without runs.
pub fn is_short(fragment: &str) -> bool {
    fragment.starts_with(SHORT_PREFIX)
}

/// Makes the next address a new history entry, so that the back button returns to the current one.
pub fn begin_scenario() {
    BEGINS.set(true);
}

/// Makes the next address replace the current history entry, as after opening a link. Returns
/// whether it would have been a new one.
pub fn end_scenario() -> bool {
    BEGINS.replace(false)
}
