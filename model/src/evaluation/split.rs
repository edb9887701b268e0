//! Which settings are fitted and which are tested.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::Features;
use crate::rival::contexts;

/// One split: settings to learn from and settings to predict, both by their index, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Settings to learn from.
    pub fit: Vec<usize>,
    /// Settings to predict.
    pub test: Vec<usize>,
}

impl Split {
    /// Each of the settings left out in turn. None where there are fewer than two.
    pub fn leave_one_out(settings: usize) -> Vec<Self> {
        Self::folds(settings, settings, 0)
    }

    /// So many folds of almost one size, drawn by `seed`; each is predicted from the others. Of fewer settings than
    /// folds each is a fold. None where there are fewer than two settings or folds.
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

    /// Random splits that each test so many of the settings, drawn by `seed`. None where nothing would be fitted or tested.
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

    /// Each combination of values of some columns left out in turn. None where there is only one.
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

/// So many of 0..`of`, or all where there are fewer, in the order in which `seed` draws them.
pub fn draw(of: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut drawn = shuffled(of, seed, 0);
    drawn.truncate(count);
    drawn
}

/// Fisher and Yates' shuffle of 0..`of` (Knuth, "The Art of Computer Programming", vol. 2, algorithm P).
fn shuffled(of: usize, seed: u64, stream: u64) -> Vec<usize> {
    let mut draws = ChaCha8Rng::seed_from_u64(seed);
    draws.set_stream(stream);
    let mut order: Vec<usize> = (0..of).collect();
    for last in (1..of).rev() {
        // The high half of a product (Lemire, "Fast random integer generation in an interval", ACM Trans. Model. Comput.
        // Simul. 29(1), 2019, without the rejection, whose bias is 2⁻⁶⁴ for each setting).
        let other = ((u128::from(draws.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, other);
    }
    order
}
