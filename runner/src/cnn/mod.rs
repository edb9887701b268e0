//! The CNNs and text classifiers that the runner knows. Each has one file here and one line in
//! [`ALL`].

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

/// All architectures, in the order in which `foreglow models` lists them.
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

/// Description of a CNN, available before it is built.
pub struct Architecture {
    /// Name on the command line and in samples.
    pub name: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Kind and size of the inputs.
    pub input: Input,
    /// Number of classes.
    pub classes: usize,
    build: fn(Shape, &Device) -> Box<dyn Cnn>,
}

/// Kind and size of a CNN's inputs.
pub enum Input {
    /// Square images.
    Images {
        /// Greyscale or colour.
        colour: Colour,
        /// Default side, pixels.
        default_px: u32,
        /// Smallest and largest side, pixels.
        px: RangeInclusive<u32>,
    },
    /// Texts of a fixed number of words, each a word vector; shorter texts are padded with zeros.
    Texts {
        /// Default number of words.
        default_words: u32,
        /// Smallest and largest number of words.
        words: RangeInclusive<u32>,
    },
}

/// Channels, height and width of one input. Images are square; a text has one channel, one row per
/// word and one column per component of the word vector.
pub type Shape = [usize; 3];

/// Default dimensions of a word vector: those of `glove.6B.200d.txt`.
pub const USUAL_VECTOR_DIMS: usize = 200;

impl Input {
    /// Returns the default shape.
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
    /// Red, green and blue.
    Rgb,
}

impl Colour {
    /// Returns the number of channels.
    pub fn channels(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
        }
    }

    /// Returns the shape of a square image with this side.
    pub fn shape(self, px: u32) -> Shape {
        [self.channels(), px as usize, px as usize]
    }
}

/// A CNN with its weights on a device.
pub trait Cnn: Send {
    /// Returns the class scores: inputs `[n, channels, height, width]` to `[n, classes]`.
    fn forward(&self, inputs: Tensor<4>) -> Tensor<2>;

    /// Walks through the layers as [`Cnn::forward`] does, on shapes only.
    fn trace(&self, trace: &mut Trace);

    /// Returns the number of learned parameters: weights and biases, without the running statistics
    /// of batch normalisation.
    fn parameters(&self) -> usize;

    /// Returns another handle to the same weights, for another thread.
    fn share(&self) -> Box<dyn Cnn>;

    /// Returns the same CNN with weights drawn from a seed, identical on every device and in every
    /// process.
    fn seeded(self: Box<Self>, seed: u64) -> Box<dyn Cnn>;

    /// Returns the parameters, with the running statistics of the last forward pass.
    fn numbers(&self) -> Numbers;

    /// Sets the parameters, which must come from the same architecture.
    fn take(&mut self, numbers: &Numbers);

    /// Takes the gradients of the learned parameters from a backward pass, in the order of
    /// [`Numbers::learned`].
    fn gradients(&self, all: &mut Gradients) -> Vec<Tensor<1>>;

    /// Returns the CNN in inference mode: no dropout, and normalisation with the running
    /// statistics.
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
    /// Looks up an architecture by name, case-insensitively; `-` is accepted for `_`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.replace('-', "_");
        ALL.iter().find(|architecture| architecture.name.eq_ignore_ascii_case(&name)).copied()
    }

    /// Returns all names, for an error message.
    pub fn names() -> String {
        ALL.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", ")
    }

    /// Builds the CNN for inputs of this shape, with weights drawn from the seed.
    pub fn build(&self, seed: u64, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        (self.build)(shape, device).seeded(seed)
    }

    /// Builds the CNN without drawing weights, for parameters set later by [`Cnn::take`].
    pub fn build_empty(&self, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        (self.build)(shape, device)
    }

    /// Returns the number of parameters, and the multiply-accumulates for one input of this shape.
    pub fn size(&self, shape: Shape, device: &Device) -> Size {
        let cnn = (self.build)(shape, device);
        let mut trace = Trace::new(shape);
        cnn.trace(&mut trace);
        Size { parameters: cnn.parameters(), multiply_accumulates: trace.multiply_accumulates() }
    }
}

/// Size of a CNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Learned parameters.
    pub parameters: usize,
    /// Multiply-accumulates of convolutions and matrix products, per input.
    pub multiply_accumulates: u64,
}
