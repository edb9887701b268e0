//! Costs of a network per image, summed over the layers of each kind.

use serde::{Deserialize, Serialize};

/// Kind of a layer. The sizes of a convolution determine its speed per multiply-accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A convolution.
    Convolution {
        /// Weights of one output from one input channel: 9 for 3×3.
        kernel: u64,
        /// Input and output channels of a group.
        channels: [u64; 2],
        /// Groups of channels.
        groups: u64,
    },
    /// A product with a matrix of weights.
    Linear,
    /// A product of two computed matrices, as in attention.
    Product,
    /// Batch, layer or group normalisation.
    Normalisation,
    /// Softmax.
    Softmax,
    /// Pooling or a mean.
    Pooling,
    /// Concatenation, padding or another copy.
    Copy,
    /// An activation function.
    Activation,
    /// Sums, products and other element-wise operations.
    Arithmetic,
}

/// A layer's costs for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostedLayer {
    /// Kind of the layer.
    pub kind: LayerKind,
    /// Multiply-accumulates.
    pub multiply_accumulates: f64,
    /// Numbers that it reads and writes, without weights.
    pub numbers: f64,
    /// Weights that it reads.
    pub weights: f64,
}

/// Kinds of products by their multiply-accumulates.
pub(super) const PRODUCTS: usize = 15;
/// Kinds of layers by the numbers that they read and write.
pub(super) const TRAFFIC: usize = 12;
pub(super) const WEIGHTS: usize = PRODUCTS + TRAFFIC;
pub(super) const LAUNCHES: usize = WEIGHTS + 1;
pub(super) const INPUT: usize = LAUNCHES + 1;
const COSTS: usize = INPUT + 1;

/// Costs of a network for one image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphCosts([f64; COSTS]);

impl GraphCosts {
    /// Names of the costs. Multiply-accumulates are split by the least number of channels on a
    /// side: up to 32, up to 128, more; those of depthwise convolutions by the side of the kernel;
    /// those of grouped ones by the input channels of a group.
    pub const NAMES: [&'static str; COSTS] = [
        "macs_product",
        "macs_linear",
        "macs_pointwise_32",
        "macs_pointwise_128",
        "macs_pointwise",
        "macs_spatial_32",
        "macs_spatial_128",
        "macs_spatial",
        "macs_depthwise_3",
        "macs_depthwise_5",
        "macs_depthwise",
        "macs_grouped_8",
        "macs_grouped_16",
        "macs_grouped_32",
        "macs_grouped",
        "numbers_product",
        "numbers_linear",
        "numbers_pointwise",
        "numbers_spatial",
        "numbers_depthwise",
        "numbers_grouped",
        "numbers_normalisation",
        "numbers_softmax",
        "numbers_pooling",
        "numbers_copy",
        "numbers_activation",
        "numbers_arithmetic",
        "weights",
        "launches",
        "input",
    ];

    /// Sums the layers of a network whose input has this many numbers.
    pub fn of(layers: impl IntoIterator<Item = CostedLayer>, input: f64) -> Self {
        let mut costs = [0.0; COSTS];
        for layer in layers {
            let (products, traffic) = places(layer.kind);
            if let Some(place) = products {
                costs[place] += layer.multiply_accumulates;
            }
            costs[PRODUCTS + traffic] += layer.numbers;
            costs[WEIGHTS] += layer.weights;
            costs[LAUNCHES] += 1.0;
        }
        costs[INPUT] = input;
        Self(costs)
    }

    /// Takes costs in the order of [`NAMES`](Self::NAMES); `None` if one is not a number of 0 or
    /// more, or the network has no launch or no input.
    pub fn from_values(values: [f64; COSTS]) -> Option<Self> {
        let is_valid = values.iter().all(|value| value.is_finite() && *value >= 0.0);
        (is_valid && values[LAUNCHES] > 0.0 && values[INPUT] > 0.0).then_some(Self(values))
    }

    /// Returns the costs in the order of [`NAMES`](Self::NAMES).
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// Returns all multiply-accumulates.
    pub fn multiply_accumulates(&self) -> f64 {
        self.0[..PRODUCTS].iter().sum()
    }

    /// Returns all numbers that are read and written.
    pub fn numbers(&self) -> f64 {
        self.0[PRODUCTS..WEIGHTS].iter().sum()
    }
}

/// Returns the index of a kind among the products, if it is a product, and in the traffic.
fn places(kind: LayerKind) -> (Option<usize>, usize) {
    let of_three = |value: u64, bounds: [u64; 2]| bounds.iter().filter(|bound| value > **bound).count();
    match kind {
        LayerKind::Product => (Some(0), 0),
        LayerKind::Linear => (Some(1), 1),
        LayerKind::Convolution { kernel, channels: [input, output], groups } => {
            let side = of_three(input.min(output), [32, 128]);
            if groups <= 1 {
                if kernel <= 1 { (Some(2 + side), 2) } else { (Some(5 + side), 3) }
            } else if input <= 1 {
                (Some(8 + of_three(kernel, [9, 25])), 4)
            } else {
                (Some(11 + [8, 16, 32].iter().filter(|bound| input > **bound).count()), 5)
            }
        }
        LayerKind::Normalisation => (None, 6),
        LayerKind::Softmax => (None, 7),
        LayerKind::Pooling => (None, 8),
        LayerKind::Copy => (None, 9),
        LayerKind::Activation => (None, 10),
        LayerKind::Arithmetic => (None, 11),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost_of(kernel: u64, channels: [u64; 2], groups: u64) -> &'static str {
        let kind = LayerKind::Convolution { kernel, channels, groups };
        let layer = CostedLayer { kind, multiply_accumulates: 7.0, numbers: 1.0, weights: 0.0 };
        let costs = GraphCosts::of([layer], 1.0);
        let place = costs.values()[..PRODUCTS].iter().position(|value| *value == 7.0).unwrap();
        GraphCosts::NAMES[place]
    }

    #[test]
    fn convolutions_are_counted_by_what_bounds_their_speed() {
        assert_eq!(cost_of(1, [32, 256], 1), "macs_pointwise_32");
        assert_eq!(cost_of(1, [256, 1024], 1), "macs_pointwise");
        assert_eq!(cost_of(9, [64, 128], 1), "macs_spatial_128");
        assert_eq!(cost_of(9, [1, 1], 64), "macs_depthwise_3");
        assert_eq!(cost_of(49, [1, 1], 96), "macs_depthwise");
        assert_eq!(cost_of(9, [16, 16], 8), "macs_grouped_16");
        assert_eq!(cost_of(9, [64, 64], 4), "macs_grouped");
    }

    #[test]
    fn costs_that_are_no_numbers_are_refused() {
        let mut values = [1.0; GraphCosts::NAMES.len()];
        assert!(GraphCosts::from_values(values).is_some());
        values[3] = f64::NAN;
        assert!(GraphCosts::from_values(values).is_none());
    }
}
