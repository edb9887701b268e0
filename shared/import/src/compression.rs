//! Compression formats of event logs, by their first bytes, because file names may have changed.

/// Magic number of each block of lz4-java.
pub const LZ4_MAGIC: &[u8] = b"LZ4Block";
/// Magic number of a stream of snappy-java.
pub const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// Magic number of each chunk of compress-lzf.
pub const LZF_MAGIC: &[u8] = b"ZV";
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zstd, in many frames.
    Zstd,
    /// Blocks of lz4-java.
    Lz4,
    /// Streams of snappy-java.
    Snappy,
    /// Chunks of compress-lzf.
    Lzf,
    /// gzip, which Spark does not write, but which is common for archived logs.
    Gzip,
}

impl Compression {
    /// Returns the format of a file; `None` if it is not compressed.
    pub fn of(start: &[u8]) -> Option<Self> {
        let formats = [
            (ZSTD_MAGIC, Self::Zstd),
            (LZ4_MAGIC, Self::Lz4),
            (SNAPPY_MAGIC, Self::Snappy),
            (LZF_MAGIC, Self::Lzf),
            (GZIP_MAGIC, Self::Gzip),
        ];
        formats.into_iter().find_map(|(magic, format)| start.starts_with(magic).then_some(format))
    }
}
