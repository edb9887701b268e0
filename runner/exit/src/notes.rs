//! Notes for the user on standard error, which `--quiet` suppresses.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use foreglow_shared::printable;

use crate::wrapping::{error_width, wrapped_in};

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
    let _ = writeln!(std::io::stderr().lock(), "{}", wrapped_in(error_width(), &plain(text)));
}

/// Escapes terminal control characters, except line breaks and tabs. JSON stays the same JSON.
pub fn plain(text: &str) -> String {
    text.split_inclusive(['\n', '\t']).fold(String::with_capacity(text.len()), |mut plain, part| {
        let end = part.trim_end_matches(['\n', '\t']).len();
        plain.push_str(&printable(&part[..end]));
        plain.push_str(&part[end..]);
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_control_characters_and_bidirectional_marks_stays_the_same_json() {
        let name = "a\u{9b}31m\u{202e}b\u{61c}\tc\n";
        let text = format!("{{\n\t\"name\": {}\n}}\n", serde_json::Value::from(name));
        let printed = plain(&text);
        assert!(printed.contains(r"a\u009b31m\u202eb\u061c\tc\n") && printed.starts_with("{\n\t"), "{printed}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap()["name"], name);
    }
}
