//! The memory of an executor on processors, from the network's graph.
//!
//! The constants come from the peaks of `foreglow run` with the built-in CNNs and with ONNX files
//! of other CNNs, such as MobileNet-v3, at 32 to 224 px, 2 to 1,024 images and one or two threads.
//! `docs/accuracy.md` has the errors on built-in CNNs and on ONNX files that were held out.

use super::need::{BatchMemory, Estimate, Held, usual_share};

const MIB: f64 = 1_048_576.0;

/// Memory of the program itself, its threads and buffers.
const PROCESS: Estimate = Estimate { lower: 2.0 * MIB, expected: 5.0 * MIB, upper: 10.0 * MIB };
/// Memory of the weights divided by their bytes; the allocator rounds up to blocks.
const WEIGHTS: Estimate = Estimate { lower: 0.98, expected: 1.02, upper: 1.06 };
/// Memory of a forward pass divided by the bytes that are alive at the same time. The heap grows
/// when freed blocks are too small for the next tensor. Measured: 1.0 to 1.2 for plain and residual
/// CNNs, 0.7 for Inception-v4, 1.6 for Xception, 1.75 for MobileNet-v3 from a file.
const FORWARD: Estimate = Estimate { lower: 0.7, expected: 1.1, upper: 1.75 };
/// Memory of a training pass divided by the bytes of all outputs. Some operators keep less than
/// their output for the backward pass, hard-swish and pools more.
const BACKWARD: Estimate = Estimate { lower: 0.9, expected: 1.1, upper: 1.55 };

/// Memory of a network, computed from its graph: bytes in the CNN's format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkBytes {
    /// Weights.
    pub weights: f64,
    /// The layer with the most weights.
    pub largest_layer_weights: f64,
    /// Largest total of tensors alive at the same time in the forward pass of an image.
    pub inference: f64,
    /// Outputs of all layers for an image, which the backward pass needs.
    pub training: f64,
    /// The input of an image.
    pub input: f64,
}

/// Work of an executor on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Each thread processes its own batch.
    Inference {
        /// Threads.
        threads: u64,
    },
    /// The threads divide a mini-batch.
    Training {
        /// Threads.
        threads: u64,
        /// Images that a thread trains on at once; `None` for the default of `foreglow run`.
        share: Option<u64>,
        /// Numbers that the optimiser keeps for each weight: 1 for momentum, 2 for Adam.
        moments: u64,
    },
}

impl Work {
    /// Returns the number of images that a thread trains on at once by default.
    pub fn usual_share(batch: u64) -> u64 {
        usual_share(batch)
    }
}

impl BatchMemory {
    /// Returns the memory of a network that was never run.
    pub fn of(network: &NetworkBytes, work: Work) -> Self {
        let weights = WEIGHTS.times(network.weights);
        let memory = Self {
            fixed_bytes: PROCESS.plus(weights),
            bytes_per_image: FORWARD.times(network.inference),
            bytes_per_gradient: 0.0,
            bytes_per_input: 0.0,
            held: Held::Batches { threads: 1 },
            refused: Vec::new(),
            completed: Vec::new(),
        };
        match work {
            Work::Inference { threads } => Self { held: Held::Batches { threads: threads.max(1) }, ..memory },
            Work::Training { threads, share, moments } => Self {
                // The gradient of a layer is computed beside the copy that it is added to.
                fixed_bytes: PROCESS
                    .plus(weights.times(1.0 + moments as f64))
                    .plus(Estimate::known(network.largest_layer_weights)),
                bytes_per_image: BACKWARD.times(network.training),
                bytes_per_gradient: network.weights,
                bytes_per_input: network.input,
                held: Held::Shares { threads: threads.max(1), size: share },
                ..memory
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ResNet-18 at 96 px, from `foreglow models --layers`.
    fn resnet18() -> NetworkBytes {
        NetworkBytes {
            weights: 44.59 * MIB,
            largest_layer_weights: 9.0 * MIB,
            inference: 1.125 * MIB,
            training: 3.73 * MIB,
            input: 0.105 * MIB,
        }
    }

    fn expected_mib(work: Work, batch: u64) -> f64 {
        BatchMemory::of(&resnet18(), work).bytes(batch).expected / MIB
    }

    #[test]
    fn the_memory_of_measured_runs_is_found() {
        // Peaks of `foreglow run --model resnet18 --image-px 96`, MiB.
        let train = |threads, share| Work::Training { threads, share: Some(share), moments: 1 };
        let runs = [
            (Work::Inference { threads: 1 }, 8, 57.0),
            (Work::Inference { threads: 1 }, 32, 87.0),
            (Work::Inference { threads: 2 }, 8, 64.0),
            (train(1, 8), 8, 174.0),
            // With more than one share per thread, a second gradient is held for the sum.
            (train(1, 8), 128, 233.0),
            (train(1, 8), 256, 246.0),
            (train(2, 8), 16, 250.0),
            (train(2, 24), 48, 395.0),
        ];
        for (work, batch, peak) in runs {
            let expected = expected_mib(work, batch);
            assert!((expected / peak - 1.0).abs() < 0.12, "{work:?} with {batch}: {expected} for {peak}");
        }
    }

    #[test]
    fn adam_keeps_another_number_for_each_weight() {
        let work = |moments| Work::Training { threads: 1, share: Some(8), moments };
        let more = expected_mib(work(2), 8) - expected_mib(work(1), 8);
        assert!((more - 1.02 * 44.59).abs() < 1e-6, "{more}");
    }
}
