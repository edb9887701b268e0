//! Random draws of trees.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// A whole number below `end`, which is at most 2³²: the high half of a product (Lemire, "Fast random integer generation
/// in an interval", ACM Trans. Model. Comput. Simul. 29(1), 2019, without the rejection, whose bias is 2⁻³²·end at most).
pub(crate) fn below(end: usize, draws: &mut ChaCha8Rng) -> usize {
    ((u64::from(draws.next_u32()) * end as u64) >> 32) as usize
}
