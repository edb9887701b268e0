//! How a CNN is trained: what the driver tells every executor, and what follows from it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::input::draw;

/// How a CNN is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// What changes the weights.
    pub optimizer: Optimizer,
    /// Learning rate at the start.
    pub learning_rate: f64,
    /// How it goes on.
    pub schedule: Schedule,
    /// Passes over the sample.
    pub epochs: u32,
    /// Executors that train, E.
    pub executors: u32,
    /// Mini-batches of an executor between two averages, K. With 1 the gradients are averaged (TensorFlow's "mirrored"
    /// strategy), with more the parameters.
    pub average_every: u32,
    /// Whether the optimiser's state is averaged along with the parameters, or stays each executor's own.
    pub average_optimizer_state: bool,
    /// Images of a mini-batch that a thread learns at once. Batch normalisation sees no more than these (Hoffer et al.,
    /// "Train longer, generalize better", NeurIPS 2017, section 4), whatever the number of threads, so that the result
    /// does not depend on it.
    pub share_size: u32,
    /// Address on which the executor waits for the others; none where it needs no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
}

/// What changes the weights by the gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Stochastic gradient descent.
    Sgd {
        /// Share of the last change that goes on; 0 is plain descent.
        momentum: f64,
    },
    /// Kingma and Ba, with their constants.
    Adam,
}

/// How the learning rate goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// It stays.
    Constant,
    /// It is multiplied by a factor every so many epochs.
    Step {
        /// Epochs between two changes.
        epochs: u32,
        /// What it is multiplied by.
        factor: f64,
    },
    /// Half a cosine from the start to 0 at the end (Loshchilov and Hutter, "SGDR", ICLR 2017, eq. 5 without restarts),
    /// mini-batch by mini-batch.
    Cosine,
}

impl Training {
    /// The learning rate of a step, counted from the first epoch on; `steps` is those of an epoch.
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

/// How the images of a sample are dealt to the executors, epoch by epoch. A step is a mini-batch of every executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Images of the sample.
    pub images: u64,
    /// Images of an executor's mini-batch.
    pub batch_size: u64,
    /// E.
    pub executors: u64,
}

impl Deal {
    /// Steps of an epoch.
    pub fn steps(self) -> u64 {
        self.images.div_ceil(self.batch_size * self.executors).max(1)
    }

    /// An executor's mini-batch: places in the order of the epoch. The images that are left for the last step are dealt
    /// evenly, so that some executors may get none.
    pub fn mini_batch(self, step: u64, executor: u64) -> Range<u64> {
        let first = step * self.batch_size * self.executors;
        let len = self.images.saturating_sub(first).min(self.batch_size * self.executors);
        let start = |executor: u64| first + executor * len / self.executors;
        start(executor)..start(executor + 1)
    }

    /// The order of an epoch: a permutation of the sample, the same in every executor.
    pub fn order(self, seed: u64, epoch: u64) -> Vec<u64> {
        // The sample itself was drawn with the seed as it is.
        draw(self.images, 1.0, seed.wrapping_add((epoch + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executors_mini_batches_cover_an_epoch_once() {
        for (images, batch_size, executors) in [(100, 8, 1), (100, 8, 3), (5, 8, 4), (1, 8, 2), (64, 8, 4)] {
            let deal = Deal { images, batch_size, executors };
            let mut places = Vec::new();
            for step in 0..deal.steps() {
                for executor in 0..executors {
                    let mini_batch = deal.mini_batch(step, executor);
                    assert!(mini_batch.end - mini_batch.start <= batch_size);
                    places.extend(mini_batch);
                }
            }
            assert_eq!(places, (0..images).collect::<Vec<_>>(), "{deal:?}");
        }
    }

    #[test]
    fn each_epoch_has_an_order_of_its_own_that_the_seed_repeats() {
        let deal = Deal { images: 50, batch_size: 8, executors: 1 };
        assert_eq!(deal.order(3, 1), deal.order(3, 1));
        assert_ne!(deal.order(3, 0), deal.order(3, 1));
        assert_ne!(deal.order(3, 0), deal.order(4, 0));
        let mut sorted = deal.order(3, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
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
