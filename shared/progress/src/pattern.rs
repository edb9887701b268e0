//! A user's regular expression for lines with progress.

use regex_lite::{Captures, Regex};

use crate::declared;
use crate::reading::{Reading, Source, hash};

/// Groups that count work; the pattern needs at least one.
const COUNTS: [&str; 4] = ["step", "images", "epoch", "rate"];

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The text is not a regular expression.
    #[error("it is not a regular expression ({0})")]
    Expression(String),
    /// No group counts work.
    #[error(
        "it has no group that counts work; name one of step, images, epoch or rate, such as \
         'step (?<step>[0-9]+) of (?<of>[0-9]+)'"
    )]
    NoGroup,
}

/// A user's regular expression.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let regex = Regex::new(pattern).map_err(|error| PatternError::Expression(error.to_string()))?;
        let counts = regex.capture_names().flatten().any(|name| COUNTS.contains(&name));
        if counts { Ok(Self(regex)) } else { Err(PatternError::NoGroup) }
    }

    pub fn read(&self, line: &[u8]) -> Option<Reading> {
        let line = String::from_utf8_lossy(line);
        let found = self.0.captures(&line)?;
        let (count, of, epoch) = (|name| number(&found, name), number(&found, "of"), number(&found, "epoch"));
        let counted = [("images", "images"), ("step", "steps"), ("epoch", "epochs")];
        let counted = counted.into_iter().find_map(|(group, unit)| Some((count(group)?, unit)));
        let (source, step, unit) = match counted {
            Some((step, unit)) => (Source::Declared, step, unit),
            None => (Source::Rate, count("rate")?, "images"),
        };
        let epoch = declared::epoch(epoch.filter(|_| unit != "epochs"));
        Some(Reading { of, epoch, ..Reading::new(source, hash(6, unit.bytes()), step, unit) })
    }
}

fn number(found: &Captures<'_>, name: &str) -> Option<f64> {
    let text = found.name(name)?.as_str().replace([',', '_'], "");
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}
