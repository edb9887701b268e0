//! The wire format of protocol buffers, read from a seekable source
//! (<https://protobuf.dev/programming-guides/encoding/>).

use std::io::{Read, Seek, SeekFrom};

use crate::Error;

/// Reads fields in order and counts the position.
pub struct Wire<'a, R> {
    source: &'a mut R,
    at: u64,
    len: u64,
}

/// Value of a field. The payload of `Bytes` follows at the position of the reader: it must be read,
/// entered or skipped before the next field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    /// Length in bytes.
    Bytes(u64),
}

impl<'a, R: Read + Seek> Wire<'a, R> {
    /// Starts at the beginning of the source.
    pub fn new(source: &'a mut R) -> Result<Self, Error> {
        let len = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        Ok(Self { source, at: 0, len })
    }

    /// Returns the position.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the length of the source.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number and the value of the next field before `end`.
    pub fn field(&mut self, end: u64) -> Result<Option<(u64, Payload)>, Error> {
        if self.at >= end {
            return if self.at == end { Ok(None) } else { Err(Error::Truncated) };
        }
        let key = self.varint()?;
        let payload = match key & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let len = self.varint()?;
                if end.checked_sub(self.at).is_none_or(|rest| len > rest) {
                    return Err(Error::Truncated);
                }
                Payload::Bytes(len)
            }
            5 => Payload::Fixed32(u32::from_le_bytes(self.array()?)),
            kind => return Err(Error::NotOnnx(format!("a field has the unknown wire type {kind}"))),
        };
        Ok(Some((key >> 3, payload)))
    }

    /// Skips the payload of a field that is not used.
    pub fn skip(&mut self, payload: Payload) -> Result<(), Error> {
        if let Payload::Bytes(len) = payload {
            let by = i64::try_from(len).map_err(|_| Error::Truncated)?;
            self.source.seek_relative(by)?;
            self.at += len;
        }
        Ok(())
    }

    /// Reads a payload of bytes.
    pub fn bytes(&mut self, payload: Payload) -> Result<Vec<u8>, Error> {
        let len = usize::try_from(self.message(payload)? - self.at).map_err(|_| Error::Truncated)?;
        let mut bytes = vec![0; len];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a text; invalid UTF-8 is replaced.
    pub fn text(&mut self, payload: Payload) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.bytes(payload)?).into_owned())
    }

    /// Returns the end of a nested message, which starts at the position of the reader.
    pub fn message(&self, payload: Payload) -> Result<u64, Error> {
        match payload {
            Payload::Bytes(len) => Ok(self.at + len),
            _ => Err(Error::NotOnnx("a field has another type than the format says".to_owned())),
        }
    }

    /// Appends the integers of a repeated field, packed or not.
    pub fn integers(&mut self, payload: Payload, to: &mut Vec<i64>) -> Result<(), Error> {
        match payload {
            Payload::Varint(number) => to.push(number as i64),
            payload => {
                let end = self.message(payload)?;
                while self.at < end {
                    to.push(self.varint()? as i64);
                }
            }
        }
        Ok(())
    }

    /// Appends the floats of a repeated field, packed or not.
    pub fn floats(&mut self, payload: Payload, to: &mut Vec<f32>) -> Result<(), Error> {
        match payload {
            Payload::Fixed32(bits) => to.push(f32::from_bits(bits)),
            payload => {
                let bytes = self.bytes(payload)?;
                to.extend(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::NotOnnx("a number has more than 64 bits".to_owned()))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Truncated,
            _ => Error::Read(error),
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}
