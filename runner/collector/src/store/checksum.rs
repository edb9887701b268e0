//! Checksum of a stored sample.

/// Returns the CRC-32C of an id and a line, which detects any damage of up to 32 adjacent bits.
pub(super) fn checksum(id: &[u8], line: &[u8]) -> i64 {
    i64::from(crc32c::crc32c_append(crc32c::crc32c(id), line))
}
