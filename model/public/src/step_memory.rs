//! What determines the memory of a step on a GPU.

use foreglow_onnx::{Costs, PeakBytes, StepBytes};
use foreglow_shared::Mode;

use crate::{NetworkCosts, Precision};

/// Bytes of the tensors of an image in mixed precision for each output of a convolution or product,
/// for a network without a graph: in inference, and in training. Medians of the networks of timm;
/// `UsableMemory::WITHOUT_GRAPH` has the spread of training.
const BYTES_PER_ACTIVATION: [f64; 2] = [0.52, 4.9];
/// Bytes for each weight of the copies and gradients at the peak, for such a network: in 32 bits
/// and in mixed precision, in inference and in training.
const BYTES_PER_PARAMETER: [[f64; 2]; 2] = [[0.0, 2.0], [0.9, 2.9]];
/// Bytes in 32 bits divided by those in mixed precision, for such a network.
const FULL_PER_MIXED: f64 = 1.9;

/// Where the memory of a network is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemorySource {
    /// The tensors of its graph that are alive at the same time.
    #[default]
    Graph,
    /// The number of its activations.
    Costs,
}

/// What determines the memory of a step: the weights, and the peak of the tensors alive for an
/// image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepMemory {
    /// Learned numbers.
    pub parameters: u64,
    /// The peaks of the tensors alive.
    pub peaks: StepBytes,
    /// Where the peaks are known from.
    pub source: MemorySource,
}

impl StepMemory {
    /// Returns the memory of a network whose graph has these costs.
    pub fn of_graph(Costs { parameters, step, .. }: &Costs) -> Self {
        Self { parameters: *parameters, peaks: *step, source: MemorySource::Graph }
    }

    /// Returns the memory of a network whose graph is unknown, from its costs.
    pub fn of_costs(costs: &NetworkCosts) -> Self {
        let parameters = (costs.parameters_m * 1e6) as u64;
        let peaks = |mode: usize| {
            let mixed = BYTES_PER_ACTIVATION[mode] * costs.activations_m * 1e6;
            let per_image = [FULL_PER_MIXED * mixed, mixed];
            [0, 1].map(|format| PeakBytes {
                fixed: (BYTES_PER_PARAMETER[mode][format] * parameters as f64) as u64,
                per_image: per_image[format] as u64,
            })
        };
        let peaks = StepBytes { inference: peaks(0), training: peaks(1) };
        Self { parameters, peaks, source: MemorySource::Costs }
    }

    /// Returns the bytes of a step without images: weights, and in training a gradient of the step
    /// before and a momentum for each; and the copies and gradients at the peak. Mixed precision
    /// keeps weights, gradients and momenta in 32 bits.
    pub fn fixed_bytes(&self, mode: Mode, precision: Precision) -> f64 {
        let (peak, share) = self.peak(mode, precision);
        let numbers = if mode == Mode::Training { 3.0 } else { 1.0 };
        share * (numbers * Precision::Fp32.bytes() * self.parameters as f64 + peak.fixed as f64)
    }

    /// Returns the bytes of a step for each image.
    pub fn bytes_per_image(&self, mode: Mode, precision: Precision) -> f64 {
        let (peak, share) = self.peak(mode, precision);
        share * peak.per_image as f64
    }

    /// Returns the peak from which that of a number format follows, and its share of that.
    fn peak(&self, mode: Mode, precision: Precision) -> (PeakBytes, f64) {
        let [full, mixed] = match mode {
            Mode::Training => self.peaks.training,
            Mode::Inference => self.peaks.inference,
        };
        match precision {
            Precision::Mixed | Precision::Bf16 => (mixed, 1.0),
            Precision::Fp32 | Precision::Tf32 | Precision::Fp16 | Precision::Int8 => {
                (full, precision.bytes() / Precision::Fp32.bytes())
            }
        }
    }

    /// Returns the memory with images of a multiple of the pixels.
    pub(crate) fn with_pixels(self, scale: f64) -> Self {
        let scaled = |peaks: [PeakBytes; 2]| {
            peaks.map(|peak| PeakBytes { per_image: (peak.per_image as f64 * scale).round() as u64, ..peak })
        };
        let StepBytes { inference, training } = self.peaks;
        Self { peaks: StepBytes { inference: scaled(inference), training: scaled(training) }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuiltInNetwork;

    fn resnet50() -> BuiltInNetwork {
        BuiltInNetwork::all().into_iter().find(|network| network.costs.name == "resnet50").unwrap()
    }

    #[test]
    fn mixed_precision_keeps_weights_gradients_and_momenta_in_32_bits() {
        let peak = |fixed| PeakBytes { fixed, per_image: 0 };
        let peaks = StepBytes { inference: [0, 20].map(peak), training: [8, 28].map(peak) };
        let memory = StepMemory { parameters: 10, peaks, source: MemorySource::Graph };
        let fixed = |mode, precision| memory.fixed_bytes(mode, precision);
        assert_eq!(
            [Precision::Fp32, Precision::Mixed, Precision::Fp16].map(|it| fixed(Mode::Training, it)),
            [128.0, 148.0, 64.0]
        );
        assert_eq!(
            [Precision::Fp32, Precision::Bf16, Precision::Int8].map(|it| fixed(Mode::Inference, it)),
            [40.0, 60.0, 10.0]
        );
    }

    #[test]
    fn memory_grows_with_the_pixels_training_and_the_width_of_the_format() {
        let of_image = |px, mode, precision| resnet50().memory_at(px).bytes_per_image(mode, precision);
        let usual = of_image(224, Mode::Training, Precision::Fp32);
        assert!(usual > 2.0 * of_image(224, Mode::Inference, Precision::Fp32));
        assert_eq!(of_image(448, Mode::Training, Precision::Fp32), 4.0 * usual);
        assert_eq!(of_image(224, Mode::Training, Precision::Fp16), usual / 2.0);
        // The images and the indices of pools are not halved.
        assert!((0.5..0.6).contains(&(of_image(224, Mode::Training, Precision::Mixed) / usual)));
    }

    #[test]
    fn a_network_without_a_graph_has_the_memory_of_its_activations() {
        for network in BuiltInNetwork::all() {
            let of_costs = StepMemory::of_costs(&network.costs);
            assert!(of_costs.parameters.abs_diff(network.memory.parameters) < 10_000);
            for precision in [Precision::Fp32, Precision::Mixed] {
                let [estimated, known] =
                    [of_costs, network.memory].map(|memory| memory.bytes_per_image(Mode::Training, precision));
                let ratio = estimated / known;
                assert!((0.4..2.5).contains(&ratio), "{} {precision:?}: {ratio}", network.costs.name);
            }
        }
    }
}
