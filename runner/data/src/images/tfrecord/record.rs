//! Framing of a TFRecord file: `length` (8 bytes), masked CRC-32C of the length (4), data, masked
//! CRC-32C of the data (4); all little-endian (tensorflow/core/lib/io/record_writer.h).

use std::io::{self, BufReader, Read as _, Write};
use std::path::Path;

use foreglow_exit::{open_data, unusable};

use crate::foreign;
use crate::set::ItemError;
use crate::signature::{TFRECORD_HEADER as HEADER, masked_crc, tfrecord_length};

/// Bytes after the data.
pub const FOOTER: usize = 4;

/// Position of a record's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRange {
    /// First byte of the data.
    pub offset: u64,
    /// Bytes of the data.
    pub len: u64,
}

/// Finds every record of a file from the lengths only; the data is checked when it is read.
///
/// # Errors
/// The file cannot be read, the checksum of a length is wrong, or the last record is truncated.
pub fn index(path: &Path) -> anyhow::Result<Vec<RecordRange>> {
    let shown = path.display();
    let unreadable = |error: io::Error| unusable(format!("the TFRecord file {shown} cannot be read: {error}"));
    let file = open_data(path).map_err(unreadable)?;
    let end = file.metadata().map_err(unreadable)?.len();
    let mut reader = BufReader::new(file);
    let (mut places, mut offset) = (Vec::new(), 0_u64);
    while offset < end {
        let number = places.len();
        let cut_short =
            || unusable(format!("record {number} of {shown} is cut short; copy the file again, or leave it out"));
        if end - offset < HEADER as u64 {
            return Err(cut_short());
        }
        let mut header = [0; HEADER];
        reader.read_exact(&mut header).map_err(unreadable)?;
        let Some(len) = tfrecord_length(header) else {
            let hint = match (number, foreign::description(path)) {
                (0, Some(found)) => format!("it {found}"),
                (0, None) => "the file is damaged, compressed, or not a TFRecord".to_owned(),
                _ => "the file is damaged".to_owned(),
            };
            return Err(unusable(format!("record {number} of {shown} has a length with a wrong checksum: {hint}")));
        };
        let after = len.checked_add((HEADER + FOOTER) as u64).and_then(|len| offset.checked_add(len));
        let after = after.filter(|after| *after <= end).ok_or_else(cut_short)?;
        places.push(RecordRange { offset: offset + HEADER as u64, len });
        // A length inside the file fits into an i64.
        reader.seek_relative((len + FOOTER as u64).cast_signed()).map_err(unreadable)?;
        offset = after;
    }
    Ok(places)
}

/// Verifies the checksum at the end of a record's data and removes it.
///
/// # Errors
/// The checksum is wrong.
pub fn checked(mut data: Vec<u8>) -> Result<Vec<u8>, ItemError> {
    let len = data.len().saturating_sub(FOOTER);
    let crc = data.split_off(len);
    if little_endian(&crc) == Some(masked_crc(&data)) {
        Ok(data)
    } else {
        Err(ItemError("its checksum (CRC-32C) is wrong: the file is damaged".into()))
    }
}

/// Writes one record.
///
/// # Errors
/// The writer fails, for example because the disk is full.
pub fn write(out: &mut impl Write, data: &[u8]) -> io::Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked_crc(&length).to_le_bytes())?;
    out.write_all(data)?;
    out.write_all(&masked_crc(data).to_le_bytes())
}

fn little_endian(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C (RFC 3720, B.4: 32 bytes of zero), masked by hand.
    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(masked_crc(&[0; 32]), 0x0fd7_fffa);
    }

    #[test]
    fn records_are_found_where_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tfrecord");
        let mut bytes = Vec::new();
        for data in [&b"first"[..], b"", &[7; 20_000]] {
            write(&mut bytes, data).unwrap();
        }
        std::fs::write(&path, &bytes).unwrap();
        let places = index(&path).unwrap();
        assert_eq!(places.iter().map(|place| place.len).collect::<Vec<_>>(), [5, 0, 20_000]);
        assert_eq!(places[1].offset, 12 + 5 + 4 + 12);
        for cut in [bytes.len() - 1, 33, 25] {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let said = index(&path).unwrap_err().to_string();
            assert!(said.contains("is cut short") && said.contains("a.tfrecord"), "{said}");
        }
        bytes[21] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let said = index(&path).unwrap_err().to_string();
        assert!(said.contains("record 1 of") && said.contains("wrong checksum"), "{said}");
    }
}
