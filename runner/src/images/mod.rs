//! Real images, from the file to the tensor. A format is one file here, one variant of [`Source`] and one of [`Format`].

mod bson;
mod cifar10;
mod decode;
mod detect;
mod digits;
mod file_part;
mod folder;
mod generator;
mod idx;
mod pack;
mod sample;
mod set;
mod speed;
#[cfg(test)]
mod tests;
mod tfrecord;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

pub use self::decode::{Decoder, ImageError};
pub use self::detect::Format;
pub use self::file_part::forget;
pub use self::generator::{Drawing, Progress as GeneratorProgress};
pub use self::pack::{Packing, Split, pack};
pub use self::sample::{Sample, draw, images_in_sample};
#[cfg(test)]
use self::set::Layout;
pub use self::set::{Image, ImageSet};
pub use self::speed::{Shape, Speed, read_speed};
use crate::exit::unusable;

/// Where the images of a job lie. Every executor reads it by itself; it travels in the job's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Images that Foreglow drew, in this folder of the cache.
    Generated(PathBuf),
    /// Digits that Foreglow drew, in this folder of the cache.
    Digits(PathBuf),
    /// The user's folder of JPEG and PNG files.
    Folder(PathBuf),
    /// A TFRecord file, or a folder of shards.
    Tfrecord(PathBuf),
    /// A file of CIFAR-10's binary version, or the folder of its batches.
    Cifar10(PathBuf),
    /// An IDX file of images, or the folder of MNIST's files.
    Idx(PathBuf),
    /// A BSON file of products with pictures.
    Bson(PathBuf),
}

impl Source {
    /// The images that Foreglow draws itself, in the cache directory.
    ///
    /// # Errors
    /// There is no home directory to hold a cache.
    pub fn drawn(drawing: Drawing, cache_dir: Option<&Path>) -> anyhow::Result<Self> {
        let folder = cache_root(cache_dir)?.join("images").join(drawing.folder());
        Ok(match drawing {
            Drawing::Photographs => Self::Generated(folder),
            Drawing::Digits => Self::Digits(folder),
        })
    }

    /// What a person calls the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Generated(_) => "drawn images",
            Self::Digits(_) => "drawn digits",
            Self::Folder(_) => "folder",
            Self::Tfrecord(_) => "tfrecord",
            Self::Cifar10(_) => "cifar10",
            Self::Idx(_) => "idx",
            Self::Bson(_) => "bson",
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        match self {
            Self::Generated(path)
            | Self::Digits(path)
            | Self::Folder(path)
            | Self::Tfrecord(path)
            | Self::Cifar10(path)
            | Self::Idx(path)
            | Self::Bson(path) => path,
        }
    }

    /// The same place for a process that runs in another folder.
    pub fn absolute(mut self) -> Self {
        let (Self::Generated(path)
        | Self::Digits(path)
        | Self::Folder(path)
        | Self::Tfrecord(path)
        | Self::Cifar10(path)
        | Self::Idx(path)
        | Self::Bson(path)) = &mut self;
        if let Ok(absolute) = std::path::absolute(&*path) {
            *path = absolute;
        }
        self
    }

    /// Finds the images.
    ///
    /// # Errors
    /// There are none, or a file is damaged in a way that hides the images behind the place.
    pub fn open(&self) -> anyhow::Result<Box<dyn ImageSet>> {
        Ok(match self {
            Self::Generated(root) | Self::Digits(root) => Box::new(generator::Drawn::new(root)),
            Self::Folder(root) => Box::new(folder::Folder::open(root)?),
            Self::Tfrecord(path) => Box::new(tfrecord::TfRecords::open(path)?),
            Self::Cifar10(path) => Box::new(cifar10::Cifar10::open(path)?),
            Self::Idx(path) => Box::new(idx::Idx::open(path)?),
            Self::Bson(path) => Box::new(bson::Bson::open(path)?),
        })
    }

    /// Makes sure that the first `images` images are there; draws those that are missing.
    ///
    /// # Errors
    /// There are too few images, or the disk is full.
    pub fn prepare(&self, images: u64, progress: GeneratorProgress<'_>) -> anyhow::Result<()> {
        match self {
            Self::Generated(root) => generator::generate(Drawing::Photographs, root, images, progress),
            Self::Digits(root) => generator::generate(Drawing::Digits, root, images, progress),
            _ => self.open_with(images).map(drop),
        }
    }

    /// How many images there are; `None` where as many as are asked for can be drawn.
    ///
    /// # Errors
    /// There is no image.
    pub fn count(&self) -> anyhow::Result<Option<u64>> {
        match self {
            Self::Generated(_) | Self::Digits(_) => Ok(None),
            _ => Ok(Some(self.open()?.len())),
        }
    }

    /// The images of a run's sample, in the order in which they are processed.
    ///
    /// # Errors
    /// There are too few images.
    pub fn sample(&self, images: u64, sampling_rate: f64, seed: u64) -> anyhow::Result<Sample> {
        Ok(Sample::new(self.open_with(images)?, draw(images, sampling_rate, seed)))
    }

    fn open_with(&self, wanted: u64) -> anyhow::Result<Box<dyn ImageSet>> {
        let set = self.open()?;
        let found = set.len();
        if found < wanted {
            let shown = self.path().display();
            return Err(unusable(format!(
                "{shown} holds {found} images and the job has {wanted}; ask for --images {found} or less"
            )));
        }
        Ok(set)
    }
}

fn cache_root(cache_dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(dir) = cache_dir {
        return Ok(dir.to_owned());
    }
    if let Some(dir) = std::env::var_os("FOREGLOW_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    directories::ProjectDirs::from("", "", "foreglow")
        .map(|dirs| dirs.cache_dir().to_owned())
        .context("there is no home directory to keep images in; name a directory with --cache-dir")
}
