//! Parses dates and timestamps of samples and price sheets.
//!
//! Only the forms below are accepted. The parser of `jiff` reads twenty more, and its error
//! messages would make the page 3 % larger.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use serde::de::{Deserialize as _, Deserializer, Error as _};

/// Deserializes an RFC 3339 timestamp, such as `2026-01-31T10:00:00Z`.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    moment(&text)
        .ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a timestamp such as 2026-01-31T10:00:00Z")))
}

/// Deserializes a date, such as `2026-01-31`.
pub(crate) fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = String::deserialize(deserializer)?;
    day(&text).ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a date such as 2026-01-31")))
}

/// Parses a date such as `2026-01-31`; `None` if the text is not one.
pub fn day(text: &str) -> Option<Date> {
    let [year, month, day] = parts(text, '-')?;
    Date::new(digits(year, 4)?, digits(month, 2)?.try_into().ok()?, digits(day, 2)?.try_into().ok()?).ok()
}

fn moment(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let (time, offset) = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => (time, Offset::UTC),
        None => {
            let (time, offset) = rest.split_at(rest.rfind(['+', '-'])?);
            (time, offset_of(offset)?)
        }
    };
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, fraction)| (time, Some(fraction)));
    let nanosecond = fraction.map_or(Some(0), nanoseconds)?;
    let [hour, minute, second] = parts(time, ':')?;
    let [hour, minute, second] = [digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?];
    // A leap second is read as the second before it, as `jiff` does.
    let second = if second == 60 { 59 } else { second };
    let time = Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?, nanosecond).ok()?;
    offset.to_timestamp(DateTime::from_parts(day(date)?, time)).ok()
}

/// Parses an offset such as `+01:00`.
fn offset_of(text: &str) -> Option<Offset> {
    let (sign, rest) = text.split_at_checked(1)?;
    let [hours, minutes] = parts(rest, ':')?;
    let [hours, minutes] = [digits(hours, 2)?, digits(minutes, 2)?];
    let secs = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
    if minutes > 59 {
        return None;
    }
    Offset::from_seconds(if sign == "-" { -secs } else { secs }).ok()
}

/// Converts the fraction of a second to nanoseconds; digits after the ninth are dropped.
fn nanoseconds(fraction: &str) -> Option<i32> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{:0<9.9}", fraction).parse().ok()
}

fn digits(text: &str, count: usize) -> Option<i16> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn parts<const N: usize>(text: &str, separator: char) -> Option<[&str; N]> {
    text.split(separator).collect::<Vec<&str>>().try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_timestamps_are_rejected() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T10:00Z",
            "2026-02-30T10:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T10:00:00",
            "2026-01-31T10:00:00.Z",
            "2026-01-31T10:00:00+0100",
            "2026-01-31T10:00:00+01:60",
            "26-01-31T10:00:00Z",
            "2026-1-31T10:00:00Z",
            "2026-01-31T+1:00:00Z",
            "2026-01-31T10:00:00+é",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
        assert_eq!(day("2026-02-29"), None);
    }

    #[test]
    fn leap_seconds_offsets_and_fractions_are_read_like_jiff_does() {
        for text in [
            "2016-12-31T23:59:60Z",
            "2026-01-31t10:00:00z",
            "2026-01-31 10:00:00.5+01:30",
            "2026-01-31T00:30:00.123456789-02:00",
        ] {
            assert_eq!(moment(text), text.parse().ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_timestamp_and_date_round_trips(second in -60_000_000_000_i64..250_000_000_000, nanosecond in 0..1_000_000_000_i32) {
            let moment_of = Timestamp::new(second, nanosecond).unwrap();
            prop_assert_eq!(moment(&moment_of.to_string()), Some(moment_of));
            let date = Offset::UTC.to_datetime(moment_of).date();
            prop_assert_eq!(day(&date.to_string()), Some(date));
        }
    }
}
