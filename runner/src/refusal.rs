//! One sentence for arguments that cannot be used.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Describes the error in the arguments in one sentence; `None` for help or the version.
pub fn sentence(error: &Error) -> Option<String> {
    use ErrorKind::{
        ArgumentConflict, DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion, ValueValidation,
    };
    if matches!(error.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand) {
        return None;
    }
    let text = error.to_string();
    let mut parts = text.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default().trim_start_matches("error: ");
    let mut sentence = first.split_whitespace().collect::<Vec<_>>().join(" ");
    match error.get(ContextKind::InvalidArg) {
        // Such as `--deadline -5m`, which reads as an option.
        Some(ContextValue::String(argument)) if is_negative(argument) => {
            sentence = format!("a value begins with {argument}; give a value above 0");
        }
        _ => {
            sentence.extend(parts.find_map(|part| part.strip_prefix("tip: ")).map(|tip| format!("; {}", one_line(tip))))
        }
    }
    if !matches!(error.kind(), ValueValidation | ArgumentConflict) {
        sentence.push_str(" (--help lists all options)");
    }
    Some(sentence)
}

fn is_negative(argument: &str) -> bool {
    argument.strip_prefix('-').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
