//! The first runs of a search.

use crate::{Column, Features, Values};

/// Returns rows that are spread over a table: first the one nearest to the middle, then repeatedly
/// the one farthest from all chosen ones (Kennard and Stone, 1969).
pub(super) fn spread_out(features: &Features, count: usize) -> Vec<usize> {
    let points = points(features);
    let size = points.first().map_or(0, Vec::len);
    let centre: Vec<f64> =
        (0..size).map(|place| points.iter().map(|point| point[place]).sum::<f64>() / points.len() as f64).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < count.min(points.len()) {
        let free = (0..points.len()).filter(|row| !chosen.contains(row));
        let nearest = |row: &usize| {
            let to = |other: &usize| distance(&points[*row], &points[*other]);
            chosen.iter().map(to).fold(f64::INFINITY, f64::min)
        };
        let next = if chosen.is_empty() {
            free.min_by(|a, b| distance(&points[*a], &centre).total_cmp(&distance(&points[*b], &centre)))
        } else {
            free.max_by(|a, b| nearest(a).total_cmp(&nearest(b)).then(b.cmp(a)))
        };
        chosen.extend(next);
    }
    chosen
}

/// Returns each row as numbers in [0, 1]: a number by its rank among the column's values, a name as
/// one coordinate for each name.
pub(super) fn points(features: &Features) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); features.rows()];
    for column in features.columns() {
        let Column { values, .. } = column;
        match values {
            Values::Numeric { values, .. } => {
                let mut levels = values.clone();
                levels.sort_unstable_by(f64::total_cmp);
                levels.dedup();
                let steps = (levels.len().max(2) - 1) as f64;
                for (point, value) in points.iter_mut().zip(values) {
                    point.push(levels.partition_point(|level| level < value) as f64 / steps);
                }
            }
            Values::Category { levels, codes } => {
                for (point, code) in points.iter_mut().zip(codes) {
                    // Two names are as far apart as the ends of a numeric column.
                    let at = |level: usize| if level == *code as usize { 0.5_f64.sqrt() } else { 0.0 };
                    point.extend((0..levels.len()).map(at));
                }
            }
        }
    }
    points
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Returns a random one of the open rows (splitmix64: Steele, Lea and Flood, OOPSLA 2014).
pub(super) fn random(open: &[usize], seed: u64, run: usize) -> usize {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15 ^ (run as u64) << 17);
    for _ in 0..3 {
        mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
    }
    open[(mixed % open.len() as u64) as usize]
}
