//! A file to which a running program adds lines.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CHUNK: usize = 64 << 10;

/// A log that grows. It may be truncated, or replaced by a file of the same name (log rotation).
#[derive(Debug)]
pub struct GrowingFile {
    path: PathBuf,
    file: File,
    read_bytes: u64,
}

impl GrowingFile {
    /// Opens a log at its start.
    ///
    /// # Errors
    /// The file cannot be opened, or is no regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        // A pipe without a writer would keep `open` waiting.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Self { path: path.to_owned(), file: File::open(path)?, read_bytes: 0 })
    }

    /// Returns the time since something was written to the file.
    pub fn idle(&self) -> Duration {
        let written = self.file.metadata().and_then(|data| data.modified()).ok();
        written.and_then(|at| at.elapsed().ok()).unwrap_or_default()
    }

    /// Passes on what was added since the last call.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self, on_bytes: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.file.metadata()?.len() < self.read_bytes {
            self.file.seek(SeekFrom::Start(0))?;
            self.read_bytes = 0;
        }
        self.read_to_end(on_bytes)?;
        // Between two files the name may lead to none.
        let Ok(now) = fs::metadata(&self.path) else { return Ok(()) };
        if now.is_file() && !is_same(&now, &self.file.metadata()?) {
            *self = Self::open(&self.path)?;
            self.read_to_end(on_bytes)?;
        }
        Ok(())
    }

    /// Reads up to the end that the file has now, so that a program that writes faster does not
    /// keep this from returning.
    fn read_to_end(&mut self, on_bytes: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let mut chunk = vec![0; CHUNK];
        while self.read_bytes < end {
            let length = self.file.read(&mut chunk)?;
            if length == 0 {
                break;
            }
            self.read_bytes += length as u64;
            on_bytes(&chunk[..length]);
        }
        Ok(())
    }
}

/// Returns whether two files are one. Without numbers of files, a replaced file is one that became
/// shorter.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        one.len() >= other.len()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_log_is_followed_through_truncation_and_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        fs::write(&path, "one\n").unwrap();
        let mut log = GrowingFile::open(&path).unwrap();
        let mut read = || {
            let mut text = Vec::new();
            log.read(&mut |bytes| text.extend_from_slice(bytes)).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(read(), "one\n");
        assert_eq!(read(), "");
        let mut writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
        writer.write_all(b"two\n").unwrap();
        assert_eq!(read(), "two\n");
        writer.set_len(0).unwrap();
        writer.write_all(b"3\n").unwrap();
        assert_eq!(read(), "3\n");
        // What is written to the old file after its rotation is read before the new one.
        fs::rename(&path, folder.path().join("train.log.1")).unwrap();
        writer.write_all(b"four\n").unwrap();
        assert_eq!(read(), "four\n");
        writer.write_all(b"five\n").unwrap();
        fs::write(&path, "six\n").unwrap();
        assert_eq!(read(), "five\nsix\n");
    }

    #[test]
    fn only_regular_files_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let error = GrowingFile::open(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
