//! Notes for the user on standard error, which `--quiet` suppresses.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use foreglow_shared::printable;

/// Whether the user wants only the answer.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether progress, notes and warnings are suppressed.
pub fn be_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Returns whether progress, notes and warnings are suppressed.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a line for the user on standard error.
pub fn note(text: &str) {
    if !is_quiet() {
        complain(text);
    }
}

/// Prints a line on standard error that `--quiet` does not suppress, such as an error. A reader may
/// close standard error early (`foreglow … 2>&1 | head`), after which its lines are lost.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(text));
}

/// Escapes terminal control characters, except line breaks.
pub fn plain(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<String>>().join("\n")
}
