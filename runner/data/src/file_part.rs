//! Reads parts of a file without a cursor, so that threads can share an open file, and advises the
//! system about access.

use std::fs::File;
use std::io;
use std::path::Path;

use foreglow_exit::open_data;

/// Reads `len` bytes at `offset`.
///
/// # Errors
/// The file is shorter, or cannot be read.
pub fn read_part(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    fill(file, offset, &mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn fill(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn fill(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += read as u64;
        bytes = &mut bytes[read..];
    }
    Ok(())
}

/// Advises the system that this part (the rest of the file if `len` is 0) will be read soon, so
/// that it reads ahead.
pub fn expect_part(file: &File, offset: u64, len: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Advice, fadvise};
        let _ = fadvise(file, offset, std::num::NonZeroU64::new(len), Advice::WillNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, len);
}

/// Asks the system to evict a file from its page cache, so that the next read comes from the disk.
/// Dirty pages are written first.
///
/// # Errors
/// The file cannot be opened, or the system does not support this.
pub fn forget(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Advice, fadvise, fdatasync};
        let file = open_data(path)?;
        fdatasync(&file)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
}
