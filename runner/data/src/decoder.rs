//! Decoder for images and texts.

use super::set::{Item, ItemError};
use crate::{images, texts};

/// Decodes the items of one job. Each thread has its own decoder.
pub enum Decoder {
    /// Decoder of images.
    Image(images::Decoder),
    /// Decoder of texts.
    Text(texts::Decoder),
}

impl Decoder {
    /// Returns the numbers per item.
    pub fn numbers(&self) -> usize {
        match self {
            Self::Image(decoder) => decoder.numbers(),
            Self::Text(decoder) => decoder.numbers(),
        }
    }

    /// Decodes an item and appends its numbers.
    ///
    /// # Errors
    /// The item is broken; nothing is appended.
    pub fn decode(&mut self, item: &Item, numbers: &mut Vec<f32>) -> Result<(), ItemError> {
        match self {
            Self::Image(decoder) => decoder.decode(item, numbers),
            Self::Text(decoder) => decoder.decode(item, numbers),
        }
    }
}
