//! The memory of a batch on a GPU: the tensors of a step, divided by the usable share of the
//! memory.

use foreglow_public::{MemorySource, Precision, StepMemory};
use foreglow_shared::Mode;

use super::need::{BatchMemory, Estimate, Held};
use super::usable::UsableMemory;

impl UsableMemory {
    /// The share of a GPU that the tensors of a graph may fill. Learned from the largest batches of
    /// timm's networks on 24 GiB, channels first and all steps, which has the widest limits; a test
    /// of `foreglow-accuracy` learns it again.
    pub const WITH_GRAPH: Self = Self { surely: 0.822, expected: 0.899, at_most: 0.927 };
    /// The share for the memory that is estimated from activations, with the spread of the
    /// estimate.
    pub const WITHOUT_GRAPH: Self = Self { surely: 0.369, expected: 0.923, at_most: 1.3 };

    fn of(source: MemorySource) -> Self {
        match source {
            MemorySource::Graph => Self::WITH_GRAPH,
            MemorySource::Costs => Self::WITHOUT_GRAPH,
        }
    }

    /// Returns the memory of a GPU that a byte of a step needs.
    fn bytes_per_byte(self) -> Estimate {
        Estimate { lower: 1.0 / self.at_most, expected: 1.0 / self.expected, upper: 1.0 / self.surely }
    }
}

impl BatchMemory {
    /// Returns the memory of a GPU that a batch of a network needs.
    pub fn on_gpu(step: &StepMemory, mode: Mode, precision: Precision) -> Self {
        Self::with_usable(step, mode, precision, UsableMemory::of(step.source))
    }

    /// Returns the memory that a batch needs on a GPU of which this share is usable.
    pub fn with_usable(step: &StepMemory, mode: Mode, precision: Precision, usable: UsableMemory) -> Self {
        let needed = usable.bytes_per_byte();
        Self {
            fixed_bytes: needed.times(step.fixed_bytes(mode, precision)),
            bytes_per_image: needed.times(step.bytes_per_image(mode, precision)),
            bytes_per_gradient: 0.0,
            bytes_per_input: 0.0,
            held: Held::Batches { threads: 1 },
            refused: Vec::new(),
            completed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use foreglow_public::BuiltInNetwork;

    use super::*;
    use crate::memory::{LargestBatch, MemoryRun};

    const GIB: f64 = 1_073_741_824.0;
    const FORMATS: [Precision; 3] = [Precision::Fp32, Precision::Mixed, Precision::Fp16];

    fn largest(network: &BuiltInNetwork, px: u32, precision: Precision, gib: f64) -> LargestBatch {
        let memory = network.memory_at(px);
        BatchMemory::on_gpu(&memory, Mode::Training, precision).largest_batch(gib * GIB)
    }

    #[test]
    fn more_memory_smaller_images_and_narrower_formats_fit_no_smaller_batch() {
        let is_no_smaller = |a: LargestBatch, b: LargestBatch| {
            a.surely <= b.surely && a.expected <= b.expected && a.at_most <= b.at_most
        };
        for network in BuiltInNetwork::all() {
            let px = network.costs.image_px;
            for precision in FORMATS {
                let usual = largest(&network, px, precision, 24.0);
                assert!(usual.surely <= usual.expected && usual.expected <= usual.at_most);
                assert!(is_no_smaller(usual, largest(&network, px, precision, 40.0)));
                assert!(is_no_smaller(usual, largest(&network, px / 2, precision, 24.0)));
            }
            assert!(is_no_smaller(largest(&network, px, FORMATS[0], 24.0), largest(&network, px, FORMATS[1], 24.0)));
        }
    }

    #[test]
    fn a_larger_batch_needs_more() {
        for network in BuiltInNetwork::all() {
            for (mode, precision) in [Mode::Training, Mode::Inference].into_iter().zip(FORMATS) {
                let memory = BatchMemory::on_gpu(&network.memory, mode, precision);
                let needs: Vec<Estimate> = [1, 2, 16, 512].map(|batch| memory.bytes(batch)).to_vec();
                assert!(needs.windows(2).all(|pair| pair[0].lower < pair[1].lower && pair[0].upper < pair[1].upper));
                assert!(needs.iter().all(|need| need.lower < need.expected && need.expected < need.upper));
            }
        }
    }

    #[test]
    fn an_estimate_without_a_graph_has_wider_limits_than_the_graph() {
        for network in BuiltInNetwork::all().into_iter().filter(|network| network.costs.image_px >= 224) {
            let graph = largest(&network, network.costs.image_px, Precision::Mixed, 24.0);
            let memory = StepMemory::of_costs(&network.costs);
            let costs = BatchMemory::on_gpu(&memory, Mode::Training, Precision::Mixed).largest_batch(24.0 * GIB);
            let width = |batch: LargestBatch| batch.at_most as f64 / batch.surely as f64;
            assert!(costs.surely < graph.surely && width(costs) > 2.0 * width(graph), "{}", network.costs.name);
        }
    }

    #[test]
    fn a_measured_peak_narrows_the_limits_of_other_batches() {
        let networks = BuiltInNetwork::all();
        let resnet50 = networks.iter().find(|network| network.costs.name == "resnet50").unwrap();
        let memory = BatchMemory::on_gpu(&resnet50.memory, Mode::Training, Precision::Mixed);
        let peak_bytes = memory.bytes(64).expected;
        let measured = memory.clone().measured(&[MemoryRun::Completed { batch: 64, peak_bytes }]);
        let spread = |memory: &BatchMemory| memory.bytes(128).upper / memory.bytes(128).lower;
        assert!(spread(&measured) < spread(&memory));
    }
}
