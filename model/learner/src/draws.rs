//! Random numbers identical to scikit-learn's for the same `random_state`.

use rand_mt::Mt;

/// Exclusive upper bound of scikit-learn's tree seeds.
const TREE_SEEDS: u32 = i32::MAX as u32;

/// NumPy's `RandomState` (Matsumoto and Nishimura, "Mersenne Twister", ACM Trans. Model. Comput.
/// Simul. 8(1), 1998).
#[derive(Clone)]
pub struct Draws(Mt);

/// Generator for the features considered at the splits of a tree (Marsaglia, "Xorshift RNGs", J.
/// Stat. Softw. 8(14), 2003).
#[derive(Clone, Copy)]
pub struct SplitDraws(u32);

impl Draws {
    /// Creates the generator of `RandomState(seed)`.
    pub fn new(seed: u32) -> Self {
        Self(Mt::new(seed))
    }

    /// Draws a number in [0, 1), in steps of 2⁻⁵³.
    #[cfg(feature = "perceptron")]
    pub fn unit(&mut self) -> f64 {
        let (high, low) = (self.0.next_u32() >> 5, self.0.next_u32() >> 6);
        (f64::from(high) * f64::from(1 << 26) + f64::from(low)) / (1u64 << 53) as f64
    }

    /// Draws an integer below `end`, which must be at least 1, by masked rejection sampling.
    pub fn below(&mut self, end: u32) -> u32 {
        let mask = u32::MAX.checked_shr((end - 1).leading_zeros()).unwrap_or(0);
        loop {
            let drawn = if mask == 0 { 0 } else { self.0.next_u32() & mask };
            if drawn < end {
                return drawn;
            }
        }
    }

    /// Draws the seed of a tree.
    pub fn tree_seed(&mut self) -> u32 {
        self.below(TREE_SEEDS)
    }

    /// Creates the generator for the splits of a tree.
    pub fn splits(&mut self) -> SplitDraws {
        // The xorshift state 0 would stay 0.
        SplitDraws(self.below(TREE_SEEDS).max(1))
    }
}

impl SplitDraws {
    /// Draws an integer in `start..end`, which must not be empty.
    pub fn between(&mut self, start: usize, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        start + (self.0 & TREE_SEEDS) as usize % (end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_equal_numpys() {
        // np.random.RandomState(7): randint(24, size=6), then randint(2**31 - 1).
        let mut draws = Draws::new(7);
        assert_eq!([(); 6].map(|()| draws.below(24)), [15, 4, 22, 3, 19, 23]);
        assert_eq!(draws.tree_seed(), 1_956_722_279);
        assert_eq!(draws.below(1), 0);
    }

    #[cfg(feature = "perceptron")]
    #[test]
    fn uniform_draws_equal_numpys() {
        // np.random.RandomState(0).random_sample(3)
        let mut draws = Draws::new(0);
        assert_eq!([(); 3].map(|()| draws.unit()), [0.5488135039273248, 0.7151893663724195, 0.6027633760716439]);
    }
}
