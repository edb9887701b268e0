//! Descriptions of the built-in CNNs and text classifiers: names, inputs and classes.
//!
//! `foreglow-cnn` builds them. Crates that only name a CNN or check its input depend on this crate
//! instead, so that they do not compile Burn.

mod input;
mod registry;

pub use self::input::{Colour, Input, Shape, USUAL_VECTOR_DIMS};
pub use self::registry::{
    ALL, CNN11, INCEPTION_V4, LENET5, MOBILENET_V2, RESNET18, RESNET20_CIFAR, RESNET50, TEXT_CNN, TEXT_LSTM, VGG16,
    VGG16_CIFAR, XCEPTION,
};

/// Description of a CNN, available before it is built.
#[derive(Clone, Debug)]
pub struct Architecture {
    /// Name on the command line and in samples.
    pub name: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Kind and size of the inputs.
    pub input: Input,
    /// Number of classes, which users may change.
    pub classes: usize,
    /// Learned parameters for the usual input and number of classes.
    pub parameters: usize,
    /// Multiply-accumulates of convolutions and matrix products for one such input.
    pub multiply_accumulates: u64,
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ignore_case_and_accept_hyphens() {
        for name in ["text_cnn", "text-cnn", "Text-CNN"] {
            assert_eq!(Architecture::named(name).map(|architecture| architecture.name), Some("text_cnn"));
        }
        assert!(Architecture::named("alexnet").is_none());
    }
}
