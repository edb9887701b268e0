//! Decoder for images and texts.

use super::set::{Item, ItemError};
use crate::{images, texts};

/// Decodes the items of one job. Each thread has its own decoder.
pub enum Decoder {
    /// Decoder of images for the CPU: normalised numbers.
    Image(images::Decoder),
    /// Decoder of images for a graphics device, which normalises them: a byte per value.
    ImageBytes(images::Decoder),
    /// Decoder of texts.
    Text(texts::Decoder),
}

/// Decoded items, concatenated, in the form in which they are copied to the device.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// Normalised numbers.
    Numbers(Vec<f32>),
    /// Values of the colour planes, one byte each, a quarter of the size of the numbers.
    Bytes(Vec<u8>),
}

impl Decoder {
    /// Returns the numbers per item.
    pub fn numbers(&self) -> usize {
        match self {
            Self::Image(decoder) | Self::ImageBytes(decoder) => decoder.numbers(),
            Self::Text(decoder) => decoder.numbers(),
        }
    }

    /// Returns an empty buffer with capacity for this number of items.
    pub fn room(&self, items: usize) -> Decoded {
        let room = items * self.numbers();
        match self {
            Self::ImageBytes(_) => Decoded::Bytes(Vec::with_capacity(room)),
            Self::Image(_) | Self::Text(_) => Decoded::Numbers(Vec::with_capacity(room)),
        }
    }

    /// Decodes an item and appends it.
    ///
    /// # Errors
    /// The item is broken, or `decoded` is of another decoder; nothing is appended.
    pub fn decode(&mut self, item: &Item, decoded: &mut Decoded) -> Result<(), ItemError> {
        match (self, decoded) {
            (Self::Image(decoder), Decoded::Numbers(numbers)) => decoder.decode(item, numbers),
            (Self::ImageBytes(decoder), Decoded::Bytes(bytes)) => decoder.decode_bytes(item, bytes),
            (Self::Text(decoder), Decoded::Numbers(numbers)) => decoder.decode(item, numbers),
            _ => Err(ItemError("it was decoded for another device".into())),
        }
    }
}

impl Decoded {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether it holds no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all values from this position on.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Numbers(numbers) => numbers.truncate(len),
            Self::Bytes(bytes) => bytes.truncate(len),
        }
    }

    /// Appends items decoded by the same kind of decoder.
    pub fn append(&mut self, other: &Self) {
        match (self, other) {
            (Self::Numbers(numbers), Self::Numbers(others)) => numbers.extend(others),
            (Self::Bytes(bytes), Self::Bytes(others)) => bytes.extend(others),
            (Self::Numbers(_), Self::Bytes(_)) | (Self::Bytes(_), Self::Numbers(_)) => {
                unreachable!("all decoders of a job are for the same device")
            }
        }
    }
}
