//! Measurements: a network on a GPU, with a number format and software.

use foreglow_shared::Mode;

/// The number format of most operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 32-bit floating point.
    Fp32,
    /// 32-bit numbers, multiplied with 10 bits of mantissa.
    Tf32,
    /// Mixed precision: 16-bit operations chosen by the framework.
    Mixed,
    /// 16-bit floating point throughout.
    Fp16,
    /// 8-bit integers.
    Int8,
    /// Mixed precision with bfloat16, as fast as with fp16 on GPUs that have units for it.
    Bf16,
}

impl Precision {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Fp32, Self::Tf32, Self::Mixed, Self::Fp16, Self::Int8, Self::Bf16];

    /// Returns the name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Mixed => "amp",
            Self::Fp16 => "fp16",
            Self::Int8 => "int8",
            Self::Bf16 => "bf16",
        }
    }

    /// Returns the format with this name, or with one that other programs use for it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "f32" => Some(Self::Fp32),
            "f16" => Some(Self::Fp16),
            _ => Self::ALL.into_iter().find(|format| format.name() == name),
        }
    }

    /// Returns the format of the measurements that tell its speed.
    pub fn measured(self) -> Self {
        if self == Self::Bf16 { Self::Mixed } else { self }
    }

    /// Returns the size of a number, bytes.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp32 | Self::Tf32 => 4.0,
            Self::Mixed | Self::Fp16 | Self::Bf16 => 2.0,
            Self::Int8 => 1.0,
        }
    }
}

/// How much work went into the speed of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SoftwareKind {
    /// Ordinary code of a framework.
    Plain,
    /// A vendor's or framework's own example, with its fast data loader or compiler.
    Example,
    /// Tuned for a benchmark.
    Tuned,
}

impl SoftwareKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Example, Self::Tuned];

    /// Returns the name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Example => "example",
            Self::Tuned => "tuned",
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A network by the costs of its graph for one image.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkCosts {
    /// Name, such as `resnet50`.
    pub name: String,
    /// Networks of one family differ in depth, width or details.
    pub family: String,
    /// Whether it consists of convolutions; false for transformers and other networks.
    pub is_convolutional: bool,
    /// Side of the square image, pixels.
    pub image_px: u32,
    /// Parameters, millions.
    pub parameters_m: f64,
    /// Multiply-accumulates, billions.
    pub gmacs: f64,
    /// Outputs of the convolutions and matrix products, millions.
    pub activations_m: f64,
}

/// The sums over the layers of a graph for one image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphSums {
    /// Learned numbers.
    pub parameters: u64,
    /// Multiply-accumulates of all layers.
    pub multiply_accumulates: u64,
    /// Multiply-accumulates of convolutions.
    pub convolved: u64,
    /// Outputs of the layers that multiply.
    pub activations: u64,
}

impl GraphSums {
    /// Adds a layer: its multiply-accumulates, its outputs, and whether it is a convolution.
    pub fn add(&mut self, multiply_accumulates: u64, outputs: u64, is_convolution: bool) {
        self.multiply_accumulates += multiply_accumulates;
        if multiply_accumulates > 0 {
            self.activations += outputs;
        }
        if is_convolution {
            self.convolved += multiply_accumulates;
        }
    }
}

impl NetworkCosts {
    /// Returns the costs of a graph that no table has.
    pub fn of_graph(name: &str, image_px: u32, sums: GraphSums) -> Self {
        let in_units = |count: u64, unit: f64| (count as f64).max(1.0) / unit;
        Self {
            name: name.to_owned(),
            family: String::new(),
            is_convolutional: 2 * sums.convolved >= sums.multiply_accumulates,
            image_px,
            parameters_m: in_units(sums.parameters, 1e6),
            gmacs: in_units(sums.multiply_accumulates, 1e9),
            activations_m: in_units(sums.activations, 1e6),
        }
    }

    /// Returns the costs at another image size: those of convolutions grow with the pixels.
    pub fn at(&self, image_px: u32) -> Self {
        let scale = crate::squared(f64::from(image_px) / f64::from(self.image_px));
        let round = |number: f64| (number * 1e4).round() / 1e4;
        Self {
            image_px,
            gmacs: round(self.gmacs * scale),
            activations_m: round(self.activations_m * scale),
            ..self.clone()
        }
    }
}

/// The conditions of a measurement, or of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Index of the network.
    pub network: usize,
    /// Index of the GPU.
    pub gpu: usize,
    /// Training or inference.
    pub mode: Mode,
    /// Number format.
    pub format: Precision,
    /// GPUs on all machines together.
    pub gpus: u32,
    /// Machines.
    pub nodes: u32,
    /// Images of a step on one GPU; `None` if unknown, which is taken as the largest that fits.
    pub batch: Option<u32>,
}

/// A published speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Index of the source.
    pub source: usize,
    /// The software of the source: framework, compiler and memory layout.
    pub stack: String,
    /// Month or year of the measurement.
    pub date: String,
    /// The conditions.
    pub conditions: Conditions,
    /// Images per second on all GPUs together.
    pub images_per_sec: f64,
    /// Whether every fit has the row; otherwise only fits for questions about its network.
    pub is_base: bool,
}

/// Who published measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Short name.
    pub name: String,
    /// Kind of the software.
    pub kind: SoftwareKind,
    /// Licence of the figures.
    pub licence: String,
    /// Address, with the commit.
    pub address: String,
}
