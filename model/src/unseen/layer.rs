//! A layer of a network, and layers that were timed alone.

use serde::{Deserialize, Serialize};

/// A layer with the sizes that determine its time, counted for one image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Its operator, by its name in ONNX.
    pub operator: String,
    /// Sizes of a convolution; `None` for other layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convolution: Option<ConvolutionSizes>,
    /// Multiply-accumulates with weights that reach the image.
    pub multiply_accumulates: f64,
    /// Numbers that it reads, without weights.
    pub inputs: f64,
    /// Numbers that it writes.
    pub outputs: f64,
    /// Channels of its output.
    pub planes: f64,
    /// Weights that it reads.
    pub weights: f64,
}

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvolutionSizes {
    /// Weights of one output from one input channel: 9 for 3×3.
    pub kernel: f64,
    /// Weights of `kernel` that reach the image: for 3×3 on one pixel 1.
    pub useful: f64,
    /// Input and output channels of a group.
    pub channels: [f64; 2],
    /// Groups of channels.
    pub groups: f64,
}

/// A layer that was run alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedLayer {
    /// The layer.
    #[serde(flatten)]
    pub layer: Layer,
    /// Time of a mini-batch, seconds.
    pub secs: f64,
}

/// Layers that were timed on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Images in the mini-batch.
    pub batch_size: u32,
    /// The layers.
    pub layers: Vec<TimedLayer>,
}

impl Layer {
    /// Whether its sizes are valid.
    pub(super) fn is_valid(&self) -> bool {
        let mut sizes = vec![self.multiply_accumulates, self.inputs, self.outputs, self.planes, self.weights];
        let mut least = vec![self.outputs];
        if let Some(sizes) = self.convolution {
            least.extend([sizes.kernel, sizes.useful, sizes.channels[0], sizes.channels[1], sizes.groups]);
        }
        sizes.extend(&least);
        sizes.iter().all(|size| size.is_finite() && *size >= 0.0) && least.iter().all(|size| *size >= 1.0)
    }
}

/// Layers whose times follow the same law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family<'a> {
    /// A convolution with one group, as a product of matrices.
    Convolution,
    /// A convolution of each channel with a kernel of its own.
    Depthwise,
    /// Another convolution with groups.
    Grouped,
    /// A product with a matrix of weights.
    Linear,
    /// Another operator.
    Other(&'a str),
}

/// Operators that substitute others with about the same work per number, if those were not timed.
const LIKE: [(&str, &[&str]); 8] = [
    ("Relu", &["Clip", "Neg", "Abs", "Sqrt", "Reciprocal", "Floor", "Ceil", "Elu", "PRelu", "ThresholdedRelu"]),
    ("HardSwish", &["HardSigmoid", "Softsign"]),
    ("Sigmoid", &["Exp", "Log", "Softplus"]),
    ("Gelu", &["Erf", "Mish", "Selu", "Celu", "Sin", "Cos", "Pow"]),
    ("Mul", &["Sub", "Div", "Min", "Max", "Sum", "Mean"]),
    ("Concat", &["Split", "Slice", "Pad", "Expand", "Gather", "Resize", "Upsample"]),
    ("Transpose", &["DepthToSpace", "SpaceToDepth"]),
    ("LayerNormalization", &["InstanceNormalization", "GroupNormalization", "LRN"]),
];

impl Layer {
    /// Returns the family, and the family to use if the first was not timed.
    pub(super) fn families(&self) -> [Family<'_>; 2] {
        if let Some(ConvolutionSizes { channels, groups, .. }) = self.convolution {
            let family = match (groups > 1.0, channels == [1.0, 1.0]) {
                (false, _) => Family::Convolution,
                (true, true) => Family::Depthwise,
                (true, false) => Family::Grouped,
            };
            return [family, Family::Convolution];
        }
        let own = match self.operator.as_str() {
            "Gemm" | "MatMul" if self.weights > 0.0 => return [Family::Linear; 2],
            "LogSoftmax" => "Softmax",
            name if name.starts_with("Reduce") || name == "GlobalMaxPool" => "GlobalAveragePool",
            name => name,
        };
        let is_like = |(_, others): &&(&str, &[&str])| others.contains(&own);
        let like = LIKE.iter().find(is_like).map_or("Relu", |(operator, _)| operator);
        [Family::Other(own), Family::Other(like)]
    }

    /// Returns the terms of the family's law for a mini-batch. The time is their sum, each
    /// multiplied by a coefficient of the machine.
    pub(super) fn terms(&self, batch: f64) -> Vec<f64> {
        let (inputs, outputs, planes) = (self.inputs * batch, self.outputs * batch, self.planes * batch);
        let products = self.multiply_accumulates * batch;
        let Some(sizes) = self.convolution else {
            return match self.families()[0] {
                Family::Linear => vec![products, self.weights, inputs + outputs, 1.0],
                _ => vec![products + inputs, outputs, planes, 1.0],
            };
        };
        let ConvolutionSizes { kernel, useful, channels: [channels, filters], groups } = sizes;
        let pixels = outputs / (filters * groups);
        if groups > 1.0 && channels == 1.0 && filters == 1.0 {
            return vec![products, inputs, outputs, planes, 1.0];
        }
        let patch = channels * useful;
        if groups > 1.0 {
            return vec![products, groups * patch * pixels, groups * batch, outputs, 1.0];
        }
        // A matrix of `filters × patch` by one of `patch × pixels`. The second is a copy of the
        // input unless each pixel is read once and in order.
        let is_copied = kernel > 1.0 || inputs > 1.01 * channels * pixels;
        let copied = if is_copied { patch * pixels } else { 0.0 };
        let picked = if useful < kernel { self.weights } else { 0.0 };
        vec![products, copied, patch * pixels, filters * patch, filters * pixels, picked, 1.0]
    }

    /// Returns the sizes by which layers of a family are compared, as logarithms.
    pub(super) fn features(&self, batch: f64) -> Vec<f64> {
        let ln = |size: f64| libm::log(size.max(1.0));
        let (inputs, outputs) = (ln(self.inputs * batch), ln(self.outputs * batch));
        let Some(sizes) = self.convolution else {
            return match self.families()[0] {
                Family::Linear => vec![ln(self.weights), ln(self.outputs), ln(batch)],
                _ => vec![inputs, inputs - outputs, ln(self.planes)],
            };
        };
        let ConvolutionSizes { kernel, useful, channels: [channels, filters], groups } = sizes;
        let pixels = ln(self.outputs * batch / (filters * groups));
        if groups > 1.0 {
            return vec![pixels, ln(channels), ln(groups), ln(useful), inputs - outputs];
        }
        let skipped = ln(kernel) - ln(useful);
        vec![pixels, ln(channels * useful), ln(filters), ln(useful), skipped, inputs - ln(channels) - pixels]
    }
}
