//! From a stored item to the numbers that a CNN takes.

use super::{Item, ItemError};
use crate::{images, texts};

/// Decodes the items of one job. Each thread has its own.
pub enum Decoder {
    /// An image.
    Image(images::Decoder),
    /// A text.
    Text(texts::Decoder),
}

impl Decoder {
    /// Numbers of one item.
    pub fn numbers(&self) -> usize {
        match self {
            Self::Image(decoder) => decoder.numbers(),
            Self::Text(decoder) => decoder.numbers(),
        }
    }

    /// Decodes an item and appends its numbers.
    ///
    /// # Errors
    /// The item is broken, and nothing is appended.
    pub fn decode(&mut self, item: &Item, numbers: &mut Vec<f32>) -> Result<(), ItemError> {
        match self {
            Self::Image(decoder) => decoder.decode(item, numbers),
            Self::Text(decoder) => decoder.decode(item, numbers),
        }
    }
}
