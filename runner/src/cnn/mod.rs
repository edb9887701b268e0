//! The CNNs that the runner knows, and the classifiers of texts beside them. Each is one file here and one line in [`ALL`].

mod convolution;
mod dropout;
mod layers;
mod learning;
mod lstm;
mod normalisation;
mod shapes;
#[cfg(test)]
mod tests;
mod vectorised;
mod weights;

pub mod cnn11;
pub mod inception;
pub mod lenet5;
pub mod mobilenet;
pub mod resnet;
pub mod text;
pub mod vgg;
pub mod xception;

use std::ops::RangeInclusive;

use burn::tensor::{Device, Gradients, Tensor};

pub use self::dropout::seed as seed_dropout;
pub use self::learning::Numbers;
pub use self::shapes::Trace;

/// Every CNN, in the order in which `foreglow models` lists them.
pub const ALL: &[&Architecture] = &[
    &lenet5::LENET5,
    &cnn11::CNN11,
    &vgg::VGG16,
    &resnet::RESNET18,
    &resnet::RESNET50,
    &inception::INCEPTION_V4,
    &xception::XCEPTION,
    &mobilenet::MOBILENET_V2,
    &text::TEXT_CNN,
    &text::TEXT_LSTM,
];

/// What is known of a CNN before it is built.
pub struct Architecture {
    /// Name on the command line and in samples.
    pub name: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What it takes.
    pub input: Input,
    /// What it tells apart.
    pub classes: usize,
    build: fn(Shape, &Device) -> Box<dyn Cnn>,
}

/// What a CNN takes.
pub enum Input {
    /// Square images.
    Images {
        /// Grey or colour.
        colour: Colour,
        /// Side where nobody asks for another, pixels.
        default_px: u32,
        /// Smallest and largest side, pixels.
        px: RangeInclusive<u32>,
    },
    /// Texts of so many words, each word a vector; shorter texts are filled up with zeros.
    Texts {
        /// Words of a text where nobody asks for another number.
        default_words: u32,
        /// Fewest and most words.
        words: RangeInclusive<u32>,
    },
}

/// Channels, height and width of one input. An image is a square; a text has one channel, a row for each word and a column
/// for each number of its vector.
pub type Shape = [usize; 3];

/// Numbers of a word's vector where no file says it: those of the file `glove.6B.200d.txt`.
pub const USUAL_VECTOR_DIMS: usize = 200;

impl Input {
    /// The shape where nobody asks for another.
    pub fn usual(&self) -> Shape {
        match self {
            Self::Images { colour, default_px, .. } => colour.shape(*default_px),
            Self::Texts { default_words, .. } => [1, *default_words as usize, USUAL_VECTOR_DIMS],
        }
    }
}

/// Channels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One channel.
    Grey,
    /// Red, green, blue.
    Rgb,
}

impl Colour {
    /// Channels of the input tensor.
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
        }
    }

    /// The shape of a square image of that side.
    pub fn shape(self, px: u32) -> Shape {
        [self.channels(), px as usize, px as usize]
    }
}

/// A CNN with its weights on a device.
pub trait Cnn: Send {
    /// Scores: inputs `[n, channels, height, width]` to `[n, classes]`.
    fn forward(&self, inputs: Tensor<4>) -> Tensor<2>;

    /// Walks the layers as [`Cnn::forward`] does, on shapes alone.
    fn trace(&self, trace: &mut Trace);

    /// Learned parameters: weights and biases, without the running statistics of batch normalisation.
    fn parameters(&self) -> usize;

    /// Another handle on the same weights, for another thread.
    fn share(&self) -> Box<dyn Cnn>;

    /// The same CNN with weights drawn from a seed: the same on every device and in every process.
    fn seeded(self: Box<Self>, seed: u64) -> Box<dyn Cnn>;

    /// Its numbers, the running statistics as the last forward pass left them.
    fn numbers(&self) -> Numbers;

    /// Takes these numbers, which another handle of the same architecture gave.
    fn take(&mut self, numbers: &Numbers);

    /// Takes the gradients of the learned numbers out of what a backward pass gave, in the order of [`Numbers::learned`].
    fn gradients(&self, all: &mut Gradients) -> Vec<Tensor<1>>;

    /// The same CNN as it answers once it is trained: nothing is dropped, the running statistics normalise.
    fn trained(&self) -> Box<dyn Cnn>;
}

/// Implements [`Cnn`] for a Burn module that has `forward` and `trace`.
macro_rules! burn_cnn {
    ($module:ty) => {
        impl crate::cnn::Cnn for $module {
            fn forward(&self, inputs: burn::tensor::Tensor<4>) -> burn::tensor::Tensor<2> {
                self.forward(inputs)
            }

            fn trace(&self, trace: &mut crate::cnn::Trace) {
                self.trace(trace);
            }

            fn parameters(&self) -> usize {
                crate::cnn::weights::count(self)
            }

            fn share(&self) -> Box<dyn crate::cnn::Cnn> {
                Box::new(self.clone())
            }

            fn seeded(self: Box<Self>, seed: u64) -> Box<dyn crate::cnn::Cnn> {
                Box::new(crate::cnn::weights::draw(*self, seed))
            }

            fn numbers(&self) -> crate::cnn::Numbers {
                crate::cnn::learning::numbers(self)
            }

            fn take(&mut self, numbers: &crate::cnn::Numbers) {
                *self = crate::cnn::learning::with_numbers(self.clone(), numbers);
            }

            fn gradients(&self, all: &mut burn::tensor::Gradients) -> Vec<burn::tensor::Tensor<1>> {
                crate::cnn::learning::gradients(self, all)
            }

            fn trained(&self) -> Box<dyn crate::cnn::Cnn> {
                Box::new(burn::module::Module::valid(self))
            }
        }
    };
}
use burn_cnn;

impl Architecture {
    /// The CNN of that name, whatever its case, and with `-` for `_`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.replace('-', "_");
        ALL.iter().find(|architecture| architecture.name.eq_ignore_ascii_case(&name)).copied()
    }

    /// The names, for a message.
    pub fn names() -> String {
        ALL.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", ")
    }

    /// Builds it for inputs of that shape, with weights drawn from the seed.
    pub fn build(&self, seed: u64, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        (self.build)(shape, device).seeded(seed)
    }

    /// Builds it for numbers that are still to come ([`Cnn::take`]): none is drawn.
    pub fn build_empty(&self, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        (self.build)(shape, device)
    }

    /// Parameters, and multiply-accumulates of one input of that shape.
    pub fn size(&self, shape: Shape, device: &Device) -> Size {
        let cnn = (self.build)(shape, device);
        let mut trace = Trace::new(shape);
        cnn.trace(&mut trace);
        Size { parameters: cnn.parameters(), multiply_accumulates: trace.multiply_accumulates() }
    }
}

/// How big a CNN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Learned numbers.
    pub parameters: usize,
    /// Multiplications with an addition, of convolutions and matrix products, an input.
    pub multiply_accumulates: u64,
}
