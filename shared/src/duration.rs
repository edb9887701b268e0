//! Durations as users write them: `90`, `90s`, `250ms`, `1h30m`, `1.5 days`.

use crate::number;

/// Names of the units and their seconds, the longest first.
const UNITS: [(&[&str], f64); 8] = [
    (&["w", "week", "weeks"], 604_800.0),
    (&["d", "day", "days"], 86_400.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], 1e-3),
    (&["us", "µs", "usec", "usecs", "micros", "microsecond", "microseconds"], 1e-6),
    (&["ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"], 1e-9),
];

/// Parses a duration above 0 into seconds; `None` for other text. A single number without a unit is
/// seconds, and units descend. ISO 8601 (`PT1H30M`) and clocks (`01:30:00`) are durations
/// too. `1h30` is refused, because it could mean minutes or seconds.
///
/// ```
/// use foreglow_shared::parse_duration;
///
/// assert_eq!(parse_duration("90"), Some(90.0));
/// assert_eq!(parse_duration("1h 30m"), Some(5400.0));
/// assert_eq!(parse_duration("1h30"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let iso = lower.strip_prefix('p').map(|rest| rest.replacen('t', "", 1));
    let secs = number(&lower).or_else(|| clock(&lower)).or_else(|| with_units(iso.as_deref().unwrap_or(&lower)))?;
    (secs.is_finite() && secs > 0.0).then_some(secs)
}

fn with_units(text: &str) -> Option<f64> {
    let (mut rest, mut units, mut secs) = (text, UNITS.as_slice(), 0.0);
    while !rest.is_empty() {
        let (amount, after) = split(rest, |letter| letter.is_ascii_digit() || letter == '.');
        let (unit, after) = split(after, char::is_alphabetic);
        let place = units.iter().position(|(names, _)| names.contains(&unit))?;
        secs += number(amount)? * units[place].1;
        units = &units[place + 1..];
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    (!text.is_empty()).then_some(secs)
}

/// Parses hours, minutes and seconds: `01:30:00`.
fn clock(text: &str) -> Option<f64> {
    let mut parts = text.split(':').map(number);
    let (hours, minutes, secs) = (parts.next()??, parts.next()??, parts.next()??);
    let is_clock =
        parts.next().is_none() && hours >= 0.0 && [minutes, secs].iter().all(|part| (0.0..60.0).contains(part));
    is_clock.then_some(hours * 3_600.0 + minutes * 60.0 + secs)
}

/// Splits a text after its first letters of a kind; white space between the parts is dropped.
fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let (part, rest) = text.split_at(text.find(|letter| !is_part(letter)).unwrap_or(text.len()));
    (part, rest.trim_start())
}

/// Formats a duration so that [`parse_duration`] returns the same number: `1h30m`, `5m`, `90.5s`.
pub fn compact_duration(secs: f64) -> String {
    if secs < 120.0 || secs.fract() != 0.0 || secs > 1e15 {
        return format!("{secs}s");
    }
    let mut rest = secs;
    let mut text = String::new();
    for (unit, length) in [('h', 3_600.0), ('m', 60.0), ('s', 1.0)] {
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
            ("1e3", 1_000.0),
            ("90s", 90.0),
            (" 5m ", 300.0),
            ("1h30m", 5_400.0),
            ("1h 30m", 5_400.0),
            ("1.5h", 5_400.0),
            ("250ms", 0.25),
            ("1d", 86_400.0),
            ("1.5D", 129_600.0),
            ("1d12h", 129_600.0),
            ("2d 30m", 174_600.0),
            ("5min", 300.0),
            ("10 Minutes 5 sec", 605.0),
            ("2 hours, 5 minutes", 7_500.0),
            ("1w", 604_800.0),
            ("PT1H30M", 5_400.0),
            ("P1DT2H", 93_600.0),
            ("01:30:05.5", 5_405.5),
        ] {
            assert_eq!(parse_duration(text), Some(secs), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_duration_above_zero_is_refused() {
        for text in [
            "", "0", "-5", "-5s", "soon", "NaN", "inf", "1e400", "d", "5x", "30m1h", "1d-2h", "1dd", "m", "..", "5m5m",
            "1h30", "1h 30", "5m 0", "5 moons", "1:30", "1:60:00", "P", "1:-2:0",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_written_duration_reads_back_to_the_last_digit() {
        for secs in [0.25, 1.0, 90.0, 119.9, 120.0, 3_600.0, 5_400.0, 86_399.0, 1e6, 300.125] {
            assert_eq!(parse_duration(&compact_duration(secs)), Some(secs));
        }
        assert_eq!(compact_duration(5_400.0), "1h30m");
        assert_eq!(compact_duration(90.0), "90s");
    }
}
