//! A folder whose sub-folders are the classes of the files in them.

use std::path::{Path, PathBuf};

use foreglow_exit::{open_data, unusable};

use super::file_part::expect_part;
use super::foreign;
use super::left_out::{LeftOut, is_hidden, parts_as_classes};
use super::set::{DataSet, Item, ItemError, Layout, missing};

/// Kind of files to look for in a folder.
pub struct Holding {
    /// Noun for one item.
    pub what: &'static str,
    /// Names of the kinds of files.
    pub kinds: &'static str,
    /// Advice if the folder has no such files.
    pub advice: &'static str,
    /// Returns whether a file is of this kind.
    pub accepts: fn(&Path) -> bool,
    /// Layout of the bytes.
    pub layout: Layout,
    /// Size limit; larger files are rejected when read.
    pub largest_bytes: u64,
}

/// The files under a folder, sorted by path, so that their numbers are the same on every machine.
pub struct ClassFolder {
    root: PathBuf,
    files: Vec<PathBuf>,
    /// Sorted names of the root's sub-folders that hold a file; a label is an index into this list.
    classes: Vec<String>,
    layout: Layout,
    largest_bytes: u64,
    remark: Option<String>,
}

impl ClassFolder {
    /// Lists the folder and its sub-folders, without hidden ones. An entry that cannot be read is
    /// left out.
    ///
    /// # Errors
    /// The folder cannot be read, or holds no file of the kind.
    pub fn open(root: &Path, holding: &Holding) -> anyhow::Result<Self> {
        let (shown, Holding { what, kinds, advice, accepts, .. }) = (root.display(), holding);
        if !root.is_dir() {
            return Err(unusable(format!("{shown} is not a folder; give the folder that holds the {what}s")));
        }
        let (mut files, mut folders, mut left_out) = (Vec::new(), Vec::new(), LeftOut::default());
        let mut walk = walkdir::WalkDir::new(root).follow_links(true).into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.depth() == 0 => {
                    return Err(unusable(format!("the {what} folder {shown} cannot be read: {error}")));
                }
                Err(error) => {
                    match error.path().and_then(Path::file_name).is_some_and(is_hidden) {
                        true => left_out.hidden(),
                        false => left_out.unreadable(&error),
                    }
                    continue;
                }
            };
            let kind = entry.file_type();
            if entry.depth() > 0 && is_hidden(entry.file_name()) {
                left_out.hidden();
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
            } else if kind.is_dir() {
                folders.extend((entry.depth() == 1).then(|| entry.file_name().to_string_lossy().into_owned()));
            } else if kind.is_file() && accepts(entry.path()) {
                files.push(entry.into_path());
            } else {
                left_out.other(entry.path());
            }
        }
        if files.is_empty() {
            let found =
                left_out.other_files().map_or_else(String::new, |files| format!(", only other files ({files})"));
            let hint = if *what == "image" { foreign::hint(root) } else { String::new() };
            // What was found has its own advice.
            let advice = if hint.is_empty() { format!("; {advice}") } else { hint };
            return Err(unusable(format!("the {what} folder {shown} holds no {what}{found}{advice}")));
        }
        files.sort_unstable();
        let mut classes: Vec<String> = files.iter().filter_map(|file| class_of(root, file)).collect();
        classes.sort_unstable();
        classes.dedup();
        if !classes.is_empty() {
            folders.retain(|folder| classes.binary_search(folder).is_err());
            folders.sort_unstable();
            left_out.empty_classes(folders);
        }
        let Holding { layout, largest_bytes, .. } = *holding;
        let remarks: Vec<String> =
            left_out.sentence(what, kinds).into_iter().chain(parts_as_classes(&classes)).collect();
        let remark = (!remarks.is_empty()).then(|| format!("{shown}: {}", remarks.join("; ")));
        Ok(Self { root: root.to_owned(), files, classes, layout, largest_bytes, remark })
    }

    fn file(&self, number: u64) -> Option<&PathBuf> {
        self.files.get(usize::try_from(number).ok()?)
    }
}

impl DataSet for ClassFolder {
    fn len(&self) -> u64 {
        self.files.len() as u64
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }

    fn name(&self, number: u64) -> String {
        self.file(number).map_or_else(|| format!("file {number}"), |file| file.display().to_string())
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let file = self.file(number).ok_or_else(|| missing(number, self.len()))?;
        let label = class_of(&self.root, file)
            .and_then(|class| self.classes.binary_search(&class).ok())
            .and_then(|place| u32::try_from(place).ok());
        let (size, most) = (file.metadata().map_or(0, |file| file.len()), self.largest_bytes);
        if size > most {
            return Err(ItemError(format!("it has {size} bytes; at most {most} are read")));
        }
        read_file(file, self.layout, label)
    }

    fn expect(&self, number: u64) {
        if let Some(file) = self.file(number) {
            expect_file(file);
        }
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        numbers.iter().filter_map(|number| self.file(*number).cloned()).collect()
    }

    fn remark(&self) -> Option<String> {
        self.remark.clone()
    }
}

/// Reads an item stored as one file.
pub fn read_file(path: &Path, layout: Layout, label: Option<u32>) -> Result<Item, ItemError> {
    let bytes = std::fs::read(path).map_err(|error| ItemError(error.to_string()))?;
    Ok(Item { bytes, layout, label })
}

/// Advises the system that a file will be read soon.
pub fn expect_file(path: &Path) {
    if let Ok(file) = open_data(path) {
        expect_part(&file, 0, 0);
    }
}

/// Returns the files of a folder, sorted, without sub-folders and hidden files.
///
/// # Errors
/// The folder cannot be read.
pub fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = |error| unusable(format!("the folder {} cannot be read: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !is_hidden(&entry.file_name()) && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn class_of(root: &Path, file: &Path) -> Option<String> {
    let mut below = file.strip_prefix(root).ok()?.components();
    let class = below.next()?;
    below.next().map(|_file| class.as_os_str().to_string_lossy().into_owned())
}
