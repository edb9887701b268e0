//! Dropout whose choice is a function of a seed.
//!
//! Burn's draws from one generator of the whole process, so that threads that train side by side would get other numbers
//! each time.

use std::cell::RefCell;

use burn::module::{Flag, Module, Param};
use burn::tensor::{Tensor, TensorData};
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

thread_local! {
    static RANDOM: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(0));
}

/// Decides what the next forward passes of this thread drop.
pub fn seed(seed: u64) {
    RANDOM.with(|random| *random.borrow_mut() = ChaCha8Rng::seed_from_u64(seed));
}

/// Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (JMLR 2014), scaled while it
/// trains, so that nothing is left to do at inference.
#[derive(Module, Debug)]
pub struct Dropout {
    prob: f64,
    training: Param<Flag>,
}

impl Dropout {
    /// Drops an activation with that probability.
    pub fn new(prob: f64) -> Self {
        Self { prob, training: Param::from_bool(true) }
    }

    /// Any shape; on a device that does not differentiate, what came in.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        if !self.training.is_enabled() || !x.is_autodiff() {
            return x;
        }
        let (kept, scale) = (1.0 - self.prob, (1.0 / (1.0 - self.prob)) as f32);
        let mask: Vec<f32> = RANDOM.with(|random| {
            let mut random = random.borrow_mut();
            let mut draw = || if random.random::<f64>() < kept { scale } else { 0.0 };
            (0..x.shape().num_elements()).map(|_| draw()).collect()
        });
        let mask = Tensor::from_data(TensorData::new(mask, x.dims()), &x.device());
        x * mask
    }
}
