//! Splits of settings into training and test sets.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::Features;
use crate::rival::contexts;

/// One split: indices of training and test settings, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Training settings.
    pub fit: Vec<usize>,
    /// Test settings.
    pub test: Vec<usize>,
}

impl Split {
    /// Returns the leave-one-out splits; empty for fewer than two settings.
    pub fn leave_one_out(settings: usize) -> Vec<Self> {
        Self::folds(settings, settings, 0)
    }

    /// Returns a cross-validation with `folds` folds of almost equal size, drawn by `seed`; at most
    /// one fold per setting. Empty for fewer than two settings or folds.
    pub fn folds(settings: usize, folds: usize, seed: u64) -> Vec<Self> {
        let folds = folds.min(settings);
        if folds < 2 {
            return Vec::new();
        }
        let mut fold = vec![0; settings];
        draw(settings, settings, seed)
            .into_iter()
            .enumerate()
            .for_each(|(place, setting)| fold[setting] = place % folds);
        (0..folds).map(|tested| Self::by(settings, |setting| fold[setting] == tested)).collect()
    }

    /// Returns random splits with `tested` test settings each, drawn by `seed`. Empty if nothing
    /// would be trained or tested.
    pub fn random(settings: usize, tested: usize, splits: usize, seed: u64) -> Vec<Self> {
        if tested == 0 || tested >= settings {
            return Vec::new();
        }
        let split = |number: u64| {
            let mut out = vec![false; settings];
            shuffled(settings, seed, number).into_iter().take(tested).for_each(|setting| out[setting] = true);
            Self::by(settings, |setting| out[setting])
        };
        (0..splits as u64).map(split).collect()
    }

    /// Leaves out each combination of values of `columns` in turn; empty if there is only one.
    pub fn leave_out(features: &Features, columns: &[&str]) -> Vec<Self> {
        let others = features.columns().iter().map(|column| column.name.as_str());
        let others: Vec<&str> = others.filter(|name| !columns.contains(name)).collect();
        let groups = contexts(features, features, &others);
        if groups.len() < 2 {
            return Vec::new();
        }
        let of: BTreeMap<usize, usize> =
            groups.iter().enumerate().flat_map(|(group, rows)| rows.fit.iter().map(move |row| (*row, group))).collect();
        (0..groups.len()).map(|group| Self::by(features.rows(), |row| of.get(&row) == Some(&group))).collect()
    }

    fn by(settings: usize, is_tested: impl Fn(usize) -> bool) -> Self {
        let (test, fit) = (0..settings).partition(|setting| is_tested(*setting));
        Self { fit, test }
    }
}

/// Returns `count` distinct numbers below `of`, or all if there are fewer, in an order drawn by
/// `seed`.
pub fn draw(of: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = shuffled(of, seed, 0);
    drawn.truncate(count);
    drawn
}

/// Returns a random permutation of 0..`of` by the Fisher–Yates shuffle (Knuth, "The Art of Computer
/// Programming", vol. 2, algorithm P).
fn shuffled(of: usize, seed: u64, stream: u64) -> Vec<usize> {
    let mut draws = ChaCha8Rng::seed_from_u64(seed);
    draws.set_stream(stream);
    let mut order: Vec<usize> = (0..of).collect();
    for last in (1..of).rev() {
        // Takes the high half of a product (Lemire, "Fast random integer generation in an
        // interval", ACM Trans. Model. Comput. Simul. 29(1), 2019, without the rejection, whose
        // bias is 2⁻⁶⁴ per setting).
        let other = ((u128::from(draws.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, other);
    }
    order
}
