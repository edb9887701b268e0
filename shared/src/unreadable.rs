//! Says why the JSON of a sample cannot be read.

#[cfg(not(target_arch = "wasm32"))]
use crate::Sample;
use crate::SampleError;

/// Describes the error in the JSON of a sample, without its position: a sample is on one line, and
/// the user of a CSV never saw the JSON. The page does not name the field, because its size is
/// limited.
#[cfg(target_arch = "wasm32")]
pub(crate) fn unreadable(_json: &str, error: &serde_json::Error) -> SampleError {
    let why = without_place(error);
    SampleError::Form(value_and_must(&why).map_or(why.clone(), |(value, must)| format!("{value} must be {must}")))
}

/// Describes the error in the JSON of a sample: the dotted name of the field, or the column of an
/// error in the syntax.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn unreadable(json: &str, error: &serde_json::Error) -> SampleError {
    let why = without_place(error);
    // For a name in place of which there is a number, serde_json reports an error in the syntax.
    let is_json = error.is_data() || serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok();
    if !is_json {
        return SampleError::Form(format!("{why} at column {}", error.column()));
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    let Err(located) = serde_path_to_error::deserialize::<_, Sample>(&mut reader) else {
        return SampleError::Form(why);
    };
    // The path of the whole object is a dot.
    let path = Some(located.path().to_string()).filter(|path| path != ".");
    let named = |message: &str| why.strip_prefix(message).and_then(|rest| rest.strip_suffix('`'));
    if let Some(field) = named("duplicate field `") {
        return SampleError::Field(format!("{field} is given twice; keep one of them"));
    }
    let missing = named("missing field `");
    match (path, missing) {
        (None, Some(field)) => SampleError::Field(format!("{field} is missing; correct it")),
        (Some(path), Some(field)) => SampleError::Field(format!("{path}.{field} is missing; correct it")),
        (Some(path), None) => SampleError::Field(match value_and_must(&why) {
            Some((value, must)) => format!("{path} is {value}; it must be {must}"),
            None => format!("{path} cannot be read ({why}); correct it"),
        }),
        (None, None) => SampleError::Form(why),
    }
}

/// Returns the value that serde's message refuses and what it must be, in the user's words; `None`
/// for other messages.
fn value_and_must(why: &str) -> Option<(String, String)> {
    let (found, expected) = why.rsplit_once(", expected ")?;
    let kinds = ["invalid type: ", "invalid value: ", "unknown variant "];
    let found = kinds.into_iter().find_map(|kind| found.strip_prefix(kind))?;
    let value = found.strip_prefix("string ").or_else(|| found.split('`').nth(1))?;
    let must = match expected {
        "f64" => "a number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".to_owned(),
        other => other.replace('`', ""),
    };
    Some((value.to_owned(), must))
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned()
}
