//! Input data: numbered images or texts, from the file to the numbers of a tensor. The `images`
//! module holds what is specific to images, `texts` what is specific to texts.

mod decoder;
mod drawn;
mod file_part;
mod folder;
mod identity;
mod sample;
mod set;
mod source;

pub use self::decoder::{Decoded, Decoder};
pub use self::drawn::{Drawing, Progress};
#[cfg(test)]
pub use self::drawn::{Drawn, generate};
pub use self::file_part::{expect_part, forget, read_part};
pub use self::folder::{ClassFolder, Holding};
pub use self::identity::identity;
pub use self::sample::{Sample, draw, images_in_sample, true_rate};
pub use self::set::{DataSet, Item, ItemError, Layout, missing};
pub use self::source::{Kind, Source};
