//! Reading of files that a user names: no pipe without a writer and no endless device holds a
//! command up.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Limit on what is read from a pipe or a device, bytes.
const MOST_BYTES: u64 = 1 << 28;
/// Limit on a token or a certificate, bytes.
const MOST_OF_SMALL: u64 = 1 << 20;

/// Opens a regular file, for data that are read in parts or several times.
///
/// # Errors
/// The file cannot be opened, or is something else: the opening of a pipe would wait for its
/// writer.
pub fn open_data(path: &Path) -> Result<File> {
    let kind = path.metadata()?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe or a device; save the data in a file"));
    }
    File::open(path)
}

/// Reads a file as a whole. Pipes and devices are read up to a limit.
///
/// # Errors
/// The file cannot be read, or is a pipe or device that gives more than 256 MiB.
pub fn read_whole(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.is_file() {
        return std::fs::read(path);
    }
    read_limited(file, MOST_BYTES)
}

/// Reads a token, a certificate or a key, from a file or from a pipe such as `<(pass show token)`.
///
/// # Errors
/// The file cannot be read, or is larger than 1 MiB.
pub fn read_small(path: &Path) -> Result<Vec<u8>> {
    read_limited(File::open(path)?, MOST_OF_SMALL)
}

/// Reads a regular file as a whole.
///
/// # Errors
/// As for [`open_data`], and the file cannot be read.
pub fn read_data(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_data(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_limited(stream: impl std::io::Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let sentence = format!("it gives more than {} MiB; save the data in a file", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, sentence));
    }
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_writer_and_a_device_are_no_data() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, file, link] = ["pipe", "file", "link"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for no_data in [&pipe, Path::new("/dev/zero")] {
            let error = open_data(no_data).unwrap_err();
            assert!(error.to_string().contains("it is a pipe or a device"), "{error}");
        }
        assert_eq!(open_data(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(open_data(&file).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(&file, "data").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open_data(&file).is_ok() && open_data(&link).is_ok());
    }

    #[test]
    fn an_endless_stream_is_read_up_to_a_limit() {
        assert_eq!(read_limited(&b"12345"[..], 5).unwrap(), b"12345");
        let zeros = File::open("/dev/zero").unwrap();
        assert_eq!(read_limited(zeros, 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_whole(Path::new("/dev/null")).unwrap(), b"");
        assert_eq!(read_small(Path::new("/dev/zero")).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_data(Path::new("/dev/zero")).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
