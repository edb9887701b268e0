//! Seeded random numbers.

/// Steele, Lea and Flood's splitmix64 (OOPSLA 2014).
pub struct Chance(u64);

impl Chance {
    /// Creates a generator whose numbers depend on all seeds.
    pub fn new(seeds: &[u64]) -> Self {
        let mut chance = Self(0x5eed);
        for seed in seeds {
            chance.0 ^= chance.next().wrapping_add(*seed);
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// A standard normal number (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// Draws an index below `of`.
    pub fn place(&mut self, of: usize) -> usize {
        ((self.uniform() * of as f64) as usize).min(of - 1)
    }

    /// Draws `count` distinct indices below `of`, or all of them.
    pub fn places(&mut self, of: usize, count: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..of).collect();
        for at in 0..count.min(of) {
            let other = at + self.place(of - at);
            places.swap(at, other);
        }
        places.truncate(count);
        places
    }
}
