//! The end of the warm-up.

use crate::parts::Part;

/// Largest share of the parts that may be warm-up.
const MOST: usize = 2;

/// Returns the number of parts before the steady state, by the marginal standard error rule: the
/// number whose removal makes the standard error of the mean of the others smallest.
///
/// Source: White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69(6), 1997. A minimum at the largest number means that no steady state was reached,
/// so that nothing is removed.
pub(crate) fn warm_up(parts: &[Part]) -> usize {
    let most = parts.len() / MOST;
    // Sums from the end: work, time, and squares weighted by work, because the time of an interval
    // has the smaller a variance per unit the more work it holds.
    let (mut units, mut secs, mut squares, mut count) = (0.0, 0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (place, part) in parts.iter().enumerate().rev() {
        units += part.units;
        secs += part.secs;
        squares += part.secs * part.secs_per_unit();
        count += 1.0;
        if place > most {
            continue;
        }
        let variance = (squares - secs * secs / units).max(0.0) / count;
        let error = variance / units;
        // At equal errors, fewer are removed.
        if error <= best.0 * (1.0 + 1e-12) {
            best = (error, place);
        }
    }
    if best.1 == most { 0 } else { best.1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(secs: &[f64]) -> usize {
        let part = |(place, secs): (usize, &f64)| Part { from: place as f64, units: 1.0, secs: *secs };
        warm_up(&secs.iter().enumerate().map(part).collect::<Vec<_>>())
    }

    #[test]
    fn slow_first_steps_are_warm_up_and_steady_ones_are_not() {
        let steady = |place: usize| 1.0 + 0.01 * ((place * 7) % 5) as f64;
        let series: Vec<f64> = [9.0, 3.0, 1.5].into_iter().chain((0..40).map(steady)).collect();
        assert!((3..=8).contains(&found(&series)), "{}", found(&series));
        assert_eq!(found(&[1.0; 20]), 0);
        // A run that only becomes faster has no steady state.
        assert_eq!(found(&(0..20).map(|place| 40.0 - f64::from(place)).collect::<Vec<_>>()), 0);
    }
}
