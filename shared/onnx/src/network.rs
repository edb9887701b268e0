//! A network as described by its file.

use std::collections::BTreeMap;

use crate::Error;
use crate::node::Node;
use crate::weight::Weight;

/// A decoded network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Program that wrote the file.
    pub producer: String,
    /// Operator set.
    pub opset: i64,
    /// Weights.
    pub weights: Vec<Weight>,
    /// Length of each axis of the input: batch, channels, height, width.
    pub input: Vec<Dimension>,
    /// Whether the file has the channels as the last axis of its input, as TensorFlow has.
    pub is_channels_last: bool,
    pub(crate) input_name: String,
    pub(crate) outputs: Vec<String>,
    pub(crate) nodes: Vec<Node>,
    /// Index of each weight by name.
    pub(crate) weight_places: BTreeMap<String, usize>,
}

/// Length of an axis of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// The file fixes it.
    Fixed(usize),
    /// The file leaves it open; the text is its symbolic name, which may be empty.
    Open(String),
}

impl Network {
    /// Returns channels, height and width, with `px` for a height and a width that the file leaves
    /// open.
    ///
    /// # Errors
    /// The input is not a batch of images, or a length is open.
    pub fn image_shape(&self, px: Option<usize>) -> Result<[usize; 3], Error> {
        let [_, channels, height, width] = self.input.as_slice() else {
            let axes = self.input.len();
            let name = &self.input_name;
            return Err(Error::Input(format!(
                "its input {name} has {axes} axes and not batch, channels, height, width; export it with a batch of \
                 images as its input"
            )));
        };
        let Dimension::Fixed(channels) = channels else {
            return Err(Error::Input(
                "it leaves the channels of its input open; export it with fixed channels".to_owned(),
            ));
        };
        let side = |side: &Dimension, name| match (side, px) {
            (Dimension::Fixed(fixed), _) => Ok(*fixed),
            (Dimension::Open(_), Some(px)) => Ok(px),
            (Dimension::Open(_), None) => {
                Err(Error::Input(format!("it leaves the {name} of its images open; give it with --image-px")))
            }
        };
        Ok([*channels, side(height, "height")?, side(width, "width")?])
    }

    /// Returns a sentence for each property of the file that a user may not expect.
    pub fn remarks(&self) -> Vec<String> {
        let (name, mut remarks) = (&self.input_name, Vec::new());
        if self.is_channels_last {
            remarks.push(format!(
                "its input {name} has the channels last (NHWC), so each image is transposed first; tf2onnx exports it \
                 with channels first by --inputs-as-nchw {name}"
            ));
        }
        if let [first, others @ ..] = self.outputs.as_slice()
            && !others.is_empty()
        {
            let (others, it) = (others.join(", "), if others.len() == 1 { "is" } else { "are" });
            remarks.push(format!("only its first output {first} is computed; {others} {it} left out"));
        }
        remarks
    }

    /// Returns the batch size for which the file was written; `None` if it leaves it open.
    pub fn batch(&self) -> Option<usize> {
        match self.input.first() {
            Some(Dimension::Fixed(batch)) => Some(*batch),
            _ => None,
        }
    }
}
