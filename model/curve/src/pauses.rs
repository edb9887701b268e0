//! Periodic pauses: evaluations and checkpoints.

use foreglow_numeric::median;

use crate::parts::{Part, typical_secs};

/// A pause takes at least this multiple of the typical time of its interval.
const LEAST_RATIO: f64 = 1.5;
/// A pause exceeds the typical time by at least this multiple of the median excess.
const LEAST_EXCESS: f64 = 8.0;
/// Pauses from which a period can be found.
const LEAST_COUNT: usize = 3;
/// Largest deviation of a pause from its period, as a share of the period.
const TOLERANCE: f64 = 0.15;

/// Periodic pauses of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// Pauses seen.
    pub count: usize,
    /// Units of work from one to the next.
    pub period: f64,
    /// Mean length, seconds.
    pub secs: f64,
    /// Standard deviation of the lengths, seconds.
    pub deviation_secs: f64,
}

/// Finds pauses in each `per_epoch` units of work, or, if that is unknown, at any regular distance.
/// Shortens the intervals that hold one to the typical time.
pub(crate) fn take_pauses(parts: &mut [Part], per_epoch: Option<f64>) -> Option<Pauses> {
    let typical = typical_secs(parts);
    let excess = |part: &Part| part.secs - typical * part.units;
    let usual_excess = median(parts.iter().map(|part| excess(part).abs()));
    let is_pause =
        |part: &&Part| excess(part) > LEAST_EXCESS * usual_excess && part.secs > LEAST_RATIO * typical * part.units;
    let long: Vec<Part> = parts.iter().filter(is_pause).copied().collect();
    let is_boundary = |part: &Part, period: f64| {
        let slack = part.units + 1e-9 * period;
        let before = (part.from / period).round() * period;
        before >= part.from - slack && before <= part.to() + 1e-9 * period && part.to() > 0.5 * period
    };
    let of_epochs = per_epoch.filter(|period| long.iter().any(|part| is_boundary(part, *period)));
    let period = of_epochs.or_else(|| regular_distance(&long))?;
    let offset = if of_epochs.is_some() { 0.0 } else { long[0].to() % period };
    let mut lengths = Vec::new();
    for part in parts {
        let shifted = Part { from: part.from - offset, ..*part };
        if is_pause(&&*part) && (of_epochs.is_none() || is_boundary(&shifted, period)) {
            lengths.push(excess(part));
            part.secs = typical * part.units;
        }
    }
    let count = lengths.len();
    let mean = lengths.iter().sum::<f64>() / count as f64;
    let squares: f64 = lengths.iter().map(|secs| (secs - mean) * (secs - mean)).sum();
    // One pause does not show how much they vary: half its length covers most programs.
    let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.5 * mean };
    Some(Pauses { count, period, secs: mean, deviation_secs: deviation })
}

/// Returns the distance of pauses that follow each other regularly.
fn regular_distance(long: &[Part]) -> Option<f64> {
    if long.len() < LEAST_COUNT {
        return None;
    }
    let distances = || long.windows(2).map(|pair| pair[1].to() - pair[0].to());
    let period = median(distances());
    let widest = long.iter().map(|part| part.units).fold(0.0, f64::max);
    let is_regular = |distance: f64| (distance - period).abs() <= TOLERANCE * period + widest;
    (distances().all(is_regular) && widest < 0.5 * period).then_some(period)
}
