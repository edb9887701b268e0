//! Data sets: numbered items with random access.

use std::path::PathBuf;

/// A data set whose items, images or texts, are numbered from 0. The numbers are the same on every
/// machine with the same files, so that a seed draws the same sample everywhere. Any thread may
/// read any item.
#[expect(clippy::len_without_is_empty, reason = "an empty data set is rejected when it is opened")]
pub trait DataSet: Send + Sync {
    /// Returns the number of items.
    fn len(&self) -> u64;

    /// Returns the names of the classes by label; empty if the format has none.
    fn class_names(&self) -> &[String] {
        &[]
    }

    /// Returns the number of classes, if it is known without reading every item.
    fn classes(&self) -> Option<u32> {
        u32::try_from(self.class_names().len()).ok().filter(|classes| *classes > 0)
    }

    /// Returns the name of the class with this label, if the format has names.
    fn class(&self, label: u32) -> Option<String> {
        self.class_names().get(label as usize).cloned()
    }

    /// Returns the location of an item for messages: its file, and its position in it.
    fn name(&self, number: u64) -> String;

    /// Reads an item as stored.
    ///
    /// # Errors
    /// The item does not exist, cannot be read, or its checksum is wrong.
    fn read(&self, number: u64) -> Result<Item, ItemError>;

    /// Advises the system that an item will be read soon, so that the disk works in parallel with
    /// the CNN. This is a hint that some systems ignore.
    fn expect(&self, number: u64);

    /// Returns the files that hold these items.
    fn files(&self, numbers: &[u64]) -> Vec<PathBuf>;

    /// Returns a sentence on what is there and not part of the set; `None` if there is nothing.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// A stored image or text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// Layout of the bytes.
    pub layout: Layout,
    /// Class number from 0, if the item has one.
    pub label: Option<u32>,
}

/// Layout of a stored item's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A complete JPEG or PNG file.
    File,
    /// One byte per pixel, row by row.
    Grey {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// Planar RGB: all red bytes, then all green, then all blue, row by row.
    Planes {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// Text in any encoding that is compatible with ASCII.
    Text,
}

/// Why an item cannot be used, worded to follow its name in a message.
#[derive(Debug)]
pub struct ItemError(pub String);

/// Returns the error for a number outside the set.
pub fn missing(number: u64, of: u64) -> ItemError {
    ItemError(format!("there is no item {number} among {of}"))
}
