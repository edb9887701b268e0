//! Decompression of event logs.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use foreglow_import::Compression;

use super::blocks::{Blocks, Lz4, Lzf, Snappy};

/// Decompresses compressed input and passes other input through.
///
/// # Errors
/// The input cannot be read.
pub fn uncompressed<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match Compression::of(input.fill_buf()?) {
        // Reads all frames, because Spark writes many.
        Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
        Some(Compression::Lz4) => Box::new(Blocks::new(input, Lz4::default())),
        Some(Compression::Snappy) => Box::new(Blocks::new(input, Snappy::default())),
        Some(Compression::Lzf) => Box::new(Blocks::new(input, Lzf::default())),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(input)),
        None => Box::new(input),
    })
}
