//! Real images, from the file to the tensor.

mod decode;
mod folder;
mod generator;
mod sample;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

pub use self::decode::Decoder;
pub use self::generator::Progress as GeneratorProgress;
pub use self::sample::{draw, images_in_sample};

/// Where the images of a job lie. Every executor reads it by itself; it travels in the job's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Images that Foreglow drew, in this folder of the cache.
    Generated(PathBuf),
    /// The user's folder.
    Folder(PathBuf),
}

impl Source {
    /// The images that Foreglow draws itself, in the cache directory.
    ///
    /// # Errors
    /// There is no home directory to hold a cache.
    pub fn generated(cache_dir: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self::Generated(cache_root(cache_dir)?.join("images").join(generator::FOLDER)))
    }

    /// Makes sure that the first `images` images are there; draws those that are missing.
    ///
    /// # Errors
    /// The folder is missing, holds too few images, or the disk is full.
    pub fn prepare(&self, images: u64, progress: GeneratorProgress<'_>) -> anyhow::Result<()> {
        match self {
            Self::Generated(root) => generator::generate(root, images, progress),
            Self::Folder(root) => folder::list(root, Some(images)).map(drop),
        }
    }

    /// How many images there are; `None` where as many as are asked for can be drawn.
    ///
    /// # Errors
    /// The folder is missing or empty.
    pub fn count(&self) -> anyhow::Result<Option<u64>> {
        match self {
            Self::Generated(_) => Ok(None),
            Self::Folder(root) => Ok(Some(folder::list(root, None)?.len() as u64)),
        }
    }

    /// The files of a run's sample, in the order in which they are processed.
    ///
    /// # Errors
    /// The folder is missing or holds too few images.
    pub fn sample(&self, images: u64, sampling_rate: f64, seed: u64) -> anyhow::Result<Vec<PathBuf>> {
        let drawn = draw(images, sampling_rate, seed);
        match self {
            Self::Generated(root) => Ok(drawn.into_iter().map(|index| generator::path(root, index)).collect()),
            Self::Folder(root) => {
                let files = folder::list(root, Some(images))?;
                Ok(drawn.into_iter().filter_map(|index| files.get(usize::try_from(index).ok()?).cloned()).collect())
            }
        }
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
