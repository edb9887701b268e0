//! Fragments of the address, and which of them begin a new history entry.

use std::cell::Cell;

use foreglow_shared::{SHORT_PREFIX, ShortLink, View};

thread_local! {
    /// Whether the next address becomes a new history entry instead of replacing the current one.
    static BEGINS: Cell<bool> = const { Cell::new(false) };
}

/// The address fragment of a view: the whole view, or only the question if it has too many runs. In
/// that case the runs are kept in session storage.
pub fn fragment_of(view: &View) -> String {
    if view.fits_in_link() {
        view.to_fragment()
    } else {
        ShortLink::new(&view.job.context, view.question.clone()).to_fragment()
    }
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
