//! A fixed pseudo-random order, equal on every machine.

use foreglow_shared::sort_by;

/// Returns a pseudo-random number for an index (SplitMix64: Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014, figure 13).
pub(crate) fn hash(index: usize) -> u64 {
    let mut z = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Assigns `count` items to folds in a pseudo-random order; fold sizes differ by at most one.
pub(crate) fn deal(count: usize, folds: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    sort_by(&mut order, |a, b| (hash(*a), a).cmp(&(hash(*b), b)));
    let mut fold = vec![0; count];
    order.iter().enumerate().for_each(|(rank, index)| fold[*index] = rank % folds.max(1));
    fold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_as_large_as_each_other_and_never_change() {
        let folds = deal(12, 5);
        let sizes: Vec<usize> = (0..5).map(|fold| folds.iter().filter(|other| **other == fold).count()).collect();
        assert_eq!(sizes, [3, 3, 2, 2, 2]);
        assert_eq!(deal(8, 3), deal(8, 3));
        assert_eq!(hash(0), 0xe220_a839_7b1d_cdaf, "the generator's first number from the seed 0");
    }
}
