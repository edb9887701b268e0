//! Identity of a data set: its format, its number of items, and a fingerprint of its files.

use std::path::{Path, PathBuf};

use foreglow_shared::{DataSet, Fingerprint};

use super::set;
use super::source::Source;

/// Items whose files are listed in one batch.
const BATCH: u64 = 4096;

/// Returns the identity of the user's data; `None` for generated data.
///
/// # Errors
/// The data cannot be opened.
pub fn identity(source: &Source) -> anyhow::Result<Option<DataSet>> {
    if source.drawing().is_some() {
        return Ok(None);
    }
    let set = source.open()?;
    let path = source.path.canonicalize().unwrap_or_else(|_| source.path.clone());
    Ok(Some(DataSet {
        path: path.to_string_lossy().into_owned(),
        format: source.format().to_owned(),
        items: set.len(),
        fingerprint: fingerprint(set.as_ref(), &source.path, source.vectors()),
    }))
}

/// Hashes the names below `root` and the sizes of all files, in the order of the items. File
/// contents are not read because that would take as long as a run.
fn fingerprint(set: &dyn set::DataSet, root: &Path, vectors: Option<&Path>) -> String {
    let mut fingerprint = Fingerprint::default();
    let mut add = |file: &Path| {
        let below = file.strip_prefix(root).map(Path::as_os_str).ok().filter(|name| !name.is_empty());
        let name = below.or(file.file_name()).unwrap_or_default();
        fingerprint.add(name.as_encoded_bytes());
        fingerprint.add(b"\0");
        fingerprint.add(&file.metadata().map_or(0, |file| file.len()).to_le_bytes());
    };
    let mut last: Vec<PathBuf> = Vec::new();
    for first in (0..set.len()).step_by(BATCH as usize) {
        let numbers: Vec<u64> = (first..set.len().min(first + BATCH)).collect();
        let files = set.files(&numbers);
        // A file shared by several items is listed once per batch.
        files.iter().filter(|file| !last.contains(file)).for_each(|file| add(file));
        last = if files.len() < numbers.len() { files } else { Vec::new() };
    }
    vectors.into_iter().for_each(add);
    fingerprint.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Kind;

    fn of(folder: &Path) -> DataSet {
        identity(&Kind::Folder.at(folder)).unwrap().unwrap()
    }

    #[test]
    fn the_same_files_elsewhere_have_the_same_fingerprint_and_a_changed_one_another() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in [&a, &b] {
            std::fs::create_dir(folder.path().join("cats")).unwrap();
            std::fs::write(folder.path().join("cats/1.png"), "one").unwrap();
            std::fs::write(folder.path().join("2.png"), "two").unwrap();
        }
        let (in_a, in_b) = (of(a.path()), of(b.path()));
        assert_eq!(
            (in_a.fingerprint.as_str(), in_a.items, in_a.format.as_str()),
            (in_b.fingerprint.as_str(), 2, "folder")
        );
        assert_ne!(in_a.path, in_b.path);
        assert!(Path::new(&in_a.path).is_absolute());
        std::fs::write(b.path().join("2.png"), "longer").unwrap();
        assert_ne!(of(b.path()).fingerprint, in_a.fingerprint);
        std::fs::write(b.path().join("2.png"), "two").unwrap();
        assert_eq!(of(b.path()).fingerprint, in_a.fingerprint);
        std::fs::rename(b.path().join("2.png"), b.path().join("3.png")).unwrap();
        assert_ne!(of(b.path()).fingerprint, in_a.fingerprint);
    }

    #[test]
    fn what_foreglow_draws_has_no_identity() {
        assert_eq!(identity(&Kind::Generated.at("nowhere")).unwrap(), None);
    }
}
