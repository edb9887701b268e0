//! Text that several views and workers write.

use foreglow_shared::WhatIf;

/// Escapes the special characters of HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Capitalises a sentence and adds the full stop if it is missing.
pub fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase().to_string()).unwrap_or_default();
    let end = if sentence.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
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
