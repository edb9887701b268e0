//! Location and kind of a job's data.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unusable;
use serde::{Deserialize, Serialize};

use super::drawn::{Drawing, Drawn, Progress, generate};
use super::sample::{Sample, draw};
use super::set::DataSet;
use crate::images::{bson, cifar10, folder, idx, tfrecord};
use crate::texts::{self, Words};

/// Location and kind of a job's images or texts. It is part of the job description, and every
/// executor reads the data itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Location.
    pub path: PathBuf,
    /// Kind of the data.
    pub kind: Kind,
}

/// Kind of data at a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Generated photographs in this folder of the cache.
    Generated,
    /// Generated digits in this folder of the cache.
    Digits,
    /// Generated texts in this folder of the cache.
    DrawnTexts,
    /// The user's folder of JPEG and PNG files.
    Folder,
    /// A TFRecord file, or a folder of shards.
    Tfrecord,
    /// A file of CIFAR-10's binary version, or a folder of its batches.
    Cifar10,
    /// An IDX file of images, or a folder of MNIST's files.
    Idx,
    /// A BSON file of products with pictures.
    Bson,
    /// The user's folder of texts.
    Texts(Words),
}

impl Kind {
    /// Returns the source of this kind at a path.
    pub fn at(self, path: impl Into<PathBuf>) -> Source {
        Source { path: path.into(), kind: self }
    }
}

impl Source {
    /// Returns a generated data set in the cache directory.
    ///
    /// # Errors
    /// There is no home directory for the cache.
    pub fn drawn(drawing: Drawing, cache_dir: Option<&Path>) -> anyhow::Result<Self> {
        let kind = match drawing {
            Drawing::Photographs => Kind::Generated,
            Drawing::Digits => Kind::Digits,
            Drawing::Texts => Kind::DrawnTexts,
        };
        Ok(kind.at(cache_root(cache_dir)?.join(drawing.folder())))
    }

    /// Returns the kind of generated data, or `None` for the user's own data.
    pub fn drawing(&self) -> Option<Drawing> {
        match self.kind {
            Kind::Generated => Some(Drawing::Photographs),
            Kind::Digits => Some(Drawing::Digits),
            Kind::DrawnTexts => Some(Drawing::Texts),
            _ => None,
        }
    }

    /// Returns the name of the format for messages.
    pub fn format(&self) -> &'static str {
        match self.kind {
            Kind::Generated => "drawn images",
            Kind::Digits => "drawn digits",
            Kind::DrawnTexts => "drawn texts",
            Kind::Folder => "folder",
            Kind::Tfrecord => "tfrecord",
            Kind::Cifar10 => "cifar10",
            Kind::Idx => "idx",
            Kind::Bson => "bson",
            Kind::Texts(_) => "texts",
        }
    }

    /// Makes the paths absolute, for a process that runs in another folder.
    pub fn absolute(mut self) -> Self {
        let absolute = |path: &mut PathBuf| {
            // Fails only if the current folder no longer exists, and the data with it.
            if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        };
        absolute(&mut self.path);
        if let Kind::Texts(words) = &mut self.kind {
            absolute(&mut words.vectors);
        }
        self
    }

    /// Opens the data set.
    ///
    /// # Errors
    /// There are no data, or a file is too damaged to find the items.
    pub fn open(&self) -> anyhow::Result<Box<dyn DataSet>> {
        let path = &self.path;
        if let Some(drawing) = self.drawing() {
            return Ok(Box::new(Drawn::new(drawing, path)));
        }
        Ok(match self.kind {
            Kind::Tfrecord => Box::new(tfrecord::TfRecords::open(path)?),
            Kind::Cifar10 => Box::new(cifar10::Cifar10::open(path)?),
            Kind::Idx => Box::new(idx::Idx::open(path)?),
            Kind::Bson => Box::new(bson::Bson::open(path)?),
            Kind::Texts(_) => Box::new(texts::folder(path)?),
            _ => Box::new(folder::open(path)?),
        })
    }

    /// Ensures that the first `items` items exist, and generates those that are missing. Returns a
    /// sentence on what is there and not part of the data.
    ///
    /// # Errors
    /// There are too few items, or the disk is full.
    pub fn prepare(&self, items: u64, progress: Progress<'_>) -> anyhow::Result<Option<String>> {
        if let Some(drawing) = self.drawing() {
            return generate(drawing, &self.path, items, progress).map(|()| None);
        }
        self.open_with(items).map(|set| set.remark())
    }

    /// Returns the number of items, or `None` for generated data, which has no fixed size.
    ///
    /// # Errors
    /// The data set cannot be opened.
    pub fn count(&self) -> anyhow::Result<Option<u64>> {
        match self.drawing() {
            Some(_) => Ok(None),
            None => Ok(Some(self.open()?.len())),
        }
    }

    /// Returns the items of a run's sample in processing order.
    ///
    /// # Errors
    /// There are too few items.
    pub fn sample(&self, items: u64, sampling_rate: f64, seed: u64) -> anyhow::Result<Sample> {
        Ok(Sample::new(self.open_with(items)?, draw(items, sampling_rate, seed)))
    }

    fn open_with(&self, wanted: u64) -> anyhow::Result<Box<dyn DataSet>> {
        let set = self.open()?;
        let found = set.len();
        if found < wanted {
            let (shown, what) = (self.path.display(), self.noun());
            return Err(unusable(format!(
                "{shown} holds {found} {what} and the job has {wanted}; ask for --images {found} or less"
            )));
        }
        Ok(set)
    }

    /// Returns the word vectors, or `None` for images.
    ///
    /// # Errors
    /// The texts or the vector file cannot be used.
    pub fn embedding(&self) -> anyhow::Result<Option<texts::Embedding>> {
        match &self.kind {
            Kind::Texts(words) => texts::Embedding::of(&self.path, words).map(Some),
            Kind::DrawnTexts => Ok(Some(texts::Embedding::drawn())),
            _ => Ok(None),
        }
    }

    /// Returns the file of the word vectors; `None` for images and for generated texts.
    pub fn vectors(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Texts(words) => Some(&words.vectors),
            _ => None,
        }
    }

    /// Returns the plural noun for the items.
    pub fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Texts(_) | Kind::DrawnTexts => "texts",
            _ => "images",
        }
    }
}

fn cache_root(cache_dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    cache_dir
        .map(Path::to_owned)
        .or_else(cache_folder)
        .context("there is no home directory for generated data; name a directory with --cache-dir")
}

/// Returns the folder for reproducible data: `FOREGLOW_CACHE`, or the user's cache directory.
pub fn cache_folder() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("FOREGLOW_CACHE").filter(|dir| !dir.is_empty()) {
        return Some(dir.into());
    }
    directories::ProjectDirs::from("", "", "foreglow").map(|dirs| dirs.cache_dir().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_become_absolute() {
        let here = std::env::current_dir().unwrap();
        let words = |vectors: PathBuf| Words { vectors, vocabulary: 9 };
        let source = Kind::Texts(words("glove.txt".into())).at("news").absolute();
        assert_eq!(source, Kind::Texts(words(here.join("glove.txt"))).at(here.join("news")));
        assert_eq!(source.clone().absolute(), source);
    }

    #[test]
    fn a_source_is_serialised_as_path_and_kind() {
        let json = r#"{"path":"/data/photos","kind":"folder"}"#;
        let source: Source = serde_json::from_str(json).unwrap();
        assert_eq!(source, Kind::Folder.at("/data/photos"));
        assert_eq!(serde_json::to_string(&source).unwrap(), json);
    }
}
