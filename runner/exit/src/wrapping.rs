//! Texts on terminals: lines are broken between words.

use terminal_size::{Height, Width};

/// Narrowest layout; a text in fewer columns is unreadable.
pub const NARROWEST: u16 = 40;

/// Breaks the lines of a text for standard output, as [`wrapped_in`] does.
pub fn wrapped(text: &str) -> String {
    wrapped_in(terminal_width(), text)
}

/// Returns the width of the terminal on standard output; `None` if it is not a terminal.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(width)
}

/// Returns the width of the terminal on standard error; `None` if it is not a terminal.
pub fn error_width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stderr()).map(width)
}

fn width((Width(width), _): (Width, Height)) -> u16 {
    width
}

/// Breaks the lines of a text between words where they are wider than `width` columns; unchanged
/// without a width. Commands and addresses stay on one line, so that they can be copied.
pub fn wrapped_in(width: Option<u16>, text: &str) -> String {
    let Some(width) = width.map(|width| usize::from(width.max(NARROWEST))) else { return text.to_owned() };
    let mut wrapped = String::new();
    for line in text.split_inclusive('\n') {
        if ["foreglow ", "http"].iter().any(|start| line.trim_start().starts_with(start)) {
            wrapped.push_str(line);
            continue;
        }
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let letters = word.trim_end().chars().count();
            if used > 0 && used + letters > width {
                wrapped.truncate(wrapped.trim_end_matches(' ').len());
                wrapped.push('\n');
                used = 0;
            }
            wrapped.push_str(word);
            used += word.chars().count();
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_wrapped_between_words() {
        let text = "Note: a sentence that is longer than the terminal of forty columns.\nshort\n";
        let wrapped = wrapped_in(Some(40), text);
        assert_eq!(wrapped, "Note: a sentence that is longer than the\nterminal of forty columns.\nshort\n");
        assert_eq!(wrapped_in(None, text), text);
        let command = "  foreglow collect --model lenet5 --images 20000 --image-px 32\n";
        assert_eq!(wrapped_in(Some(40), command), command);
    }
}
