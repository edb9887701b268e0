//! Operations with all their settings resolved for the shapes of a plan.

use crate::{CumSum, Draw, Resampling};

/// The computation of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Convolution: images, weights `[out, in / groups, height, width]`, optional bias.
    Conv {
        /// Geometry.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Transposed convolution: images, weights `[in, out / groups, height, width]`, optional bias.
    ConvTranspose {
        /// Geometry.
        window: Window,
        /// Groups of channels.
        groups: usize,
        /// Rows and columns added below and to the right of the output.
        extra: [usize; 2],
        /// Rows and columns cut off there.
        crop: [usize; 2],
    },
    /// Batch normalisation: images, scale, bias, running mean, running variance.
    BatchNorm {
        /// Added to the variance.
        epsilon: f64,
        /// Share of the running statistics that a mini-batch keeps.
        momentum: f64,
    },
    /// Normalisation over all axes after the channels: tensor, scale, bias.
    InstanceNorm {
        /// Added to the variance.
        epsilon: f64,
    },
    /// Normalisation over groups of channels: tensor, scale, bias.
    GroupNorm {
        /// Groups of channels.
        groups: usize,
        /// Added to the variance.
        epsilon: f64,
    },
    /// Normalisation over the axes from `axis` on: tensor, scale, optional bias.
    LayerNorm {
        /// First axis.
        axis: usize,
        /// Added to the variance.
        epsilon: f64,
    },
    /// Local response normalisation: division by a power of the mean square of neighbouring
    /// channels.
    ChannelNorm {
        /// Neighbouring channels before and after each channel.
        reach: [usize; 2],
        /// Factor of the sum of squares.
        factor: f32,
        /// Exponent.
        exponent: f32,
        /// Added to the scaled sum.
        bias: f32,
    },
    /// Largest number of each window.
    MaxPool(Window),
    /// Mean of each window.
    AveragePool {
        /// Geometry; the padding includes rows and columns that only the ceiling of the size adds.
        window: Window,
        /// Rows and columns of padding that count as zeros; others are excluded from the mean.
        counted: [usize; 4],
    },
    /// Function of each number.
    Unary(Unary),
    /// Function of two tensors, broadcast.
    Binary(Binary),
    /// Product of matrices, with the transposes of the first two arguments, and a third added.
    Gemm {
        /// Factor of the product.
        alpha: f32,
        /// Factor of the summand.
        beta: f32,
        /// Whether the matrices are transposed.
        transposed: [bool; 2],
    },
    /// Product of matrices in the last two axes.
    MatMul,
    /// Tensors one after the other along an axis.
    Concat(usize),
    /// Parts of a tensor along an axis, of these lengths.
    Split(usize, Vec<usize>),
    /// The same numbers in the shape of the output.
    Reshape,
    /// Copies along axes of length 1.
    Expand,
    /// Axes in another order.
    Transpose(Vec<usize>),
    /// A part of a tensor, one range per axis.
    Slice(Vec<SliceRange>),
    /// Repetitions along each axis.
    Tile(Vec<usize>),
    /// The numbers in another shape, its axes in another order, in the shape of the output.
    Rearrange(Vec<usize>, Vec<usize>),
    /// Numbers of an axis at these places.
    Select(usize, Vec<usize>),
    /// A border: numbers before and after each axis; a negative length cuts them off.
    Pad(Vec<[isize; 2]>, PadMode),
    /// Images of another size, that of the output.
    Resize(ResizeMode, Coordinates),
    /// Images of another size, that of the output, each axis multiplied by a matrix of its own.
    Resample(Resampling),
    /// Reduction of axes.
    Reduce(Reduction, Vec<usize>),
    /// Cumulative sums along an axis.
    CumSum(CumSum),
    /// Softmax over the axes from the first to the last, or its logarithm.
    Softmax {
        /// First axis.
        first: usize,
        /// Last axis.
        last: usize,
        /// Whether the logarithm is taken.
        is_log: bool,
    },
    /// Dropout, scaled in training; the identity in inference.
    Dropout {
        /// Probability that a number becomes zero.
        probability: f64,
        /// Shape of the draws, with the axes of the tensor; draws are broadcast along axes of
        /// length 1.
        mask: Vec<usize>,
    },
    /// Random numbers in training, their mean in inference.
    Random(Draw),
    /// Numbers of the second tensor where the first is not zero, else of the third, broadcast.
    Where,
}

/// Geometry of a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Height and width.
    pub kernel: [usize; 2],
    /// Vertical and horizontal stride.
    pub stride: [usize; 2],
    /// Distance between the elements of the kernel.
    pub dilation: [usize; 2],
    /// Padding: top, left, bottom, right.
    pub padding: [usize; 4],
}

/// Function of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the functions")]
pub enum Unary {
    Relu,
    LeakyRelu(f32),
    Elu(f32),
    Celu(f32),
    Selu(f32, f32),
    Clip(f32, f32),
    Sigmoid,
    HardSigmoid(f32, f32),
    HardSwish,
    Tanh,
    Gelu,
    GeluTanh,
    Erf,
    Mish,
    Softplus,
    Softsign,
    Exp,
    Log,
    Sqrt,
    Reciprocal,
    Abs,
    Neg,
    Floor,
    Ceil,
    Sin,
    Cos,
    Sign,
    Round,
    /// Rounds towards zero.
    Trunc,
    /// 1 for a number other than 0.
    IsNonZero,
    /// 1 for 0, else 0.
    Not,
}

/// Function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the functions")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    /// The first number if it is positive, else the product of both.
    PRelu,
    /// 1 if the comparison holds, else 0; the same for the next comparisons.
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    /// Logical operators on truth values, which are 0 and 1: this one and the next two.
    And,
    Or,
    Xor,
}

/// Part of an axis: from `start`, `len` numbers at a distance of `step`, backwards if it is
/// negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the type says it")]
pub struct SliceRange {
    pub start: usize,
    pub len: usize,
    pub step: isize,
}

/// Numbers of a border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A constant.
    Constant(f32),
    /// The mirror image without the edge.
    Reflect,
    /// The edge.
    Edge,
}

/// Interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeMode {
    /// The nearest pixel; a half is rounded up or not, or the coordinate is rounded down or up.
    Nearest(Rounding),
    /// Between two pixels per axis.
    Linear,
    /// Between four pixels per axis.
    Cubic,
}

/// Rounding of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of ONNX")]
pub enum Rounding {
    HalfDown,
    HalfUp,
    Floor,
    Ceil,
}

/// Position of an output pixel in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// Pixels are areas.
    HalfPixel,
    /// The first and the last pixel stay in their places.
    AlignCorners,
    /// The first pixel stays in its place.
    Asymmetric,
}

/// Reduction of axes to length 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the reductions")]
pub enum Reduction {
    Mean,
    Sum,
    Max,
    Min,
    Prod,
    L1,
    L2,
    SumSquare,
}

impl Operation {
    /// Whether the operation changes only the shape of a tensor and copies nothing.
    pub fn is_view(&self) -> bool {
        matches!(
            self,
            Self::Reshape | Self::Expand | Self::Transpose(_) | Self::Slice(_) | Self::Split(..) | Self::Dropout { .. }
        )
    }
}
