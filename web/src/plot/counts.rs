//! Numbers of executors and cores that a chart shows.

use foreglow_shared::{Observation, distinct, sort_by};

/// Limit on the lines, for distinguishable lines.
const MOST_LINES: usize = 6;

/// The counts that get a line: all of them, or a spread. In a spread, each measured count replaces
/// the nearest unmeasured inner one, so that the runs of a count have a line.
pub fn lines_for(counts: &[u32], measured: &[u32]) -> Vec<u32> {
    let mut chosen = thinned(counts, MOST_LINES);
    for count in measured.iter().filter(|count| counts.contains(count)) {
        let last = chosen.len().saturating_sub(1);
        let is_free = |place: &usize| *place > 0 && *place < last && !measured.contains(&chosen[*place]);
        let ratio = |place: &usize| f64::from(chosen[*place].max(*count)) / f64::from(chosen[*place].min(*count));
        let nearest = (0..chosen.len()).filter(is_free).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        if let Some(place) = nearest.filter(|_| !chosen.contains(count)) {
            chosen[place] = *count;
        }
    }
    sort_by(&mut chosen, Ord::cmp);
    chosen
}

/// The distinct counts of some runs, ascending.
pub fn counts_of(observations: &[Observation], count: fn(&Observation) -> u32) -> Vec<u32> {
    distinct(observations.iter().map(count))
}

/// Thins ascending counts to at most `most`, keeping both ends. The remaining ones are nearest to
/// equal ratios, because time is roughly inverse to the count.
pub fn thinned(counts: &[u32], most: usize) -> Vec<u32> {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return Vec::new() };
    if counts.len() <= most {
        return counts.to_vec();
    }
    let ratio = f64::from(*last) / f64::from((*first).max(1));
    let wanted = |place: usize| f64::from(*first) * libm::pow(ratio, place as f64 / (most - 1).max(1) as f64);
    let nearest = |wanted: f64| {
        let after = counts.partition_point(|count| f64::from(*count) < wanted).min(counts.len() - 1);
        let before = after.saturating_sub(1);
        if wanted - f64::from(counts[before]) < f64::from(counts[after]) - wanted {
            counts[before]
        } else {
            counts[after]
        }
    };
    let mut chosen: Vec<u32> = (0..most).map(|place| nearest(wanted(place))).collect();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_all_get_a_line_and_many_get_a_spread() {
        assert_eq!(lines_for(&[1, 2, 4], &[]), [1, 2, 4]);
        let many: Vec<u32> = (1..=64).collect();
        let chosen = lines_for(&many, &[]);
        assert!(chosen.contains(&1) && chosen.contains(&64) && chosen.len() <= MOST_LINES);
        let eight: Vec<u32> = (1..=8).collect();
        assert_eq!(lines_for(&eight, &[]), [1, 2, 3, 5, 8]);
        assert_eq!(lines_for(&eight, &[1, 2, 4, 8, 16]), [1, 2, 3, 4, 8]);
        assert_eq!(lines_for(&eight, &eight), [1, 2, 3, 5, 8], "every one is measured");
    }

    #[test]
    fn few_counts_stay_and_many_are_thinned_to_equal_ratios_with_both_ends() {
        assert_eq!(thinned(&[1, 2, 3], 3), [1, 2, 3]);
        let many: Vec<u32> = (1..=512).collect();
        let chosen = thinned(&many, 10);
        assert_eq!((chosen.first(), chosen.last()), (Some(&1), Some(&512)));
        assert_eq!(chosen, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert!(thinned(&many, 48).windows(2).all(|pair| pair[0] < pair[1]));
        assert!(thinned(&[], 4).is_empty());
    }
}
