//! What tells the formats of files apart, besides the constants of their readers.

/// Signature of a gzip file.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes of a record of CIFAR-10: a label and 32 × 32 pixels of three bytes.
pub const CIFAR10_RECORD: u64 = 1 + 3 * 32 * 32;
/// Bytes before the data of a record of a TFRecord file.
pub const TFRECORD_HEADER: usize = 12;

/// CRC-32C, rotated and offset, because a CRC over data that contains CRCs is weak
/// (tensorflow/core/lib/hash/crc32c.h).
pub fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Returns the length of a record of a TFRecord file from its header, or `None` if its checksum is
/// wrong.
pub fn tfrecord_length(header: [u8; TFRECORD_HEADER]) -> Option<u64> {
    let (length, crc) = header.split_first_chunk::<8>()?;
    let crc = u32::from_le_bytes(*crc.first_chunk()?);
    (masked_crc(length) == crc).then(|| u64::from_le_bytes(*length))
}
