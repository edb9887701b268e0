//! Where the data of a job lie.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::drawn::{Drawing, Drawn, Progress, generate};
use super::sample::{Sample, draw};
use super::set::DataSet;
use crate::exit::unusable;
use crate::images::{bson, cifar10, folder, idx, tfrecord};
use crate::texts::{self, Words};

/// Where the images or texts of a job lie, and what they are. Every executor reads them by itself; it travels in the job's
/// description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The place.
    pub path: PathBuf,
    /// What lies there.
    pub kind: Kind,
}

/// What lies at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Images that Foreglow drew, in this folder of the cache.
    Generated,
    /// Digits that Foreglow drew, in this folder of the cache.
    Digits,
    /// Texts that Foreglow drew, in this folder of the cache.
    DrawnTexts,
    /// The user's folder of JPEG and PNG files.
    Folder,
    /// A TFRecord file, or a folder of shards.
    Tfrecord,
    /// A file of CIFAR-10's binary version, or the folder of its batches.
    Cifar10,
    /// An IDX file of images, or the folder of MNIST's files.
    Idx,
    /// A BSON file of products with pictures.
    Bson,
    /// The user's folder of texts.
    Texts(Words),
}

impl Kind {
    /// That of a place.
    pub fn at(self, path: impl Into<PathBuf>) -> Source {
        Source { path: path.into(), kind: self }
    }
}

impl Source {
    /// What Foreglow draws itself, in the cache directory.
    ///
    /// # Errors
    /// There is no home directory to hold a cache.
    pub fn drawn(drawing: Drawing, cache_dir: Option<&Path>) -> anyhow::Result<Self> {
        let kind = match drawing {
            Drawing::Photographs => Kind::Generated,
            Drawing::Digits => Kind::Digits,
            Drawing::Texts => Kind::DrawnTexts,
        };
        Ok(kind.at(cache_root(cache_dir)?.join(drawing.folder())))
    }

    /// What Foreglow drew; `None` where the data are the user's.
    pub fn drawing(&self) -> Option<Drawing> {
        match self.kind {
            Kind::Generated => Some(Drawing::Photographs),
            Kind::Digits => Some(Drawing::Digits),
            Kind::DrawnTexts => Some(Drawing::Texts),
            _ => None,
        }
    }

    /// What a person calls the format.
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

    /// The same place for a process that runs in another folder.
    pub fn absolute(mut self) -> Self {
        let absolute = |path: &mut PathBuf| {
            // It fails where the current folder is gone, and with it the place.
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

    /// Finds the data.
    ///
    /// # Errors
    /// There are none, or a file is damaged in a way that hides what lies behind the place.
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

    /// Makes sure that the first `items` images or texts are there; draws those that are missing.
    ///
    /// # Errors
    /// There are too few, or the disk is full.
    pub fn prepare(&self, items: u64, progress: Progress<'_>) -> anyhow::Result<()> {
        if let Some(drawing) = self.drawing() {
            return generate(drawing, &self.path, items, progress);
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
            let (shown, what) = (self.path.display(), self.noun());
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
        match &self.kind {
            Kind::Texts(words) => texts::Embedding::of(&self.path, words).map(Some),
            Kind::DrawnTexts => Ok(Some(texts::Embedding::drawn())),
            _ => Ok(None),
        }
    }

    /// The file of the words' vectors; `None` of images and of drawn texts.
    pub fn vectors(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Texts(words) => Some(&words.vectors),
            _ => None,
        }
    }

    /// What it holds, as a word for many of them.
    pub fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Texts(_) | Kind::DrawnTexts => "texts",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_another_folder_finds_the_texts_and_their_vectors() {
        let here = std::env::current_dir().unwrap();
        let words = |vectors: PathBuf| Words { vectors, vocabulary: 9 };
        let source = Kind::Texts(words("glove.txt".into())).at("news").absolute();
        assert_eq!(source, Kind::Texts(words(here.join("glove.txt"))).at(here.join("news")));
        assert_eq!(source.clone().absolute(), source);
    }

    #[test]
    fn it_travels_as_its_place_and_its_kind() {
        let json = r#"{"path":"/data/photos","kind":"folder"}"#;
        let source: Source = serde_json::from_str(json).unwrap();
        assert_eq!(source, Kind::Folder.at("/data/photos"));
        assert_eq!(serde_json::to_string(&source).unwrap(), json);
    }
}
