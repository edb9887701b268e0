//! Kinds and sizes of a CNN's inputs.

use std::ops::RangeInclusive;

/// Kind and size of a CNN's inputs.
#[derive(Clone, Debug)]
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
