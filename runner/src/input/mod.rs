//! What a CNN is fed: images or texts, numbered items from the file to the numbers of a tensor. What is peculiar to images
//! lies in `images`, what is peculiar to texts in `texts`.

mod decoder;
mod drawn;
mod file_part;
mod folder;
mod identity;
mod sample;
mod set;
mod source;

pub use self::decoder::Decoder;
pub use self::drawn::{Drawing, Progress};
#[cfg(test)]
pub use self::drawn::{Drawn, generate};
pub use self::file_part::{expect_part, forget, read_part};
pub use self::folder::{ClassFolder, Holding};
pub use self::identity::identity;
pub use self::sample::{Sample, draw, images_in_sample, true_rate};
pub use self::set::{DataSet, Item, ItemError, Layout, missing};
pub use self::source::{Kind, Source};
