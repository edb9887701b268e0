//! Reads and writes samples as JSON Lines: one object per line.

use serde_json::Value;

use crate::unreadable::unreadable;
use crate::{Sample, SampleError};

/// Start of serde's message about a field that is given twice.
const DUPLICATE: &str = "duplicate field";

/// Parses and checks one line. Whole numbers may be written as `2.0`, as pandas does. A field that
/// is given twice is refused, because other readers may take the other value.
///
/// # Errors
/// [`SampleError`]: the line is not a sample, or a field is out of range.
pub fn parse_line(line: &str) -> Result<Sample, SampleError> {
    let sample: Sample = match serde_json::from_str(line) {
        Ok(sample) => sample,
        Err(error) if error.to_string().starts_with(DUPLICATE) => return Err(unreadable(line, &error)),
        Err(error) => with_whole_numbers(line).ok_or_else(|| unreadable(line, &error))?,
    };
    sample.check()?;
    Ok(sample)
}

fn with_whole_numbers(line: &str) -> Option<Sample> {
    let mut value: Value = serde_json::from_str(line).ok()?;
    make_whole(&mut value);
    // From text, because the code that reads a sample from a `Value` would be compiled separately.
    serde_json::from_str(&value.to_string()).ok()
}

fn make_whole(value: &mut Value) {
    /// Numbers below are exact in both types.
    const MOST: f64 = 9e15;
    match value {
        Value::Object(object) => object.values_mut().for_each(make_whole),
        Value::Array(list) => list.iter_mut().for_each(make_whole),
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=MOST).contains(number));
            if let Some(whole) = whole {
                *value = Value::from(whole as u64);
            }
        }
        _ => {}
    }
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
