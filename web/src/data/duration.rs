//! Durations as users type them: `90`, `90s`, `5m`, `1h30m`.

use foreglow_shared::{DEADLINE_SECS, number};

const SECS_PER_UNIT: [(char, f64); 4] = [('d', 86_400.0), ('h', 3_600.0), ('m', 60.0), ('s', 1.0)];

/// An invalid duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration above zero; write 90, 90s, 5m or 1h30m")]
pub struct DurationError(String);

/// Parses a duration above 0 into seconds. A single number without a unit is seconds; units must
/// descend. `1h30` is refused, as it could mean minutes or seconds.
///
/// # Errors
/// The text is not a duration; the message quotes it.
pub fn parse_duration(text: &str) -> Result<f64, DurationError> {
    let refused = || DurationError(text.trim().to_owned());
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let mut rest = compact.as_str();
    let mut units = SECS_PER_UNIT.as_slice();
    let mut secs = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let amount: f64 = number(&rest[..digits]).ok_or_else(refused)?;
        let is_first = rest.len() == compact.len();
        let unit = rest[digits..].chars().next().or(is_first.then_some('s')).ok_or_else(refused)?;
        let place = units.iter().position(|(name, _)| *name == unit).ok_or_else(refused)?;
        secs += amount * units[place].1;
        units = &units[place + 1..];
        rest = rest.get(digits + 1..).unwrap_or_default();
        // Accepts `5min` and `90sec`: the first letter identifies the unit.
        rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    }
    if DEADLINE_SECS.contains(&secs) { Ok(secs) } else { Err(refused()) }
}

/// Formats a duration so that [`parse_duration`] returns the same number: `1h30m`, `5m`, `90.5s`.
pub fn compact_duration(secs: f64) -> String {
    if secs < 120.0 || secs.fract() != 0.0 || secs > 1e15 {
        return format!("{secs}s");
    }
    let mut rest = secs;
    let mut text = String::new();
    for (unit, length) in &SECS_PER_UNIT[1..] {
        let count = (rest / length).floor();
        if count > 0.0 {
            text.push_str(&format!("{count}{unit}"));
            rest -= count * length;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, secs) in [
            ("90", 90.0),
            ("90s", 90.0),
            (" 5m ", 300.0),
            ("1h30m", 5_400.0),
            ("1h 30m", 5_400.0),
            ("0.5h", 1_800.0),
            ("2d", 172_800.0),
            ("5min", 300.0),
            ("10 Minutes 5 sec", 605.0),
        ] {
            assert_eq!(parse_duration(text), Ok(secs), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_rejected_with_its_text() {
        for text in ["", "0", "-5", "soon", "5x", "30m1h", "1e5", "m", "..", "5m5m", "1h30", "1h 30", "5m 0"] {
            let error = parse_duration(text).unwrap_err();
            assert!(error.to_string().contains("1h30m"), "{text}");
        }
    }

    #[test]
    fn a_written_duration_reads_back_to_the_last_digit() {
        for secs in [0.25, 1.0, 90.0, 119.9, 120.0, 3_600.0, 5_400.0, 86_399.0, 1e6, 300.125] {
            assert_eq!(parse_duration(&compact_duration(secs)), Ok(secs));
        }
        assert_eq!(compact_duration(5_400.0), "1h30m");
        assert_eq!(compact_duration(90.0), "90s");
    }
}
