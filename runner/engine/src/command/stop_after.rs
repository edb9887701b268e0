//! When Foreglow stops a program before its end.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use foreglow_shared::{number, parse_duration, share_of_percent};

/// Work or time after which a program is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopAfter {
    /// Steps that the program reports.
    Steps(u64),
    /// Time since the start of the program.
    Time(Duration),
    /// Share of the run, in (0, 1).
    Share(f64),
    /// Half the width of the interval of the whole job's time, as a share of the time, in (0, 1).
    Precision(f64),
}

impl FromStr for StopAfter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong =
            || format!("{text:?} is no place to stop; write 200steps, a time such as 5m, a share such as 10%, or ±5%");
        if let Some(steps) = text.strip_suffix("steps").or_else(|| text.strip_suffix("step")) {
            let steps: u64 = steps.trim().parse().map_err(|_| wrong())?;
            return if steps > 0 { Ok(Self::Steps(steps)) } else { Err(wrong()) };
        }
        if let Some(percent) = text.strip_suffix('%') {
            let (kind, percent) = match percent.strip_prefix('±').or_else(|| percent.strip_prefix("+-")) {
                Some(width) => (Self::Precision as fn(f64) -> Self, width),
                None => (Self::Share as fn(f64) -> Self, percent),
            };
            let share = number(percent.trim()).map(share_of_percent).filter(|share| *share > 0.0 && *share < 1.0);
            return share.map(kind).ok_or_else(wrong);
        }
        let secs = parse_duration(text).filter(|secs| *secs > 0.0);
        secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok()).map(Self::Time).ok_or_else(wrong)
    }
}

impl fmt::Display for StopAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(f, "{steps}steps"),
            Self::Time(time) => write!(f, "{}s", time.as_secs_f64()),
            Self::Share(share) => write!(f, "{}%", (share * 1e10).round() / 1e8),
            Self::Precision(width) => write!(f, "±{}%", (width * 1e10).round() / 1e8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_stopped_after_steps_a_time_or_a_share() {
        let of = |text: &str| text.parse::<StopAfter>();
        assert_eq!(of("200steps"), Ok(StopAfter::Steps(200)));
        assert_eq!(of("1 step"), Ok(StopAfter::Steps(1)));
        assert_eq!(of("5m"), Ok(StopAfter::Time(Duration::from_secs(300))));
        assert_eq!(of("2.5%"), Ok(StopAfter::Share(0.025)));
        assert_eq!(of("±5 %"), Ok(StopAfter::Precision(0.05)));
        assert_eq!(of("+-5%"), Ok(StopAfter::Precision(0.05)));
        for wrong in ["", "0steps", "steps", "0%", "100%", "±0%", "±100%", "-5m", "0s", "ten"] {
            assert!(of(wrong).is_err_and(|error| error.contains("write 200steps")), "{wrong}");
        }
        let time = StopAfter::Time(Duration::from_millis(1500));
        for stop in [StopAfter::Steps(7), time, StopAfter::Share(0.07), StopAfter::Precision(0.05)] {
            assert_eq!(of(&stop.to_string()), Ok(stop));
        }
    }
}
