//! Which compression a log has, told from its first bytes: names may be changed on the way.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use super::blocks::{Blocks, LZ4_MAGIC, LZF_MAGIC, Lz4, Lzf, SNAPPY_MAGIC, Snappy};

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Uncompresses what is compressed, and hands through what is not.
///
/// # Errors
/// The input cannot be read.
pub fn uncompressed<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let start = input.fill_buf()?;
    let is = |magic: &[u8]| start.starts_with(magic);
    Ok(if is(ZSTD_MAGIC) {
        // Reads every frame: Spark writes many.
        Box::new(zstd::stream::read::Decoder::with_buffer(input)?)
    } else if is(LZ4_MAGIC) {
        Box::new(Blocks::new(input, Lz4::default()))
    } else if is(SNAPPY_MAGIC) {
        Box::new(Blocks::new(input, Snappy::default()))
    } else if is(LZF_MAGIC) {
        Box::new(Blocks::new(input, Lzf::default()))
    } else if is(GZIP_MAGIC) {
        // No codec of Spark's, but how people keep logs.
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    })
}
