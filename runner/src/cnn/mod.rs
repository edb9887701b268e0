//! The CNNs that the runner knows. A CNN is one file here and one line in [`ALL`].

mod lenet5;
mod resnet;
mod shapes;
mod weights;

use burn::tensor::{Device, Tensor};

pub use self::shapes::Trace;

/// Every CNN, in the order in which `foreglow models` lists them.
pub const ALL: &[&Architecture] = &[&lenet5::LENET5, &resnet::RESNET18];

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
    build: fn(&Device) -> Box<dyn Cnn>,
}

/// The images that a CNN takes.
pub struct Input {
    /// Grey or colour.
    pub colour: Colour,
    /// Side of the square image where nobody asks for another, pixels.
    pub default_px: u32,
    /// Smallest and largest side, pixels.
    pub px: std::ops::RangeInclusive<u32>,
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
}

/// A CNN with its weights on a device.
pub trait Cnn: Send {
    /// Scores: images `[n, channels, px, px]` to `[n, classes]`.
    fn forward(&self, images: Tensor<4>) -> Tensor<2>;

    /// Walks the layers as [`Cnn::forward`] does, on shapes alone.
    fn trace(&self, trace: &mut Trace);

    /// Learned parameters: weights and biases, without the running statistics of batch normalisation.
    fn parameters(&self) -> usize;

    /// Another handle on the same weights, for another thread.
    fn share(&self) -> Box<dyn Cnn>;

    /// The same CNN with weights drawn from a seed: the same on every device and in every process.
    fn seeded(self: Box<Self>, seed: u64) -> Box<dyn Cnn>;
}

/// Implements [`Cnn`] for a Burn module that has `forward` and `trace`.
macro_rules! burn_cnn {
    ($module:ty) => {
        impl crate::cnn::Cnn for $module {
            fn forward(&self, images: burn::tensor::Tensor<4>) -> burn::tensor::Tensor<2> {
                self.forward(images)
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
        }
    };
}
use burn_cnn;

impl Architecture {
    /// The CNN of that name, whatever its case.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|architecture| architecture.name.eq_ignore_ascii_case(name)).copied()
    }

    /// The names, for a message.
    pub fn names() -> String {
        ALL.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", ")
    }

    /// Builds it with weights drawn from the seed.
    pub fn build(&self, seed: u64, device: &Device) -> Box<dyn Cnn> {
        (self.build)(device).seeded(seed)
    }

    /// Parameters, and multiply-accumulates of one image of that side.
    pub fn size(&self, image_px: u32, device: &Device) -> Size {
        let cnn = (self.build)(device);
        let mut trace = Trace::new(self.input.colour.channels(), image_px as usize);
        cnn.trace(&mut trace);
        Size { parameters: cnn.parameters(), multiply_accumulates: trace.multiply_accumulates() }
    }
}

/// How big a CNN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Learned numbers.
    pub parameters: usize,
    /// Multiplications with an addition, of convolutions and matrix products, an image.
    pub multiply_accumulates: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs of a batch, without any regularity that a wrong layout would survive.
    fn batch(architecture: &Architecture, images: usize, px: usize, device: &Device) -> Tensor<4> {
        let channels = architecture.input.colour.channels();
        let values: Vec<f32> =
            (0..images * channels * px * px).map(|i| ((i * 7919) % 1013) as f32 / 506.5 - 1.0).collect();
        Tensor::from_data(burn::tensor::TensorData::new(values, [images, channels, px, px]), device)
    }

    fn scores(cnn: &dyn Cnn, images: Tensor<4>) -> Vec<f32> {
        cnn.forward(images).into_data().try_to_vec::<f32>().unwrap()
    }

    #[test]
    fn every_cnn_scores_each_class_of_each_image_at_its_default_size() {
        let device = Device::flex();
        for architecture in ALL {
            let cnn = architecture.build(1, &device);
            let px = architecture.input.default_px as usize;
            let out = cnn.forward(batch(architecture, 3, px, &device));
            assert_eq!(out.dims(), [3, architecture.classes], "{}", architecture.name);
            let scores = out.into_data().try_to_vec::<f32>().unwrap();
            assert!(scores.iter().all(|score| score.is_finite()), "{}", architecture.name);
            assert!(scores.iter().any(|score| *score != scores[0]), "{}", architecture.name);
        }
    }

    #[test]
    fn the_shapes_that_are_counted_are_the_shapes_that_run() {
        let device = Device::flex();
        for architecture in ALL {
            let px = architecture.input.default_px as usize;
            let cnn = architecture.build(1, &device);
            let mut trace = Trace::new(architecture.input.colour.channels(), px);
            cnn.trace(&mut trace);
            assert_eq!((trace.channels, trace.px), (architecture.classes, 1), "{}", architecture.name);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_scores_and_another_seed_others() {
        let device = Device::flex();
        for architecture in ALL {
            let px = architecture.input.default_px as usize;
            let run = |seed| scores(architecture.build(seed, &device).as_ref(), batch(architecture, 2, px, &device));
            assert_eq!(run(5), run(5), "{}", architecture.name);
            assert_ne!(run(5), run(6), "{}", architecture.name);
        }
    }

    #[test]
    fn an_image_is_scored_alike_alone_and_in_a_batch() {
        let device = Device::flex();
        for architecture in ALL {
            let px = architecture.input.default_px as usize;
            let cnn = architecture.build(1, &device);
            let images = batch(architecture, 3, px, &device);
            let together = scores(cnn.as_ref(), images.clone());
            let alone = scores(cnn.share().as_ref(), images.slice([1..2]));
            let size = together.iter().fold(1.0_f32, |max, score| max.max(score.abs()));
            for (a, b) in together[architecture.classes..2 * architecture.classes].iter().zip(&alone) {
                assert!((a - b).abs() <= 1e-4 * size, "{}: {a} and {b}", architecture.name);
            }
        }
    }

    /// On any graphics adapter, Mesa's software one too: what is checked is that the shaders compute the same.
    #[test]
    fn a_graphics_adapter_scores_as_the_processor_does() {
        let adapters = crate::device::probe();
        let Some(adapter) = adapters.iter().find(|adapter| adapter.place != crate::device::Place::Cpu) else {
            eprintln!("SKIPPED: this machine has no Vulkan adapter; install mesa-vulkan-drivers to run this test");
            return;
        };
        for architecture in ALL {
            let px = 32;
            let scores =
                |device: &Device| scores(architecture.build(1, device).as_ref(), batch(architecture, 2, px, device));
            let (native, graphics) = (scores(&Device::flex()), scores(&adapter.place.open()));
            let size = native.iter().fold(0.0_f32, |max, score| max.max(score.abs()));
            for (a, b) in native.iter().zip(&graphics) {
                assert!((a - b).abs() <= 1e-3 * size, "{} on {}: {a} and {b}", architecture.name, adapter.name);
            }
        }
    }
}
