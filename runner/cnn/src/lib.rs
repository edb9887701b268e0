//! The CNNs and text classifiers that `foreglow-architectures` describes, on the CPU and on GPUs.
//! Each has one file here and one line in `BUILDERS`.

mod activation;
mod answer;
mod convolution;
mod dropout;
mod geometry;
#[cfg(feature = "gpu")]
mod graphics;
#[cfg(not(feature = "gpu"))]
#[path = "no_graphics.rs"]
mod graphics;
mod layers;
mod learning;
mod lstm;
mod network;
mod normalisation;
mod onnx;
mod predictions;
mod probe;
mod shapes;
mod tensor_names;
#[cfg(test)]
mod tests;
mod vectorised;
mod weights;
mod weights_file;

pub mod cnn11;
pub mod device;
pub mod inception;
pub mod lenet5;
pub mod mobilenet;
pub mod resnet;
pub mod resnet_cifar;
pub mod text;
pub mod vgg;
pub mod vgg_cifar;
pub mod xception;

use burn::tensor::{Device, Gradients, Tensor};
use foreglow_architectures::{Architecture, Shape};

pub use self::answer::Answer;
pub use self::dropout::seed as seed_dropout;
pub use self::graphics::{adam_step, normalise_bytes, sgd_step};
pub use self::learning::{AdamStep, StateDict};
pub use self::network::Network;
pub use self::onnx::OnnxFile;
pub use self::predictions::Predictions;
pub use self::probe::{Probe, ProbeLayer, typical};
pub use self::shapes::Trace;
pub use self::weights::Parameter;
pub use foreglow_onnx::{Convolution, Costs, LayerCost};

/// Creates a CNN with this number of classes and Burn's initial weights.
type Builder = fn(Shape, usize, &Device) -> Box<dyn Cnn>;

/// The builder of each architecture.
const BUILDERS: [(&Architecture, Builder); 12] = [
    (&foreglow_architectures::LENET5, |_, classes, device| Box::new(lenet5::LeNet5::new(classes, device))),
    (&foreglow_architectures::CNN11, |_, classes, device| Box::new(cnn11::Cnn11::new(classes, device))),
    (&foreglow_architectures::VGG16, |_, classes, device| Box::new(vgg::Vgg16::new(classes, device))),
    (&foreglow_architectures::RESNET18, |_, classes, device| Box::new(resnet::ResNet::resnet18(classes, device))),
    (&foreglow_architectures::RESNET50, |_, classes, device| Box::new(resnet::ResNet::resnet50(classes, device))),
    (&foreglow_architectures::INCEPTION_V4, |_, classes, device| {
        Box::new(inception::InceptionV4::new(classes, device))
    }),
    (&foreglow_architectures::XCEPTION, |_, classes, device| Box::new(xception::Xception::new(classes, device))),
    (&foreglow_architectures::MOBILENET_V2, |_, classes, device| {
        Box::new(mobilenet::MobileNetV2::new(classes, device))
    }),
    (&foreglow_architectures::RESNET20_CIFAR, |_, classes, device| {
        Box::new(resnet_cifar::ResNet20::new(classes, device))
    }),
    (&foreglow_architectures::VGG16_CIFAR, |_, classes, device| Box::new(vgg_cifar::VggCifar::new(classes, device))),
    (&foreglow_architectures::TEXT_CNN, |shape, classes, device| Box::new(text::TextCnn::new(shape, classes, device))),
    (&foreglow_architectures::TEXT_LSTM, |shape, classes, device| {
        Box::new(text::TextLstm::new(shape, classes, device))
    }),
];

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
    fn numbers(&self) -> StateDict;

    /// Sets the parameters, which must come from the same architecture.
    fn take(&mut self, numbers: &StateDict);

    /// Takes the gradients of the learned parameters from a backward pass, in the order of
    /// [`StateDict::learned`].
    fn gradients(&self, all: &mut Gradients) -> Vec<Tensor<1>>;

    /// Returns the parameters' places in the CNN: the learned ones in the order of
    /// [`StateDict::learned`], then the running statistics.
    fn layout(&self) -> Vec<Parameter>;

    /// Returns the CNN in inference mode: no dropout, and normalisation with the running
    /// statistics.
    fn trained(&self) -> Box<dyn Cnn>;
}

/// Implements [`Cnn`] for a Burn module that has `forward` and `trace`.
macro_rules! burn_cnn {
    ($module:ty) => {
        impl crate::Cnn for $module {
            fn forward(&self, inputs: burn::tensor::Tensor<4>) -> burn::tensor::Tensor<2> {
                self.forward(inputs)
            }

            fn trace(&self, trace: &mut crate::Trace) {
                self.trace(trace);
            }

            fn parameters(&self) -> usize {
                crate::weights::count(self)
            }

            fn share(&self) -> Box<dyn crate::Cnn> {
                Box::new(self.clone())
            }

            fn seeded(self: Box<Self>, seed: u64) -> Box<dyn crate::Cnn> {
                Box::new(crate::weights::draw(*self, seed))
            }

            fn numbers(&self) -> crate::StateDict {
                crate::learning::numbers(self)
            }

            fn take(&mut self, numbers: &crate::StateDict) {
                *self = crate::learning::with_numbers(self.clone(), numbers);
            }

            fn gradients(&self, all: &mut burn::tensor::Gradients) -> Vec<burn::tensor::Tensor<1>> {
                crate::learning::gradients(self, all)
            }

            fn layout(&self) -> Vec<crate::weights::Parameter> {
                crate::weights::layout(self)
            }

            fn trained(&self) -> Box<dyn crate::Cnn> {
                Box::new(burn::module::Module::valid(self))
            }
        }
    };
}
use burn_cnn;

/// Building the CNN of an architecture.
pub trait Build {
    /// Builds the CNN for inputs of this shape, with weights drawn from the seed.
    fn build(&self, seed: u64, shape: Shape, device: &Device) -> Box<dyn Cnn>;

    /// Builds the CNN without drawing weights, for parameters set later by [`Cnn::take`].
    fn build_empty(&self, shape: Shape, device: &Device) -> Box<dyn Cnn>;

    /// Returns the number of parameters, and the multiply-accumulates for one input of this shape.
    fn size(&self, shape: Shape) -> Size;
}

impl Build for Architecture {
    fn build(&self, seed: u64, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        self.build_empty(shape, device).seeded(seed)
    }

    fn build_empty(&self, shape: Shape, device: &Device) -> Box<dyn Cnn> {
        let (_, build) = BUILDERS
            .iter()
            .find(|(architecture, _)| architecture.name == self.name)
            .expect("every architecture has a builder, as a test checks");
        build(shape, self.classes, device)
    }

    fn size(&self, shape: Shape) -> Size {
        let cnn = self.build_empty(shape, &Device::flex());
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
