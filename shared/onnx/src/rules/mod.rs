//! Rules of the operators: settings and output shapes from attributes and input shapes
//! (<https://onnx.ai/onnx/operators/>).

mod elementwise;
mod layout;
mod normalise;
mod product;
mod windows;

pub use self::elementwise::broadcast;
pub use self::layout::{ranges, squeezed, unsqueezed};

use std::sync::Arc;

use crate::node::Node;
use crate::{Error, Known, Operation};

/// Operators that are only supported for shapes and other known numbers.
const FOLDED: [&str; 8] = ["Constant", "ConstantOfShape", "Shape", "Size", "Range", "Mod", "NonZero", "If"];

/// Operators that make random numbers.
const RANDOM: [&str; 3] = ["RandomUniform", "RandomUniformLike", "Bernoulli"];

/// Resolves a node of an operator.
type Rule = fn(&Call<'_>) -> Result<Ready, Error>;

/// Operators that compute tensors, and the rule of each.
const RULES: &[(&str, Rule)] = &[
    ("Conv", windows::conv),
    ("ConvTranspose", windows::conv_transpose),
    ("MaxPool", windows::max_pool),
    ("AveragePool", windows::average_pool),
    ("GlobalAveragePool", windows::global_pool),
    ("GlobalMaxPool", windows::global_pool),
    ("Resize", windows::resize),
    ("Upsample", windows::resize),
    ("GlobalLpPool", windows::global_pool),
    ("LRN", normalise::across_channels),
    ("BatchNormalization", normalise::batch),
    ("InstanceNormalization", normalise::instance),
    ("GroupNormalization", normalise::group),
    ("LayerNormalization", normalise::layer),
    ("Softmax", normalise::softmax),
    ("LogSoftmax", normalise::softmax),
    ("CumSum", normalise::cumulative_sum),
    ("Gemm", product::gemm),
    ("MatMul", product::matmul),
    ("Concat", layout::concat),
    ("Split", layout::split),
    ("Reshape", layout::reshape),
    ("Flatten", layout::flatten),
    ("Squeeze", layout::squeeze),
    ("Unsqueeze", layout::unsqueeze),
    ("Transpose", layout::transpose),
    ("Expand", layout::expand),
    ("Slice", layout::slice),
    ("Gather", layout::gather),
    ("Pad", layout::pad),
    ("Tile", layout::tile),
    ("DepthToSpace", layout::depth_to_space),
    ("SpaceToDepth", layout::space_to_depth),
    ("Dropout", elementwise::dropout),
    ("Cast", elementwise::cast),
    ("CastLike", elementwise::cast),
    ("Identity", elementwise::cast),
    ("Where", elementwise::choice),
    ("Add", elementwise::binary),
    ("Sub", elementwise::binary),
    ("Mul", elementwise::binary),
    ("Div", elementwise::binary),
    ("Pow", elementwise::binary),
    ("Min", elementwise::binary),
    ("Max", elementwise::binary),
    ("Sum", elementwise::binary),
    ("PRelu", elementwise::binary),
    ("Less", elementwise::binary),
    ("LessOrEqual", elementwise::binary),
    ("Greater", elementwise::binary),
    ("GreaterOrEqual", elementwise::binary),
    ("Equal", elementwise::binary),
    ("And", elementwise::binary),
    ("Or", elementwise::binary),
    ("Xor", elementwise::binary),
    ("Relu", elementwise::unary),
    ("LeakyRelu", elementwise::unary),
    ("Elu", elementwise::unary),
    ("Celu", elementwise::unary),
    ("Selu", elementwise::unary),
    ("Clip", elementwise::unary),
    ("Sigmoid", elementwise::unary),
    ("HardSigmoid", elementwise::unary),
    ("HardSwish", elementwise::unary),
    ("Tanh", elementwise::unary),
    ("Gelu", elementwise::unary),
    ("Erf", elementwise::unary),
    ("Mish", elementwise::unary),
    ("Softplus", elementwise::unary),
    ("Softsign", elementwise::unary),
    ("Exp", elementwise::unary),
    ("Log", elementwise::unary),
    ("Sqrt", elementwise::unary),
    ("Reciprocal", elementwise::unary),
    ("Abs", elementwise::unary),
    ("Neg", elementwise::unary),
    ("Floor", elementwise::unary),
    ("Ceil", elementwise::unary),
    ("Sin", elementwise::unary),
    ("Cos", elementwise::unary),
    ("Sign", elementwise::unary),
    ("Round", elementwise::unary),
    ("Not", elementwise::unary),
    ("ReduceMean", elementwise::reduce),
    ("ReduceSum", elementwise::reduce),
    ("ReduceMax", elementwise::reduce),
    ("ReduceMin", elementwise::reduce),
    ("ReduceProd", elementwise::reduce),
    ("ReduceL1", elementwise::reduce),
    ("ReduceL2", elementwise::reduce),
    ("ReduceSumSquare", elementwise::reduce),
];

/// A node with the known properties of its inputs.
pub struct Call<'a> {
    pub node: &'a Node,
    pub opset: i64,
    /// Shape of each input; empty for an omitted one.
    pub shapes: &'a [Vec<usize>],
    /// Numbers of each input that is known.
    pub known: &'a [Option<Arc<Known>>],
    /// Whether each input is a number computed from the shapes of the plan.
    pub derived: &'a [bool],
    /// Whether each input has the batch of the plan; values computed from weights alone do not.
    pub batched: &'a [bool],
    /// Batch size that the file fixes, and that of the plan.
    pub batches: Option<[usize; 2]>,
}

/// An operation that is ready to run.
pub struct Ready {
    pub operation: Operation,
    /// Places of the inputs that it reads.
    pub arguments: Vec<usize>,
    /// Shapes of its outputs.
    pub shapes: Vec<Vec<usize>>,
}

impl Ready {
    /// An operation of the first `inputs` inputs with one output.
    pub fn new(operation: Operation, inputs: usize, shape: Vec<usize>) -> Self {
        Self { operation, arguments: (0..inputs).collect(), shapes: vec![shape] }
    }
}

/// Returns whether there is a rule for an operator of the standard domain.
pub fn is_supported(operator: &str) -> bool {
    FOLDED.contains(&operator) || RANDOM.contains(&operator) || RULES.iter().any(|(name, _)| *name == operator)
}

/// Returns what to change at the export of a network with an operator that is not supported.
pub fn advice(operator: &str) -> &'static str {
    let begins_with = |starts: &[&str]| starts.iter().any(|start| operator.starts_with(start));
    if begins_with(&[
        "QLinear",
        "Quantize",
        "Dequantize",
        "DynamicQuantize",
        "ConvInteger",
        "MatMulInteger",
        "com.microsoft.Q",
    ]) {
        "export it before its quantisation"
    } else if operator.contains('.') {
        "export it without the optimisations of a runtime, in operators of ONNX alone"
    } else if begins_with(&["Loop", "Scan", "Sequence", "SplitToSequence", "ConcatFromSequence", "Optional"]) {
        "export it for a fixed image size and without control flow"
    } else if begins_with(&[
        "NonMaxSuppression",
        "TopK",
        "ArgMax",
        "ArgMin",
        "RoiAlign",
        "MaxRoiPool",
        "Unique",
        "OneHot",
    ]) {
        "export it without this post-processing, with the scores as its output"
    } else {
        "export it with other layers in their place (docs/guide.md lists the operators)"
    }
}

/// Returns whether the node returns its first input unchanged.
pub fn is_identity(call: &Call<'_>) -> bool {
    match call.node.operator.as_str() {
        "Identity" => true,
        // Half floats are computed in the number format of the device.
        "Cast" => matches!(call.node.attributes.int("to"), Some(1 | 10 | 11 | 16)),
        // A tensor that is cast to integers must be known.
        "CastLike" => call.known.get(1).and_then(Option::as_ref).is_none_or(|like| like.ints().is_none()),
        "Dropout" => call.known(1).ok().flatten().and_then(Known::scalar) == Some(0.0),
        _ => false,
    }
}

/// Resolves the settings and the output shapes of a node.
pub fn resolve(call: &Call<'_>) -> Result<Ready, Error> {
    match RULES.iter().find(|(name, _)| *name == call.node.operator) {
        Some((_, rule)) => rule(call),
        None if call.node.operator == "NonZero" => {
            Err(call
                .wrong("the length of its output depends on the image, and every length must be known before the run"))
        }
        None => Err(call.wrong("it is supported only for shapes and other numbers that are known before the run")),
    }
}

impl Call<'_> {
    /// Returns an error about the node.
    pub fn wrong(&self, why: impl Into<String>) -> Error {
        self.node.wrong(why)
    }

    /// Returns whether an input is given.
    pub fn has(&self, place: usize) -> bool {
        self.node.inputs.get(place).is_some_and(|name| !name.is_empty())
    }

    /// Returns the shape of an input.
    pub fn shape(&self, place: usize) -> Result<&[usize], Error> {
        let missing = || self.wrong(format!("its input {} is missing", place + 1));
        if self.has(place) { self.shapes.get(place).map(Vec::as_slice).ok_or_else(missing) } else { Err(missing()) }
    }

    /// Returns the shape of the first input, which must have no axis of length 0. Sequences of
    /// three axes (batch, channels, length) are images of one row.
    pub fn images(&self) -> Result<[usize; 4], Error> {
        let shape = self.shape(0)?;
        if shape.contains(&0) {
            return Err(self.wrong("its input 1 is empty"));
        }
        match *shape {
            [images, channels, height, width] => Ok([images, channels, height, width]),
            [images, channels, length] => Ok([images, channels, 1, length]),
            _ => Err(self.wrong(format!(
                "its input {shape:?} has {} axes; only batch, channels and one or two more are supported",
                shape.len()
            ))),
        }
    }

    /// Returns a shape of images with the axes of the first input.
    pub fn like_images(&self, [images, channels, height, width]: [usize; 4]) -> Vec<usize> {
        match self.is_sequence() {
            true => vec![images, channels, width],
            false => vec![images, channels, height, width],
        }
    }

    fn is_sequence(&self) -> bool {
        self.shapes.first().is_some_and(|shape| shape.len() == 3)
    }

    /// Returns an input's known numbers; `None` for an omitted input.
    pub fn known(&self, place: usize) -> Result<Option<&Known>, Error> {
        if !self.has(place) {
            return Ok(None);
        }
        let known = self.known.get(place).and_then(Option::as_deref);
        known
            .map(Some)
            .ok_or_else(|| self.wrong(format!("its input {} depends on the image, which is not supported", place + 1)))
    }

    /// Returns an input's known integers; `None` for an omitted input.
    pub fn ints(&self, place: usize) -> Result<Option<&[i64]>, Error> {
        match self.known(place)? {
            None => Ok(None),
            Some(known) => {
                let wrong = || self.wrong(format!("its input {} does not hold integers", place + 1));
                known.ints().map(Some).ok_or_else(wrong)
            }
        }
    }

    /// Returns integers that an attribute holds in old operator sets, and an input in new ones.
    pub fn ints_of(&self, attribute: &str, place: usize) -> Result<Option<&[i64]>, Error> {
        match self.node.attributes.ints(attribute) {
            Some(ints) => Ok(Some(ints)),
            None => self.ints(place),
        }
    }

    /// Returns an axis, which counts from the end if it is negative.
    pub fn axis(&self, axis: i64, axes: usize) -> Result<usize, Error> {
        let from_start = if axis < 0 { axis.checked_add(axes as i64) } else { Some(axis) };
        let axis_in_range = from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < axes);
        axis_in_range.ok_or_else(|| self.wrong(format!("there is no axis {axis} among {axes}")))
    }

    /// Returns the attribute `axis`, or a default.
    pub fn axis_attribute(&self, default: i64, axes: usize) -> Result<usize, Error> {
        self.axis(self.node.attributes.int("axis").unwrap_or(default), axes)
    }

    /// Returns an attribute with one number per vertical and horizontal axis; the vertical one of a
    /// sequence is the default.
    pub fn pair(&self, attribute: &str, default: usize) -> Result<[usize; 2], Error> {
        let wrong = |ints: &[i64]| self.wrong(format!("its {attribute} is {ints:?}"));
        match self.node.attributes.ints(attribute) {
            None => Ok([default; 2]),
            Some(ints) => {
                let small = |int: &i64| usize::try_from(*int).ok().filter(|int| *int < 1 << 16);
                match (ints.iter().map(small).collect::<Option<Vec<_>>>().as_deref(), self.is_sequence()) {
                    (Some([down, across]), false) => Ok([*down, *across]),
                    (Some([along]), true) => Ok([default, *along]),
                    _ => Err(wrong(ints)),
                }
            }
        }
    }

    /// Checks the shape of an input.
    pub fn expect(&self, place: usize, expected: &[usize]) -> Result<(), Error> {
        let shape = self.shape(place)?;
        if shape == expected {
            return Ok(());
        }
        Err(self.wrong(format!("its input {} has the shape {shape:?} and not {expected:?}", place + 1)))
    }
}
