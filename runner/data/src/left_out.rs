//! Entries of a data folder that are not part of the data: counted, and described in one sentence.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Folders and files of systems and tools whose names do not start with a point, in lower case.
const OF_SYSTEMS: [&str; 11] = [
    "__macosx",
    "@eadir",
    "thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "icon\r",
    "$recycle.bin",
    "#recycle",
    "system volume information",
    "lost+found",
    "__pycache__",
];
/// Names of folders with parts of a data set, in lower case.
const PARTS: [&str; 8] = ["train", "training", "val", "valid", "validation", "test", "testing", "eval"];
/// Limit on the extensions that are named.
const NAMED: usize = 5;

/// Returns whether a name is that of a hidden entry, or of a file or folder that an operating
/// system or a tool keeps among the user's files.
pub fn is_hidden(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    name.starts_with('.') || OF_SYSTEMS.contains(&name.as_str())
}

/// Counts of entries that are not part of the data.
#[derive(Debug, Default)]
pub struct LeftOut {
    hidden: u64,
    /// Files of other kinds, by extension.
    others: BTreeMap<String, u64>,
    unreadable: Vec<String>,
    empty_classes: Vec<String>,
}

impl LeftOut {
    /// Counts a hidden file or folder.
    pub fn hidden(&mut self) {
        self.hidden += 1;
    }

    /// Counts a file of another kind.
    pub fn other(&mut self, file: &Path) {
        let ending = file.extension().map(|ending| format!(".{}", ending.to_string_lossy().to_lowercase()));
        *self.others.entry(ending.unwrap_or_default()).or_default() += 1;
    }

    /// Records an entry that cannot be read, such as a link without a target.
    pub fn unreadable(&mut self, error: &walkdir::Error) {
        self.unreadable.push(error.to_string());
    }

    /// Records the sub-folders that hold no item, and are therefore no classes.
    pub fn empty_classes(&mut self, folders: Vec<String>) {
        self.empty_classes = folders;
    }

    /// Returns the counts of the files of other kinds; `None` without such files.
    pub fn other_files(&self) -> Option<String> {
        let mut counts: Vec<(&String, &u64)> = self.others.iter().collect();
        counts.sort_by_key(|(ending, count)| (std::cmp::Reverse(**count), ending.as_str()));
        let rest: u64 = counts.iter().skip(NAMED).map(|(_, count)| **count).sum();
        let named = counts.iter().take(NAMED).map(|(ending, count)| match ending.as_str() {
            "" => format!("{count} without an extension"),
            ending => format!("{count} {ending}"),
        });
        let all: Vec<String> = named.chain((rest > 0).then(|| format!("{rest} others"))).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Returns a sentence on what was left out; `None` if there is nothing.
    pub fn sentence(&self, what: &str, kinds: &str) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(files) = self.other_files() {
            parts.push(format!("files that are not {kinds} ({files})"));
        }
        if self.hidden > 0 {
            parts.push(format!("{} hidden files and folders", self.hidden));
        }
        if let Some(first) = self.unreadable.first() {
            parts.push(format!("{} entries that cannot be read ({first})", self.unreadable.len()));
        }
        if let Some(first) = self.empty_classes.first() {
            parts.push(format!(
                "{} sub-folders without {what}s, which are no classes ({first})",
                self.empty_classes.len()
            ));
        }
        (!parts.is_empty()).then(|| format!("left out: {}", parts.join("; ")))
    }
}

/// Returns a sentence if all classes have the names of parts of a data set.
pub fn parts_as_classes(classes: &[String]) -> Option<String> {
    let is_part = |class: &String| PARTS.contains(&class.to_lowercase().as_str());
    (!classes.is_empty() && classes.iter().all(is_part))
        .then(|| format!("the classes are the folders {}; give one of them to use its sub-folders", classes.join(", ")))
}
