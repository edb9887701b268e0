//! Names the kind of a file that is not text, from its first bytes.

use std::fmt;

/// First bytes of common files.
const KINDS: [(&[u8], &str); 25] = [
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"RIFF", "a WebP image or another RIFF file"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook (save its sheet as CSV)"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook or another document of Office (save its sheet as CSV)"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard"),
    (b"\xfd7zXZ\0", "compressed by xz"),
    (b"BZh", "compressed by bzip2"),
    (b"\x04\x22\x4d\x18", "compressed by LZ4"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"<!DOCTYPE html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
];

/// Why a file is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    /// Its first bytes are those of another kind of file.
    Kind(&'static str),
    /// The position of the first byte that is not a character.
    Byte(usize),
}

impl NotText {
    /// Recognises another kind of file by its first bytes.
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        let starts = |start: &[u8]| bytes.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
        KINDS.iter().find(|(start, _)| starts(start)).map(|(_, kind)| Self::Kind(kind))
    }

    /// Recognises another kind of file that consists of characters: HTML, XML, a PDF, or a file of
    /// columns, which ends as it begins. Other beginnings may be words, such as a column `PAR1`.
    pub fn recognise_text(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.trim_ascii_start();
        let is_framed = |mark: &[u8]| bytes.len() > mark.len() && bytes.starts_with(mark) && bytes.ends_with(mark);
        let is_other =
            bytes.starts_with(b"<") || bytes.starts_with(b"%PDF-") || is_framed(b"PAR1") || is_framed(b"ARROW1");
        Self::recognise(bytes).filter(|_| is_other)
    }
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "it is {kind}"),
            Self::Byte(place) => write!(f, "it is not text (byte {place})"),
        }
    }
}
