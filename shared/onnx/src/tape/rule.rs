//! What an operation does with the memory of a step.

use crate::{Binary, Operation, Reduction, Unary};

/// How an operation uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) format: Format,
    pub(super) keeps: Keeps,
    pub(super) result: Place,
    pub(super) gradient: Gradient,
    /// Bytes kept besides for each number of the result: masks, and indices of 64 bits.
    pub(super) kept_bytes: u64,
    /// Whether operands with permuted axes are copied.
    pub(super) copies_permuted: bool,
}

/// Number format under automatic mixed precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// 16 bits; other operands are converted.
    Half,
    /// 32 bits; other operands are converted.
    Full,
    /// The widest of the operands.
    Widest,
}

/// What the backward pass needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    /// All operands.
    Operands,
    /// Each operand that another one with a gradient is multiplied by.
    Factors,
    Result,
    Both,
}

/// Where the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    New,
    /// In the first operand, unless something else needs that.
    Operand,
    /// The first operand seen in another way.
    View,
}

/// How the gradient of an operand is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gradient {
    New,
    /// The gradient of the result, or a view of it.
    Passed,
    /// A part of one gradient of the whole operand.
    Part,
}

impl Rule {
    const PLAIN: Self = Self {
        format: Format::Widest,
        keeps: Keeps::Nothing,
        result: Place::New,
        gradient: Gradient::New,
        kept_bytes: 0,
        copies_permuted: false,
    };
    /// Convolutions and products of matrices.
    pub const PRODUCT: Self = Self { format: Format::Half, keeps: Keeps::Operands, ..Self::PLAIN };
    /// Batch normalisation.
    pub const BATCH_NORM: Self = Self { keeps: Keeps::Operands, ..Self::PLAIN };
    /// Normalisation of each image by itself.
    pub const LAYER_NORM: Self = Self { format: Format::Full, ..Self::BATCH_NORM };
    /// An activation function whose derivative follows from its result, such as ReLU.
    pub const ACTIVATION: Self = Self { keeps: Keeps::Result, result: Place::Operand, ..Self::PLAIN };
    /// A function whose derivative follows from its argument, such as SiLU.
    pub const FUNCTION: Self = Self { keeps: Keeps::Operands, ..Self::PLAIN };
    /// Max-pool, which keeps the indices of the largest numbers.
    pub const MAX_POOL: Self = Self { keeps: Keeps::Operands, kept_bytes: 8, ..Self::PLAIN };
    /// Average pool.
    pub const AVERAGE_POOL: Self = Self { keeps: Keeps::Operands, ..Self::PLAIN };
    /// Mean of all pixels, and other operations whose derivative needs no numbers.
    pub const MEAN: Self = Self::PLAIN;
    /// Sum of tensors.
    pub const SUM: Self = Self { gradient: Gradient::Passed, ..Self::PLAIN };
    /// Bias of a product, which is part of it.
    pub const BIAS: Self = Self { result: Place::Operand, format: Format::Half, ..Self::SUM };
    /// Concatenation.
    pub const CONCAT: Self = Self::SUM;
    /// The same numbers in another shape.
    pub const VIEW: Self = Self { result: Place::View, ..Self::SUM };
    const PART: Self = Self { result: Place::View, gradient: Gradient::Part, ..Self::PLAIN };
    const FACTORS: Self = Self { keeps: Keeps::Factors, ..Self::PLAIN };
    const EXPONENTIAL: Self = Self { format: Format::Full, keeps: Keeps::Result, ..Self::PLAIN };
    const POWER: Self = Self { format: Format::Full, keeps: Keeps::Operands, ..Self::PLAIN };
    const TOTAL: Self = Self { format: Format::Full, ..Self::PLAIN };
    /// Squares, their sums over neighbours, and the power of these.
    const CHANNEL_NORM: Self = Self { kept_bytes: 16, ..Self::POWER };

    /// Returns the rule of an operation with a result of this many numbers.
    pub(super) fn of(operation: &Operation, numbers: u64) -> Self {
        match operation {
            Operation::Conv { .. } | Operation::ConvTranspose { .. } | Operation::Gemm { .. } => Self::PRODUCT,
            Operation::MatMul => Self { copies_permuted: true, ..Self::PRODUCT },
            Operation::BatchNorm { .. } | Operation::InstanceNorm { .. } => Self::BATCH_NORM,
            Operation::GroupNorm { .. } | Operation::LayerNorm { .. } => Self::LAYER_NORM,
            Operation::ChannelNorm { .. } => Self::CHANNEL_NORM,
            Operation::MaxPool(_) => Self::MAX_POOL,
            Operation::AveragePool { .. } => Self::AVERAGE_POOL,
            Operation::Unary(unary) => Self::of_unary(*unary),
            Operation::Binary(binary) => Self::of_binary(*binary),
            Operation::Softmax { .. } => Self::EXPONENTIAL,
            Operation::Concat(_) => Self::CONCAT,
            Operation::Reshape | Operation::Transpose(_) => Self::VIEW,
            Operation::Expand => Self { gradient: Gradient::New, ..Self::VIEW },
            Operation::Slice(_) | Operation::Split(..) => Self::PART,
            Operation::Dropout { probability, mask } => Self::of_dropout(*probability, mask, numbers),
            Operation::Where => Self { kept_bytes: 1, ..Self::PLAIN },
            Operation::Reduce(reduction, _) => Self::of_reduction(*reduction),
            Operation::Rearrange(..)
            | Operation::Tile(_)
            | Operation::Select(..)
            | Operation::Pad(..)
            | Operation::Resize(..)
            | Operation::Resample(_)
            | Operation::CumSum(_)
            | Operation::Random(_) => Self::PLAIN,
        }
    }

    fn of_unary(unary: Unary) -> Self {
        match unary {
            Unary::Relu
            | Unary::LeakyRelu(_)
            | Unary::Elu(_)
            | Unary::Celu(_)
            | Unary::Selu(..)
            | Unary::Sigmoid
            | Unary::Tanh
            | Unary::Sqrt => Self::ACTIVATION,
            Unary::Exp | Unary::Reciprocal => Self::EXPONENTIAL,
            Unary::Log | Unary::Softplus => Self::POWER,
            Unary::Clip(..)
            | Unary::HardSigmoid(..)
            | Unary::HardSwish
            | Unary::Gelu
            | Unary::GeluTanh
            | Unary::Erf
            | Unary::Mish
            | Unary::Softsign
            | Unary::Abs
            | Unary::Sin
            | Unary::Cos => Self::FUNCTION,
            Unary::Neg
            | Unary::Floor
            | Unary::Ceil
            | Unary::Sign
            | Unary::Round
            | Unary::Trunc
            | Unary::IsNonZero
            | Unary::Not => Self::PLAIN,
        }
    }

    fn of_binary(binary: Binary) -> Self {
        match binary {
            Binary::Add | Binary::Sub => Self::SUM,
            Binary::Mul => Self::FACTORS,
            Binary::Div | Binary::Min | Binary::Max => Self::FUNCTION,
            Binary::Pow => Self::POWER,
            Binary::PRelu => Self::PRODUCT,
            Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::Equal
            | Binary::And
            | Binary::Or
            | Binary::Xor => Self::PLAIN,
        }
    }

    fn of_reduction(reduction: Reduction) -> Self {
        match reduction {
            Reduction::Mean => Self::MEAN,
            Reduction::Sum => Self::TOTAL,
            Reduction::Max | Reduction::Min => Self { keeps: Keeps::Both, ..Self::PLAIN },
            Reduction::L1 | Reduction::L2 | Reduction::Prod | Reduction::SumSquare => {
                Self { keeps: Keeps::Both, ..Self::POWER }
            }
        }
    }

    /// One draw for each number is kept as a byte; draws for whole images are few.
    fn of_dropout(probability: f64, mask: &[usize], numbers: u64) -> Self {
        if probability == 0.0 {
            return Self::VIEW;
        }
        let draws = mask.iter().fold(1, |product: u64, dim| product.saturating_mul(*dim as u64));
        Self { kept_bytes: u64::from(draws >= numbers), ..Self::PLAIN }
    }
}
