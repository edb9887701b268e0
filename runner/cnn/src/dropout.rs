//! Dropout with a reproducible mask.
//!
//! Burn draws masks from one process-wide generator, so that threads training in parallel would get
//! different masks in each run.

use std::cell::RefCell;

use burn::module::{Flag, Module, Param};
use burn::tensor::{Tensor, TensorData};
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

thread_local! {
    static RANDOM: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(0));
}

/// Seeds the dropout masks of this thread's next forward passes.
pub fn seed(seed: u64) {
    RANDOM.with(|random| *random.borrow_mut() = ChaCha8Rng::seed_from_u64(seed));
}

/// Returns functions of this many uniform draws from [0, 1).
pub fn draws(count: usize, function: impl Fn(f64) -> f32) -> Vec<f32> {
    RANDOM.with(|random| {
        let mut random = random.borrow_mut();
        (0..count).map(|_| function(random.random::<f64>())).collect()
    })
}

/// Inverted dropout (Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
/// Overfitting", JMLR 2014): scales in training, so that inference needs no scaling.
#[derive(Module, Debug)]
pub struct Dropout {
    prob: f64,
    training: Param<Flag>,
}

impl Dropout {
    /// Creates a layer that drops each activation with probability `prob`.
    pub fn new(prob: f64) -> Self {
        Self { prob, training: Param::from_bool(true) }
    }

    /// Applies dropout to a tensor of any shape; the identity on a device without autodiff.
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let dims = x.dims();
        self.forward_along(x, dims)
    }

    /// Applies dropout with a mask of this shape, which is repeated along its axes of length 1.
    pub fn forward_along<const D: usize>(&self, x: Tensor<D>, mask: [usize; D]) -> Tensor<D> {
        if !self.training.is_enabled() || !x.is_autodiff() {
            return x;
        }
        let (kept, scale) = (1.0 - self.prob, (1.0 / (1.0 - self.prob)) as f32);
        let draws = draws(mask.iter().product(), |uniform| if uniform < kept { scale } else { 0.0 });
        let mask = Tensor::from_data(TensorData::new(draws, mask), &x.device());
        x * mask
    }
}
