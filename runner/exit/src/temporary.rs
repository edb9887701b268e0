//! Temporary files and folders, which are removed also when a signal ends the command.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::interrupt::listen;
use crate::leftovers::{paths, remove};

/// A temporary file or folder, removed when this is dropped and when a signal ends the command.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Takes charge of a file or folder, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        listen();
        let path = path.into();
        paths().push(path.clone());
        Self(path)
    }

    /// Creates a folder among the system's temporary files.
    ///
    /// # Errors
    /// The disk is full or cannot be written.
    pub fn folder() -> anyhow::Result<Self> {
        let made = tempfile::Builder::new().prefix("foreglow-").tempdir();
        Ok(Self::at(made.context("a temporary folder could not be created")?.keep()))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the path alone from now on, such as after the file was renamed.
    pub fn keep(mut self) {
        self.forget();
        self.0.clear();
    }

    fn forget(&self) {
        let mut paths = paths();
        if let Some(place) = paths.iter().position(|path| *path == self.0) {
            paths.swap_remove(place);
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            remove(&self.0);
            self.forget();
        }
    }
}

/// Creates a file in place of what is at the path. Unlike [`std::fs::File::create`] it does not
/// follow a link that another user has put at the place of a temporary file.
///
/// # Errors
/// The file cannot be created.
pub fn create_in_place(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_one_is_removed_and_a_kept_one_is_not() {
        let folder = Temporary::folder().unwrap();
        let [kept, dropped] = ["kept", "dropped"].map(|name| folder.path().join(name));
        for path in [&kept, &dropped] {
            std::fs::write(path, "x").unwrap();
        }
        Temporary::at(&kept).keep();
        drop(Temporary::at(&dropped));
        assert!(kept.is_file() && !dropped.exists());
        assert_eq!(paths().iter().filter(|path| path.starts_with(folder.path())).count(), 1, "the folder itself");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_created_in_place_of_a_link_and_not_where_it_leads() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let [victim, part, gone] = ["victim", "a.part", "gone"].map(|name| folder.path().join(name));
        std::fs::write(&victim, "precious").unwrap();
        for target in [&victim, &gone] {
            std::os::unix::fs::symlink(target, &part).unwrap();
            create_in_place(&part).unwrap().write_all(b"part").unwrap();
            assert_eq!(std::fs::read_to_string(&part).unwrap(), "part");
            assert!(!part.is_symlink() && !gone.exists());
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
            std::fs::remove_file(&part).unwrap();
        }
        create_in_place(&part).unwrap();
        create_in_place(&part).unwrap();
        assert!(create_in_place(folder.path()).is_err());
    }
}
