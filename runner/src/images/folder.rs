//! A folder of JPEG and PNG files, whose sub-folders are the classes.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::ImageError;
use super::file_part::expect_part;
use super::set::{Image, ImageSet, Layout, missing};
use crate::exit::unusable;

const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// The images under a folder, sorted by path, so that every machine numbers them alike.
pub struct Folder {
    root: PathBuf,
    files: Vec<PathBuf>,
    /// Names of the first folders below the root that hold an image, sorted: a label is a place in this list.
    classes: Vec<String>,
}

impl Folder {
    /// Lists the folder with its sub-folders.
    ///
    /// # Errors
    /// The folder cannot be read, or holds no image.
    pub fn open(root: &Path) -> anyhow::Result<Self> {
        let shown = root.display();
        if !root.is_dir() {
            return Err(unusable(format!("{shown} is no folder; name the folder that holds the images with --data")));
        }
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(root).follow_links(true) {
            let entry = entry.map_err(|error| unusable(format!("the image folder {shown} cannot be read: {error}")))?;
            if entry.file_type().is_file() && is_image(entry.path()) {
                files.push(entry.into_path());
            }
        }
        if files.is_empty() {
            return Err(unusable(format!(
                "the image folder {shown} holds no image; put .jpg, .jpeg or .png files into it or below it"
            )));
        }
        files.sort();
        let mut classes: Vec<String> = files.iter().filter_map(|file| class_of(root, file)).collect();
        classes.sort();
        classes.dedup();
        Ok(Self { root: root.to_owned(), files, classes })
    }

    fn file(&self, number: u64) -> Option<&PathBuf> {
        self.files.get(usize::try_from(number).ok()?)
    }
}

impl ImageSet for Folder {
    fn len(&self) -> u64 {
        self.files.len() as u64
    }

    fn classes(&self) -> Option<u32> {
        u32::try_from(self.classes.len()).ok().filter(|classes| *classes > 0)
    }

    fn class(&self, label: u32) -> Option<String> {
        self.classes.get(label as usize).cloned()
    }

    fn name(&self, number: u64) -> String {
        self.file(number).map_or_else(|| format!("image {number}"), |file| file.display().to_string())
    }

    fn read(&self, number: u64) -> Result<Image, ImageError> {
        let file = self.file(number).ok_or_else(|| missing(number, self.len()))?;
        let label = class_of(&self.root, file)
            .and_then(|class| self.classes.binary_search(&class).ok())
            .and_then(|place| u32::try_from(place).ok());
        read_file(file, label)
    }

    fn expect(&self, number: u64) {
        if let Some(file) = self.file(number) {
            expect_file(file);
        }
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        numbers.iter().filter_map(|number| self.file(*number).cloned()).collect()
    }
}

/// Reads an image that has a file of its own.
pub fn read_file(path: &Path, label: Option<u32>) -> Result<Image, ImageError> {
    let bytes = std::fs::read(path).map_err(|error| ImageError(error.to_string()))?;
    Ok(Image { bytes, layout: Layout::File, label })
}

/// Tells the system that a file will be read soon.
pub fn expect_file(path: &Path) {
    if let Ok(file) = File::open(path) {
        expect_part(&file, 0, 0);
    }
}

/// Whether a file's name says that it is an image.
pub fn is_image(path: &Path) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

fn class_of(root: &Path, file: &Path) -> Option<String> {
    let mut below = file.strip_prefix(root).ok()?.components();
    let class = below.next()?;
    below.next().map(|_file| class.as_os_str().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_below_class_folders_in_a_fixed_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/2.JPG", "a/1.jpeg", "a/deep/3.png", "a/notes.txt", "c/none.txt", "loose.jpg"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let folder = Folder::open(dir.path()).unwrap();
        let images: Vec<_> = (0..folder.len())
            .map(|number| {
                let image = folder.read(number).unwrap();
                (String::from_utf8(image.bytes).unwrap(), image.label)
            })
            .collect();
        let expected = [("a/1.jpeg", Some(0)), ("a/deep/3.png", Some(0)), ("b/2.JPG", Some(1)), ("loose.jpg", None)];
        assert_eq!(images, expected.map(|(name, label)| (name.to_owned(), label)));
        assert_eq!((folder.classes(), folder.class(1).as_deref()), (Some(2), Some("b")));
        assert!(folder.read(4).is_err());
    }

    #[test]
    fn an_empty_folder_and_a_file_each_say_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path| Folder::open(path).err().unwrap().to_string();
        assert!(said(dir.path()).contains("holds no image; put .jpg"));
        std::fs::write(dir.path().join("1.png"), b"x").unwrap();
        assert!(said(&dir.path().join("1.png")).contains("is no folder"));
    }
}
