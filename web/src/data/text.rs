//! Texts for several views and workers.

use foreglow_shared::WhatIf;

/// Escapes the special characters of HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Capitalises a sentence and adds the full stop if it is missing.
pub fn capitalised(sentence: &str) -> String {
    let end = if sentence.ends_with('.') { "" } else { "." };
    format!("{}{end}", title_case(sentence))
}

/// Capitalises a word.
pub fn title_case(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// `1 executor`, `3 executors`.
pub fn counted(count: u32, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// `2 executors × 4 cores`.
pub fn named(configuration: WhatIf) -> String {
    let WhatIf { executors, cores_per_executor } = configuration;
    format!("{} × {}", counted(executors, "executor"), counted(cores_per_executor, "core"))
}

/// Formats a ratio: `12 % more time`, `the same time`, `7.9 times the time`.
pub fn change(ratio: f64, what: &str) -> String {
    if ratio >= 2.0 {
        return format!("{ratio:.1} times the {what}");
    }
    let percent = ((ratio - 1.0) * 100.0).round();
    if percent < 0.0 {
        format!("{} % less {what}", -percent)
    } else if percent > 0.0 {
        format!("{percent} % more {what}")
    } else {
        format!("the same {what}")
    }
}

/// The relative error of a prediction: `+4.2 %`.
pub fn relative_error(predicted: f64, measured: f64) -> String {
    // Adding zero removes the sign of a negative zero.
    format!("{:+.1} %", ((predicted / measured - 1.0) * 1000.0).round() / 10.0 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_rounds_to_nothing_is_none() {
        let change = |ratio| change(ratio, "time");
        assert_eq!([change(0.999), change(1.0), change(1.004)], ["the same time"; 3]);
        assert_eq!(change(0.9), "10 % less time");
        assert_eq!(change(1.006), "1 % more time");
        assert_eq!(change(7.91), "7.9 times the time");
    }

    #[test]
    fn an_error_that_rounds_to_zero_has_no_minus() {
        assert_eq!([relative_error(0.99999, 1.0), relative_error(1.0, 1.0)], ["+0.0 %"; 2]);
        assert_eq!(relative_error(0.958, 1.0), "-4.2 %");
        assert_eq!(relative_error(1.1, 1.0), "+10.0 %");
    }
}
