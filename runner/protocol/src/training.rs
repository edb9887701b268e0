//! Training settings that the driver sends to every executor, and values derived from them.

use std::ops::Range;

use foreglow_data::draw;
use serde::{Deserialize, Serialize};

/// Training settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Optimiser.
    pub optimizer: Optimizer,
    /// Initial learning rate.
    pub learning_rate: f64,
    /// Learning rate schedule.
    pub schedule: Schedule,
    /// Passes over the sample.
    pub epochs: u32,
    /// Executors that train, E.
    pub executors: u32,
    /// Mini-batches of an executor between two averages, K. With K = 1 gradients are averaged
    /// (TensorFlow's "mirrored" strategy), otherwise parameters.
    pub average_every: u32,
    /// Whether the optimiser's state is averaged as well, or stays local to each executor.
    pub average_optimizer_state: bool,
    /// Images per share, which one thread processes at once. Batch normalisation sees only one
    /// share (Hoffer et al., "Train longer, generalize better", NeurIPS 2017, section 4), so that
    /// the result does not depend on the number of threads.
    pub share_size: u32,
    /// Share of the sample's images that are left out of training and validate the CNN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Address on which the executor waits for its peers; `None` if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
}

/// Optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Stochastic gradient descent.
    Sgd {
        /// Momentum; 0 is plain gradient descent.
        momentum: f64,
    },
    /// Adam with the constants of Kingma and Ba.
    Adam,
}

impl Optimizer {
    /// Returns the number of state tensors per parameter.
    pub fn slots(self) -> usize {
        match self {
            Self::Sgd { momentum: 0.0 } => 0,
            Self::Sgd { .. } => 1,
            Self::Adam => 2,
        }
    }
}

/// Learning rate schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Constant.
    Constant,
    /// Step decay.
    Step {
        /// Epochs between two changes.
        epochs: u32,
        /// Factor of each change.
        factor: f64,
    },
    /// Cosine annealing from the initial rate to 0 (Loshchilov and Hutter, "SGDR", ICLR 2017, eq. 5
    /// without restarts), updated every mini-batch.
    Cosine,
}

impl Training {
    /// Returns the number of validation images of a sample: its last ones, because the sample is in
    /// random order. At least one image is left for training.
    pub fn validation_images(&self, images: u64) -> u64 {
        let Some(share) = self.validation else { return 0 };
        ((images as f64 * share).round() as u64).clamp(1, images.max(2) - 1).min(images.saturating_sub(1))
    }

    /// Returns the learning rate of a step, counted over all epochs; `steps` is the number of steps
    /// per epoch.
    pub fn learning_rate(&self, step: u64, steps: u64) -> f64 {
        match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::Step { epochs, factor } => {
                let changes = step / steps.max(1) / u64::from(epochs.max(1));
                self.learning_rate * factor.powi(i32::try_from(changes).unwrap_or(i32::MAX))
            }
            Schedule::Cosine => {
                let done = step as f64 / (steps * u64::from(self.epochs)).max(1) as f64;
                self.learning_rate * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

/// Division of a sample's images among the executors in each epoch. A step is one mini-batch of
/// every executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSharding {
    /// Images of the sample.
    pub images: u64,
    /// Images in an executor's mini-batch.
    pub batch_size: u64,
    /// Number of executors, E.
    pub executors: u64,
}

impl DataSharding {
    /// Returns the steps per epoch.
    pub fn steps(self) -> u64 {
        self.images.div_ceil(self.batch_size * self.executors).max(1)
    }

    /// Returns an executor's mini-batch as positions in the order of the epoch. The images of the
    /// last step are divided evenly, so that some executors may get none.
    pub fn mini_batch(self, step: u64, executor: u64) -> Range<u64> {
        let first = step * self.batch_size * self.executors;
        let len = self.images.saturating_sub(first).min(self.batch_size * self.executors);
        let start = |executor: u64| first + executor * len / self.executors;
        start(executor)..start(executor + 1)
    }

    /// Returns the order of an epoch: a permutation of the sample, the same in every executor.
    pub fn order(self, seed: u64, epoch: u64) -> Vec<u64> {
        // Epochs use other seeds than the sample, which is drawn with `seed` itself.
        draw(self.images, 1.0, seed.wrapping_add((epoch + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executors_mini_batches_cover_an_epoch_once() {
        for (images, batch_size, executors) in [(100, 8, 1), (100, 8, 3), (5, 8, 4), (1, 8, 2), (64, 8, 4)] {
            let sharding = DataSharding { images, batch_size, executors };
            let mut places = Vec::new();
            for step in 0..sharding.steps() {
                for executor in 0..executors {
                    let mini_batch = sharding.mini_batch(step, executor);
                    assert!(mini_batch.end - mini_batch.start <= batch_size);
                    places.extend(mini_batch);
                }
            }
            assert_eq!(places, (0..images).collect::<Vec<_>>(), "{sharding:?}");
        }
    }

    #[test]
    fn epochs_have_different_orders_that_the_seed_determines() {
        let sharding = DataSharding { images: 50, batch_size: 8, executors: 1 };
        assert_eq!(sharding.order(3, 1), sharding.order(3, 1));
        assert_ne!(sharding.order(3, 0), sharding.order(3, 1));
        assert_ne!(sharding.order(3, 0), sharding.order(4, 0));
        let mut sorted = sharding.order(3, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn validation_leaves_an_image_to_train_on_and_takes_at_least_one() {
        let with = |validation| Training {
            optimizer: Optimizer::Adam,
            learning_rate: 0.1,
            schedule: Schedule::Constant,
            epochs: 1,
            executors: 1,
            average_every: 1,
            average_optimizer_state: false,
            share_size: 8,
            validation,
            listen: None,
        };
        let of = |share, images| with(Some(share)).validation_images(images);
        assert_eq!([of(0.1, 100), of(0.001, 100), of(0.999, 100), of(0.5, 1), of(0.5, 2)], [10, 1, 99, 0, 1]);
        assert_eq!(with(None).validation_images(100), 0);
    }

    #[test]
    fn the_learning_rate_follows_its_schedule() {
        let with = |schedule| Training {
            optimizer: Optimizer::Adam,
            learning_rate: 0.8,
            schedule,
            epochs: 4,
            executors: 1,
            average_every: 1,
            average_optimizer_state: false,
            share_size: 8,
            validation: None,
            listen: None,
        };
        let at = |schedule, step| with(schedule).learning_rate(step, 10);
        assert_eq!(at(Schedule::Constant, 39), 0.8);
        let step = Schedule::Step { epochs: 2, factor: 0.5 };
        assert_eq!([at(step, 0), at(step, 19), at(step, 20), at(step, 39)], [0.8, 0.8, 0.4, 0.4]);
        assert_eq!(at(Schedule::Cosine, 0), 0.8);
        assert!((at(Schedule::Cosine, 20) - 0.4).abs() < 1e-12);
        assert!(at(Schedule::Cosine, 39) > 0.0 && at(Schedule::Cosine, 39) < 0.01);
    }
}
