//! What every source of data is: a numbered set, from which any item can be read.

use std::path::PathBuf;

/// A data set whose items, images or texts, have numbers from 0. Numbers are the same on every machine that has the same
/// files, so that a seed draws the same sample everywhere. Any thread may read any item.
pub trait DataSet: Send + Sync {
    /// How many items there are.
    fn len(&self) -> u64;

    /// How many classes the labels tell apart, where the format says it without reading every item.
    fn classes(&self) -> Option<u32>;

    /// The name of the class with that label, where the format has names.
    fn class(&self, label: u32) -> Option<String>;

    /// Where a person finds the item: its file, and its place in it.
    fn name(&self, number: u64) -> String;

    /// Reads the item of that number as it is stored.
    ///
    /// # Errors
    /// It is not there, cannot be read, or its checksum is wrong.
    fn read(&self, number: u64) -> Result<Item, ItemError>;

    /// Tells the system that the item will be read soon, so that the disk works while the CNN does. It is a hint: where the
    /// system does not take it, nothing happens.
    fn expect(&self, number: u64);

    /// The files that hold these items.
    fn files(&self, numbers: &[u64]) -> Vec<PathBuf>;
}

/// An image or a text as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// What they mean.
    pub layout: Layout,
    /// Number of the class, from 0, where the item has one.
    pub label: Option<u32>,
}

/// What the bytes of a stored item mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A whole JPEG or PNG file.
    File,
    /// One byte a pixel, row by row.
    Grey {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// All red bytes, then all green, then all blue ones, row by row.
    Planes {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A text, in any encoding that has ASCII's letters where ASCII has them.
    Text,
}

/// Why an item cannot be used, as the end of a sentence.
#[derive(Debug)]
pub struct ItemError(pub String);

/// The error of a number that the set does not have.
pub fn missing(number: u64, of: u64) -> ItemError {
    ItemError(format!("there is no item {number} among {of}"))
}
