//! The costs of the built-in networks, which are computed from their graphs.

use std::ops::RangeInclusive;

use foreglow_shared::Mode;

use crate::columns::read_rows;
use crate::{GraphSums, NetworkCosts, Precision, PublicError};

/// Built-in networks at the usual side of their images. A test of `foreglow-networks` compares the
/// table with their graphs.
const NETWORKS: &str = include_str!("../data/built_in.csv");

/// Bytes of a number in [`StepMemory`].
const FLOAT: u64 = 4;
/// Bytes for each output of a convolution or product that a step of a network without a graph needs
/// at least, in training and in inference. Of 766 networks of timm, whose training steps were
/// counted, 96 % need more; for inference it is the least of the built-in networks.
const BYTES_PER_ACTIVATION: [f64; 2] = [7.0, 0.75];

/// What determines the memory of a step, in 32-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepMemory {
    /// Learned numbers.
    pub parameters: u64,
    /// Peak of the activations of an image that are alive at the same time in inference, bytes.
    pub inference_bytes: u64,
    /// All activations of an image, which a backward pass needs, bytes.
    pub training_bytes: u64,
}

impl StepMemory {
    /// Returns what a network needs at least whose graph is unknown, from its costs.
    pub fn at_least(costs: &NetworkCosts) -> Self {
        let [training, inference] = BYTES_PER_ACTIVATION.map(|bytes| (bytes * costs.activations_m * 1e6) as u64);
        let parameters = (costs.parameters_m * 1e6) as u64;
        Self { parameters, inference_bytes: inference, training_bytes: training }
    }

    /// Returns about the memory of a step, bytes, which a program needs at least: weights and
    /// activations; in training also a gradient and a momentum for each weight. Mixed precision
    /// keeps all of these of the weights in 32 bits.
    pub fn bytes(&self, batch: u32, mode: Mode, precision: Precision) -> f64 {
        let share = precision.bytes() / FLOAT as f64;
        let (weights, activations) = match mode {
            Mode::Training if matches!(precision, Precision::Mixed | Precision::Bf16) => (3.0, self.training_bytes),
            Mode::Training => (3.0 * share, self.training_bytes),
            Mode::Inference => (share, self.inference_bytes),
        };
        let weights = weights * self.parameters.saturating_mul(FLOAT) as f64;
        weights + share * activations.saturating_mul(batch.into()) as f64
    }

    /// Returns the memory with images of a multiple of the pixels.
    fn with_pixels(self, scale: f64) -> Self {
        let scaled = |bytes: u64| (bytes as f64 * scale).round() as u64;
        Self { inference_bytes: scaled(self.inference_bytes), training_bytes: scaled(self.training_bytes), ..self }
    }
}

/// A built-in network.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltInNetwork {
    /// Its costs at the usual side of its images.
    pub costs: NetworkCosts,
    /// Its memory at that side.
    pub memory: StepMemory,
    /// Possible sides of its images, pixels.
    pub px: RangeInclusive<u32>,
}

impl BuiltInNetwork {
    /// Returns all that take images.
    pub fn all() -> Vec<Self> {
        // A test checks that the built-in text is valid.
        Self::read(NETWORKS).unwrap_or_default()
    }

    fn read(text: &str) -> Result<Vec<Self>, PublicError> {
        read_rows(text, |columns, row| {
            let count = |name: &str| columns.number(row, name).map(|number| number as u64);
            let sums = GraphSums {
                parameters: count("parameters")?,
                multiply_accumulates: count("multiply_accumulates")?,
                convolved: if columns.text(row, "kind")? == "cnn" { count("multiply_accumulates")? } else { 0 },
                activations: count("activations")?,
            };
            let memory = StepMemory {
                parameters: sums.parameters,
                inference_bytes: count("inference_bytes")?,
                training_bytes: count("training_bytes")?,
            };
            let costs = NetworkCosts::of_graph(columns.text(row, "network")?, columns.count(row, "image_px")?, sums);
            let px = columns.count(row, "least_px")?..=columns.count(row, "most_px")?;
            Ok(Self { costs, memory, px })
        })
    }

    /// Returns the costs at another side of the images: those of convolutions grow with the pixels.
    pub fn costs_at(&self, image_px: u32) -> NetworkCosts {
        if image_px == self.costs.image_px { self.costs.clone() } else { self.costs.at(image_px) }
    }

    /// Returns the memory at another side of the images.
    pub fn memory_at(&self, image_px: u32) -> StepMemory {
        self.memory.with_pixels(crate::squared(f64::from(image_px) / f64::from(self.costs.image_px)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_networks_are_valid() {
        let networks = BuiltInNetwork::read(NETWORKS).unwrap();
        assert_eq!(networks.len(), 10);
        assert!(networks.iter().all(|network| network.px.contains(&network.costs.image_px)));
    }

    #[test]
    fn memory_grows_with_the_batch_the_pixels_and_training() {
        let networks = BuiltInNetwork::all();
        let resnet50 = networks.iter().find(|network| network.costs.name == "resnet50").unwrap();
        let bytes = |px, batch, mode| resnet50.memory_at(px).bytes(batch, mode, Precision::Fp32);
        let usual = bytes(224, 32, Mode::Training);
        assert!(usual > 2.0 * bytes(224, 32, Mode::Inference));
        assert!(bytes(448, 32, Mode::Training) > 3.5 * usual && bytes(224, 64, Mode::Training) > 1.8 * usual);
        let weights = 12.0 * resnet50.memory.parameters as f64;
        assert_eq!(resnet50.memory.bytes(32, Mode::Training, Precision::Fp16), usual / 2.0);
        assert_eq!(resnet50.memory.bytes(32, Mode::Training, Precision::Mixed), usual / 2.0 + weights / 2.0);
    }

    #[test]
    fn a_network_without_a_graph_needs_at_least_what_its_costs_say() {
        for network in BuiltInNetwork::all() {
            let least = StepMemory::at_least(&network.costs);
            for mode in [Mode::Training, Mode::Inference] {
                let bytes = |memory: StepMemory| memory.bytes(32, mode, Precision::Fp32);
                let share = bytes(least) / bytes(network.memory);
                assert!((0.1..=1.01).contains(&share), "{} {mode:?}: {share}", network.costs.name);
            }
        }
    }
}
