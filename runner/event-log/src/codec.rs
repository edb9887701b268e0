//! Detection of a log's compression from its first bytes, because file names may have changed.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use super::blocks::{Blocks, LZ4_MAGIC, LZF_MAGIC, Lz4, Lzf, SNAPPY_MAGIC, Snappy};

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Decompresses compressed input and passes other input through.
///
/// # Errors
/// The input cannot be read.
pub fn uncompressed<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let start = input.fill_buf()?;
    let is = |magic: &[u8]| start.starts_with(magic);
    Ok(if is(ZSTD_MAGIC) {
        // Reads all frames, because Spark writes many.
        Box::new(zstd::stream::read::Decoder::with_buffer(input)?)
    } else if is(LZ4_MAGIC) {
        Box::new(Blocks::new(input, Lz4::default()))
    } else if is(SNAPPY_MAGIC) {
        Box::new(Blocks::new(input, Snappy::default()))
    } else if is(LZF_MAGIC) {
        Box::new(Blocks::new(input, Lzf::default()))
    } else if is(GZIP_MAGIC) {
        // Not a codec of Spark, but common for archived logs.
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    })
}
