//! The last lines of a process's standard error.

use std::collections::VecDeque;
use std::io::BufRead;

/// Reads all lines and returns the last ones that are not blank, at most `kept`.
pub fn last_lines(errors: impl BufRead, kept: usize) -> VecDeque<String> {
    let mut lines = VecDeque::new();
    for line in errors.lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        if lines.len() == kept {
            lines.pop_front();
        }
        lines.push_back(line);
    }
    lines
}
