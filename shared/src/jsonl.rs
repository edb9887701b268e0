//! Reads and writes samples as JSON Lines: one object per line.

use crate::unreadable::unreadable;
use crate::{Sample, SampleError};

/// Parses and checks one line.
///
/// # Errors
/// [`SampleError`]: the line is not a sample, or a field is out of range.
pub fn parse_line(line: &str) -> Result<Sample, SampleError> {
    let sample: Sample = serde_json::from_str(line).map_err(|error| unreadable(line, &error))?;
    sample.check()?;
    Ok(sample)
}

/// Writes samples as JSON Lines; every line ends with a newline.
pub fn write_jsonl<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> String {
    let mut text = String::new();
    for sample in samples {
        let line =
            serde_json::to_string(sample).expect("a sample holds only strings, numbers and maps with string keys");
        text.push_str(&line);
        text.push('\n');
    }
    text
}
