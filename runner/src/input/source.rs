//! Where the data of a job lie.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::drawn::{Drawing, Drawn, Progress, generate};
use super::sample::{Sample, draw};
use super::set::DataSet;
use crate::exit::unusable;
use crate::images::{bson, cifar10, folder, idx, tfrecord};
use crate::texts;

/// Where the images or texts of a job lie. Every executor reads them by itself; it travels in the job's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Images that Foreglow drew, in this folder of the cache.
    Generated(PathBuf),
    /// Digits that Foreglow drew, in this folder of the cache.
    Digits(PathBuf),
    /// Texts that Foreglow drew, in this folder of the cache.
    DrawnTexts(PathBuf),
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
    /// The user's folder of texts.
    Texts(texts::Corpus),
}

impl Source {
    /// What Foreglow draws itself, in the cache directory.
    ///
    /// # Errors
    /// There is no home directory to hold a cache.
    pub fn drawn(drawing: Drawing, cache_dir: Option<&Path>) -> anyhow::Result<Self> {
        let folder = cache_root(cache_dir)?.join(drawing.folder());
        Ok(match drawing {
            Drawing::Photographs => Self::Generated(folder),
            Drawing::Digits => Self::Digits(folder),
            Drawing::Texts => Self::DrawnTexts(folder),
        })
    }

    /// What Foreglow drew; `None` where the data are the user's.
    pub fn drawing(&self) -> Option<Drawing> {
        match self {
            Self::Generated(_) => Some(Drawing::Photographs),
            Self::Digits(_) => Some(Drawing::Digits),
            Self::DrawnTexts(_) => Some(Drawing::Texts),
            _ => None,
        }
    }

    /// What a person calls the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Generated(_) => "drawn images",
            Self::Digits(_) => "drawn digits",
            Self::DrawnTexts(_) => "drawn texts",
            Self::Folder(_) => "folder",
            Self::Tfrecord(_) => "tfrecord",
            Self::Cifar10(_) => "cifar10",
            Self::Idx(_) => "idx",
            Self::Bson(_) => "bson",
            Self::Texts(_) => "texts",
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        match self {
            Self::Generated(path)
            | Self::Digits(path)
            | Self::DrawnTexts(path)
            | Self::Folder(path)
            | Self::Tfrecord(path)
            | Self::Cifar10(path)
            | Self::Idx(path)
            | Self::Bson(path)
            | Self::Texts(texts::Corpus { folder: path, .. }) => path,
        }
    }

    /// The same place for a process that runs in another folder.
    pub fn absolute(mut self) -> Self {
        let paths = match &mut self {
            Self::Generated(path)
            | Self::Digits(path)
            | Self::DrawnTexts(path)
            | Self::Folder(path)
            | Self::Tfrecord(path)
            | Self::Cifar10(path)
            | Self::Idx(path)
            | Self::Bson(path) => vec![path],
            Self::Texts(texts::Corpus { folder, vectors, .. }) => vec![folder, vectors],
        };
        for path in paths {
            if let Ok(absolute) = std::path::absolute(&*path) {
                *path = absolute;
            }
        }
        self
    }

    /// Finds the data.
    ///
    /// # Errors
    /// There are none, or a file is damaged in a way that hides what lies behind the place.
    pub fn open(&self) -> anyhow::Result<Box<dyn DataSet>> {
        if let Some(drawing) = self.drawing() {
            return Ok(Box::new(Drawn::new(drawing, self.path())));
        }
        Ok(match self {
            Self::Tfrecord(path) => Box::new(tfrecord::TfRecords::open(path)?),
            Self::Cifar10(path) => Box::new(cifar10::Cifar10::open(path)?),
            Self::Idx(path) => Box::new(idx::Idx::open(path)?),
            Self::Bson(path) => Box::new(bson::Bson::open(path)?),
            Self::Texts(corpus) => Box::new(texts::folder(&corpus.folder)?),
            _ => Box::new(folder::open(self.path())?),
        })
    }

    /// Makes sure that the first `items` images or texts are there; draws those that are missing.
    ///
    /// # Errors
    /// There are too few, or the disk is full.
    pub fn prepare(&self, items: u64, progress: Progress<'_>) -> anyhow::Result<()> {
        if let Some(drawing) = self.drawing() {
            return generate(drawing, self.path(), items, progress);
        }
        self.open_with(items).map(drop)
    }

    /// How many there are; `None` where as many as are asked for can be drawn.
    ///
    /// # Errors
    /// There is none.
    pub fn count(&self) -> anyhow::Result<Option<u64>> {
        match self.drawing() {
            Some(_) => Ok(None),
            None => Ok(Some(self.open()?.len())),
        }
    }

    /// The items of a run's sample, in the order in which they are processed.
    ///
    /// # Errors
    /// There are too few.
    pub fn sample(&self, items: u64, sampling_rate: f64, seed: u64) -> anyhow::Result<Sample> {
        Ok(Sample::new(self.open_with(items)?, draw(items, sampling_rate, seed)))
    }

    fn open_with(&self, wanted: u64) -> anyhow::Result<Box<dyn DataSet>> {
        let set = self.open()?;
        let found = set.len();
        if found < wanted {
            let (shown, what) = (self.path().display(), self.noun());
            return Err(unusable(format!(
                "{shown} holds {found} {what} and the job has {wanted}; ask for --images {found} or less"
            )));
        }
        Ok(set)
    }

    /// The vectors of the words; `None` of images.
    ///
    /// # Errors
    /// The texts or the file of vectors cannot be used.
    pub fn embedding(&self) -> anyhow::Result<Option<texts::Embedding>> {
        match self {
            Self::Texts(corpus) => texts::Embedding::of(corpus).map(Some),
            Self::DrawnTexts(_) => Ok(Some(texts::Embedding::drawn())),
            _ => Ok(None),
        }
    }

    /// What it holds, as a word for many of them.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Texts(_) | Self::DrawnTexts(_) => "texts",
            _ => "images",
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
        .context("there is no home directory to keep drawn data in; name a directory with --cache-dir")
}
