//! The time that a line of a log file tells: a timestamp, the elapsed time of a bar, or the time of
//! a step.

use foreglow_shared::Timestamp;
use memchr::memmem;

use crate::scan::{number_at, number_of_word, words};

/// Bytes of a line in which a timestamp may start.
const PREFIX: usize = 80;

/// The time that a line tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LineTime {
    /// Seconds since 1970.
    At(f64),
    /// The same on a clock whose time zone the line does not tell.
    Local(f64),
    /// Seconds since the bar started.
    Elapsed(f64),
    /// Seconds of each step.
    PerStep(f64),
}

/// Returns the time that a line tells, the most exact form first.
pub(crate) fn read(line: &[u8]) -> Option<LineTime> {
    timestamp(line).or_else(|| elapsed(line).map(LineTime::Elapsed)).or_else(|| per_step(line).map(LineTime::PerStep))
}

/// Returns the first timestamp, such as `2026-11-28 18:00:01,250` or `2026-11-28T18:00:01Z`.
fn timestamp(line: &[u8]) -> Option<LineTime> {
    let start = line[..line.len().min(PREFIX)]
        .windows(5)
        .position(|window| window[..4].iter().all(u8::is_ascii_digit) && window[4] == b'-')?;
    let text = std::str::from_utf8(line.get(start..start + 19)?).ok()?;
    let text = format!("{}T{}", text.get(..10)?, text.get(11..)?);
    let secs = format!("{text}Z").parse::<Timestamp>().ok()?.as_second() as f64;
    let rest = &line[start + 19..];
    let digits = match rest {
        [b'.' | b',', digits @ ..] => digits.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let fraction = std::str::from_utf8(rest.get(1..=digits.min(9)).unwrap_or_default()).ok()?;
    let fraction = format!("0.{fraction}").parse::<f64>().unwrap_or(0.0);
    let zone = rest.get(if digits > 0 { digits + 1 } else { 0 }..).and_then(offset_secs);
    Some(zone.map_or(LineTime::Local(secs + fraction), |zone| LineTime::At(secs + fraction - zone)))
}

/// Reads the offset of a time zone, `+01:00`, ` -0500` or `Z`, in seconds.
fn offset_secs(text: &[u8]) -> Option<f64> {
    if text.first() == Some(&b'Z') {
        return Some(0.0);
    }
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let (sign, hours, minutes, end) = match text {
        [sign @ (b'+' | b'-'), a, b, b':', c, d, end @ ..] => (sign, [a, b], [c, d], end),
        [sign @ (b'+' | b'-'), a, b, c, d, end @ ..] => (sign, [a, b], [c, d], end),
        _ => return None,
    };
    let number = |digits: [&u8; 2]| {
        let value = |digit: &u8| digit.is_ascii_digit().then(|| f64::from(digit - b'0'));
        Some(value(digits[0])? * 10.0 + value(digits[1])?)
    };
    let secs = number(hours)? * 3600.0 + number(minutes)? * 60.0;
    let is_whole = !end.first().is_some_and(u8::is_ascii_digit) && secs <= 14.0 * 3600.0;
    is_whole.then_some(if *sign == b'-' { -secs } else { secs })
}

/// Returns the elapsed time of a bar: `[01:02<03:04, 5.0it/s]`.
fn elapsed(line: &[u8]) -> Option<f64> {
    memmem::find_iter(line, b" [").find_map(|place| clock_time(line, place + 2))
}

/// Reads `MM:SS`, `HH:MM:SS` or with days.
fn clock_time(line: &[u8], start: usize) -> Option<f64> {
    let rest = line.get(start..)?;
    let end = rest.iter().position(|byte| matches!(byte, b'<' | b','))?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    let parts: Option<Vec<f64>> = text.split(':').map(|part| part.parse().ok()).collect();
    let parts = parts.filter(|parts| (2..=3).contains(&parts.len()))?;
    Some(parts.iter().fold(0.0, |secs, part| secs * 60.0 + part))
}

/// Returns the time of a step: `time 45.67ms`, `Time: 0.345s`, `time: 0.1234`, `7ms/step` or
/// `elapsed time per iteration (ms): 512.3`.
fn per_step(line: &[u8]) -> Option<f64> {
    if let Some(slash) = memmem::find(line, b"/step") {
        return duration_before(line, slash);
    }
    let megatron = memmem::find(line, b"per iteration (ms):").and_then(|place| number_of_word(line, place + 18));
    if let Some((ms, _)) = megatron {
        return Some(ms / 1000.0);
    }
    words(line, "time").find_map(|(_, end)| {
        let gap = line[end..].iter().take_while(|byte| matches!(byte, b' ' | b':' | b'\t')).count();
        let (value, end) = number_at(line, end + gap)?;
        Some(value * unit_secs(&line[end..]))
    })
}

fn duration_before(line: &[u8], end: usize) -> Option<f64> {
    let letters = line[..end].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let digits_end = end - letters;
    let digits = line[..digits_end].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (value, _) = number_at(line, digits_end - digits)?;
    Some(value * unit_secs(&line[digits_end..]))
}

fn unit_secs(unit: &[u8]) -> f64 {
    match unit.trim_ascii_start() {
        [b'm', b's', ..] => 1e-3,
        [b'u', b's', ..] => 1e-6,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_its_time_in_the_form_of_its_program() {
        let tells = |line: &str| read(line.as_bytes());
        assert_eq!(tells("[2026-11-28 18:00:01,250] [INFO] step=10"), Some(LineTime::Local(1_795_888_801.25)));
        assert_eq!(tells(" 45%|##| 450/1000 [01:02<00:12, 7.2it/s]"), Some(LineTime::Elapsed(62.0)));
        assert_eq!(tells("iter 9: loss 2.34, time 45.50ms, mfu 1%"), Some(LineTime::PerStep(0.0455)));
        assert_eq!(tells(" 12/938 ━━━━ 5s 7ms/step - loss: 2"), Some(LineTime::PerStep(0.007)));
        assert_eq!(tells("Train: 0 [ 5/9 (4%)]  Time: 0.345s,  742.03/s"), Some(LineTime::PerStep(0.345)));
        assert_eq!(tells("iteration 1/ 5 | elapsed time per iteration (ms): 512.5 |"), Some(LineTime::PerStep(0.5125)));
        assert_eq!(tells("loss 2.3"), None);
    }

    #[test]
    fn an_offset_of_the_time_zone_counts() {
        let evening = 1_795_888_800.0;
        for (text, at) in [
            ("2026-11-28T18:00:00+01:00 step 1", LineTime::At(evening - 3600.0)),
            ("2026-11-28 18:00:00,5-0530 step 1", LineTime::At(evening + 19_800.5)),
            ("[2026-11-28 18:00:00.250 +0100] step 1", LineTime::At(evening - 3599.75)),
            ("2026-11-28T18:00:00Z step 1", LineTime::At(evening)),
            ("2026-11-28 18:00:00 - INFO - step 1", LineTime::Local(evening)),
            ("2026-11-28 18:00:00 -12345 step 1", LineTime::Local(evening)),
        ] {
            assert_eq!(timestamp(text.as_bytes()), Some(at), "{text}");
        }
    }
}
