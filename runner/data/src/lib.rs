//! Input data: numbered images or texts, from the file to the numbers of a tensor. The module
//! `images` is for images, `texts` for texts.

mod class_folder;
mod classes;
mod decoder;
mod detect;
mod drawn;
mod file_part;
mod foreign;
mod identity;
pub mod images;
mod left_out;
mod pack;
mod sample;
mod set;
mod signature;
mod source;
pub mod speed;
#[cfg(test)]
mod tests;
pub mod texts;

pub use self::classes::{class_numbers, open_held_out};
pub use self::decoder::{Decoded, Decoder};
pub use self::detect::Format;
pub use self::drawn::{Drawing, Progress};
pub use self::file_part::forget;
pub use self::identity::identity;
pub use self::pack::{Packing, Split, pack};
pub use self::sample::{Sample, draw, images_in_sample, true_rate};
pub use self::set::{DataSet, Item, ItemError, Layout};
pub use self::source::{Kind, Source, cache_folder};
