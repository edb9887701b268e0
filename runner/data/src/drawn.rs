//! Generated data sets, which need no download: files in the cache, each determined by its number.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

use anyhow::Context as _;
use foreglow_exit::{Temporary, create_in_place};
use rayon::prelude::*;

use super::class_folder::{expect_file, read_file};
use super::set::{DataSet, Item, ItemError, Layout};
use crate::images::{digits, photographs};
use crate::texts;

/// Kinds of generated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Drawing {
    /// Synthetic photographs, 128 px, in colour
    Photographs,
    /// Digits, 32 px, greyscale, whose classes a CNN can learn
    Digits,
    /// Synthetic texts, whose classes a text classifier can learn
    Texts,
}

impl Drawing {
    /// Returns the name of the folder in the cache. It changes with the generator and the encoder,
    /// so that cached files are never stale.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Photographs => "images/drawn-128px-1",
            Self::Digits => "images/digits-32px-1",
            Self::Texts => "texts/drawn-1",
        }
    }

    /// Returns the path of an item.
    pub fn path(self, root: &Path, index: u64) -> PathBuf {
        let ending = if self == Self::Texts { "txt" } else { "jpg" };
        root.join(format!("class_{}", index % self.classes())).join(format!("{index:08}.{ending}"))
    }

    /// Returns the number of classes; item i belongs to class i modulo this.
    fn classes(self) -> u64 {
        match self {
            Self::Photographs => photographs::CLASSES,
            Self::Digits => digits::CLASSES,
            Self::Texts => texts::drawn::CLASSES,
        }
    }

    /// Generates the file of an item, which its number determines.
    fn file(self, index: u64) -> Vec<u8> {
        match self {
            Self::Photographs => photographs::draw(index),
            Self::Digits => digits::draw(index),
            Self::Texts => texts::drawn::draw(index),
        }
    }

    fn layout(self) -> Layout {
        match self {
            Self::Photographs | Self::Digits => Layout::File,
            Self::Texts => Layout::Text,
        }
    }
}

/// Callback with the number of existing items and of all requested ones.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Generated items; the set has no fixed size, because more are generated on request.
pub struct Drawn {
    drawing: Drawing,
    root: PathBuf,
}

impl Drawn {
    /// Returns the set in this folder of the cache.
    pub fn new(drawing: Drawing, root: &Path) -> Self {
        Self { drawing, root: root.to_owned() }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.drawing.path(&self.root, number)
    }
}

impl DataSet for Drawn {
    fn len(&self) -> u64 {
        u64::MAX
    }

    fn classes(&self) -> Option<u32> {
        Some(self.drawing.classes() as u32)
    }

    fn class(&self, label: u32) -> Option<String> {
        Some(format!("class_{label}"))
    }

    fn name(&self, number: u64) -> String {
        self.path(number).display().to_string()
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let label = (number % self.drawing.classes()) as u32;
        read_file(&self.path(number), self.drawing.layout(), Some(label))
    }

    fn expect(&self, number: u64) {
        expect_file(&self.path(number));
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        numbers.iter().map(|number| self.path(*number)).collect()
    }
}

/// Generates the missing ones of the first `items` items, on all processors.
///
/// # Errors
/// The cache cannot be written; a full disk has its own message.
pub fn generate(drawing: Drawing, root: &Path, items: u64, progress: Progress<'_>) -> anyhow::Result<()> {
    let missing: Vec<u64> = (0..items).filter(|index| !is_there(&drawing.path(root, *index))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for class in 0..drawing.classes() {
        let folder = root.join(format!("class_{class}"));
        fs::create_dir_all(&folder).with_context(|| {
            format!("the cache {} cannot be created; name another one with --cache-dir", folder.display())
        })?;
    }
    let there = items - missing.len() as u64;
    let (drawn, written) = (AtomicU64::new(0), OnceLock::new());
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            let draw = |index: &u64| write(drawing, root, *index).map(|()| drawn.fetch_add(1, Ordering::Relaxed));
            let _ = written.set(missing.par_iter().try_for_each(|index| draw(index).map(drop)));
        });
        while written.get().is_none() {
            progress(there + drawn.load(Ordering::Relaxed), items);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    if let Some(Err(cause)) = written.into_inner() {
        return Err(explain(root, cause));
    }
    progress(items, items);
    Ok(())
}

fn explain(root: &Path, cause: io::Error) -> anyhow::Error {
    let shown = root.display();
    let sentence = if cause.kind() == io::ErrorKind::StorageFull {
        format!("the disk of the cache {shown} is full; free some space or name another disk with --cache-dir")
    } else {
        format!("a file could not be written to the cache {shown}; name another one with --cache-dir")
    };
    anyhow::Error::new(cause).context(sentence)
}

/// Returns whether a file exists. Files get their final name only when they are complete, but a
/// crash of the machine can leave an empty file, which is generated again.
fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

fn write(drawing: Drawing, root: &Path, index: u64) -> io::Result<()> {
    let path = drawing.path(root, index);
    // Removed on an error: on a full disk the partial file would also keep its space.
    let part = Temporary::at(path.with_extension(format!("part-{}", std::process::id())));
    create_in_place(part.path())?.write_all(&drawing.file(index))?;
    fs::rename(part.path(), &path)?;
    part.keep();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTOGRAPHS: Drawing = Drawing::Photographs;

    #[test]
    fn generating_more_keeps_the_existing_files() {
        let dir = tempfile::tempdir().unwrap();
        generate(PHOTOGRAPHS, dir.path(), 12, &mut |_, _| {}).unwrap();
        let first = fs::metadata(PHOTOGRAPHS.path(dir.path(), 0)).unwrap().modified().unwrap();
        let mut told = Vec::new();
        generate(PHOTOGRAPHS, dir.path(), 20, &mut |there, all| told.push((there, all))).unwrap();
        assert_eq!(told.last(), Some(&(20, 20)));
        assert!((0..20).all(|index| is_there(&PHOTOGRAPHS.path(dir.path(), index))));
        assert_eq!(fs::metadata(PHOTOGRAPHS.path(dir.path(), 0)).unwrap().modified().unwrap(), first);
        assert_eq!(
            walkdir::WalkDir::new(dir.path()).into_iter().filter(|e| e.as_ref().unwrap().path().is_file()).count(),
            20
        );
    }

    #[test]
    fn partial_files_of_a_killed_generator_are_generated_again() {
        let dir = tempfile::tempdir().unwrap();
        generate(PHOTOGRAPHS, dir.path(), 3, &mut |_, _| {}).unwrap();
        let half = PHOTOGRAPHS.path(dir.path(), 1);
        fs::rename(&half, half.with_extension("part-1")).unwrap();
        fs::write(PHOTOGRAPHS.path(dir.path(), 2), b"").unwrap();
        generate(PHOTOGRAPHS, dir.path(), 3, &mut |_, _| {}).unwrap();
        for index in 0..3 {
            assert_eq!(fs::read(PHOTOGRAPHS.path(dir.path(), index)).unwrap(), PHOTOGRAPHS.file(index));
        }
    }

    #[test]
    fn an_unwritable_cache_is_reported_with_advice() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), b"").unwrap();
        let error = generate(PHOTOGRAPHS, &dir.path().join("file"), 1, &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains("name another one with --cache-dir"), "{error}");
        let full = explain(dir.path(), io::ErrorKind::StorageFull.into());
        assert!(full.to_string().contains("is full; free some space"), "{full}");
    }

    #[test]
    fn every_drawing_is_read_with_its_class() {
        let dir = tempfile::tempdir().unwrap();
        for drawing in [PHOTOGRAPHS, Drawing::Digits, Drawing::Texts] {
            let root = dir.path().join(drawing.folder());
            generate(drawing, &root, 23, &mut |_, _| {}).unwrap();
            let set = Drawn::new(drawing, &root);
            let item = set.read(22).unwrap();
            assert_eq!((item.bytes, item.layout), (drawing.file(22), drawing.layout()));
            assert_eq!(item.label.map(u64::from), Some(22 % drawing.classes()));
            assert_eq!(set.class(item.label.unwrap()), Some(format!("class_{}", 22 % drawing.classes())));
            assert!(set.read(23).is_err());
        }
    }
}
