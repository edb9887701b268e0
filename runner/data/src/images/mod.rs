//! Image data sets, from the file to the tensor. A format is one file here, a variant of
//! [`crate::Format`] and one of [`crate::Kind`].

pub mod bson;
pub mod cifar10;
pub(crate) mod decode;
pub mod digits;
pub mod folder;
pub mod idx;
mod normalisation;
pub mod photographs;
mod resize;
pub mod tfrecord;

pub use self::decode::Decoder;
pub use self::normalisation::{ChannelOrder, Normalisation, PixelRange, Scale};
