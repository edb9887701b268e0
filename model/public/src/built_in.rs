//! The costs of the built-in networks, which are computed from their graphs.

use std::ops::RangeInclusive;

use foreglow_onnx::{PeakBytes, StepBytes};

use crate::columns::read_rows;
use crate::{GraphSums, MemorySource, NetworkCosts, PublicError, StepMemory};

/// Built-in networks at the usual side of their images. A test of `foreglow-networks` compares the
/// table with their graphs.
const NETWORKS: &str = include_str!("../data/built_in.csv");

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
            let bytes = |name: String| {
                let text = columns.text(row, &name)?;
                text.parse::<u64>().map_err(|_| PublicError::Table(format!("{name} is {text:?}, not a count")))
            };
            let peak = |name: &str| {
                let [fixed, per_image] = [format!("{name}_fixed"), format!("{name}_per_image")].map(bytes);
                Ok::<_, PublicError>(PeakBytes { fixed: fixed?, per_image: per_image? })
            };
            let sums = GraphSums {
                parameters: count("parameters")?,
                multiply_accumulates: count("multiply_accumulates")?,
                convolved: if columns.text(row, "kind")? == "cnn" { count("multiply_accumulates")? } else { 0 },
                activations: count("activations")?,
            };
            let memory = StepMemory {
                parameters: sums.parameters,
                peaks: StepBytes {
                    inference: [peak("inference")?, peak("inference_mixed")?],
                    training: [peak("training")?, peak("training_mixed")?],
                },
                source: MemorySource::Graph,
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
}
