//! Image data sets, from the file to the tensor. A format is one file here, a variant of [`Format`]
//! and one of [`crate::input::Source`].

pub mod bson;
pub mod cifar10;
mod decode;
mod detect;
pub mod digits;
pub mod folder;
pub mod idx;
mod pack;
pub mod photographs;
mod speed;
#[cfg(test)]
mod tests;
pub mod tfrecord;

pub use self::decode::{Decoder, Scale, scales};
pub use self::detect::Format;
pub use self::pack::{Packing, Split, pack};
pub use self::speed::{Shape, Speed, read_speed};
