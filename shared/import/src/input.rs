//! The content of one file, or of the parts of one log, piece by piece.

use std::collections::VecDeque;
use std::io::Read;

use foreglow_shared::decode;

use crate::ImportError;

/// Bytes per read.
const PIECE: u64 = 256 << 10;
/// Bytes from which the format is detected.
const START: usize = 16 << 10;

/// A part of a log, such as a file of a rolling log.
pub enum Part<'a> {
    /// Uncompressed bytes.
    Content {
        /// Name for messages.
        name: String,
        /// The bytes. An error while they are read means damage, or a file that is being written.
        bytes: Box<dyn Read + 'a>,
    },
    /// A part that is missing, and why.
    Gap(String),
}

/// The next bytes of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes, in UTF-8 without a byte order mark if the part is text in UTF-8 or UTF-16.
    Bytes(Vec<u8>),
    /// Bytes that are missing here, and why.
    Gap(String),
}

/// The content of one file, or of the parts of one log, in the order in which they were written.
pub struct Input<'a> {
    parts: Box<dyn Iterator<Item = Part<'a>> + 'a>,
    /// Name and bytes of the part that is being read.
    current: Option<(String, Box<dyn Read + 'a>)>,
    /// Pieces read before they were needed.
    ahead: VecDeque<Piece>,
}

impl<'a> Input<'a> {
    /// Creates an input of several parts.
    pub fn new(parts: impl IntoIterator<Item = Part<'a>, IntoIter: 'a>) -> Self {
        Self { parts: Box::new(parts.into_iter()), current: None, ahead: VecDeque::new() }
    }

    /// Creates an input of the bytes of one file.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self::new([Part::Content { name: "the file".to_owned(), bytes: Box::new(bytes) }])
    }

    /// Returns the first characters, which the pieces also contain.
    ///
    /// # Errors
    /// Nothing of the file can be decompressed.
    pub fn start(&mut self) -> Result<String, ImportError> {
        let mut ahead = VecDeque::new();
        let mut start = None;
        for piece in self.by_ref() {
            if let Piece::Bytes(bytes) = &piece {
                start = Some(String::from_utf8_lossy(&bytes[..bytes.len().min(START)]).trim_start().to_owned());
            }
            ahead.push_back(piece);
            if start.is_some() {
                break;
            }
        }
        ahead.append(&mut self.ahead);
        self.ahead = ahead;
        match (start, self.ahead.back()) {
            (None, Some(Piece::Gap(reason))) => Err(ImportError::Damaged(reason.clone())),
            (start, _) => Ok(start.unwrap_or_default()),
        }
    }

    /// Whether the name of the part that is being read contains a text.
    pub(crate) fn is_named(&self, text: &str) -> bool {
        self.current.as_ref().is_some_and(|(name, _)| name.contains(text))
    }

    /// Returns all bytes.
    ///
    /// # Errors
    /// A part is missing or damaged.
    pub fn bytes(&mut self) -> Result<Vec<u8>, ImportError> {
        let mut all = Vec::new();
        for piece in self {
            match piece {
                Piece::Bytes(bytes) => all.extend(bytes),
                Piece::Gap(reason) => return Err(ImportError::Damaged(reason)),
            }
        }
        Ok(all)
    }
}

impl Iterator for Input<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.ahead.pop_front() {
                return Some(piece);
            }
            let mut is_first = false;
            if self.current.is_none() {
                match self.parts.next()? {
                    Part::Gap(reason) => return Some(Piece::Gap(reason)),
                    Part::Content { name, bytes } => self.current = Some((name, bytes)),
                }
                is_first = true;
            }
            let Some((name, reader)) = &mut self.current else { continue };
            let mut bytes = Vec::new();
            let mut read = reader.take(PIECE).read_to_end(&mut bytes);
            if is_first && is_utf16(&bytes) && read.is_ok() {
                read = reader.read_to_end(&mut bytes);
            }
            if let Err(error) = &read {
                let reason =
                    format!("{name} is damaged or still being written; only the readable part is used ({error})");
                self.ahead.push_back(Piece::Gap(reason));
            }
            if read.is_err() || bytes.is_empty() {
                self.current = None;
            }
            if !bytes.is_empty() {
                self.ahead.push_front(Piece::Bytes(if is_first { without_mark(bytes) } else { bytes }));
            }
        }
    }
}

/// Whether the first bytes of a text are UTF-16: with a byte order mark, or ASCII with zero bytes.
fn is_utf16(start: &[u8]) -> bool {
    matches!(start, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [1..=127, 0, 1..=127, 0, ..] | [0, 1..=127, 0, 1..=127, ..])
}

/// Removes the byte order mark of a text, and decodes UTF-16. Other bytes are unchanged.
fn without_mark(bytes: Vec<u8>) -> Vec<u8> {
    match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None if is_utf16(&bytes) => decode(&bytes).map_or(bytes, String::into_bytes),
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_log_have_the_same_bytes_in_every_encoding() {
        let text = "{\"a\":\"é\"}\n";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for first in [text.as_bytes(), "\u{feff}{\"a\":\"é\"}\n".as_bytes(), &utf16, &[b"\xff\xfe", &*utf16].concat()]
        {
            let content = |bytes| Part::Content { name: "a".to_owned(), bytes: Box::new(bytes) };
            let mut input =
                Input::new([content(first), Part::Gap("lost".to_owned()), content(b"\xef\xbb\xbfb".as_slice())]);
            assert_eq!(input.start().as_deref(), Ok(text));
            let pieces: Vec<Piece> = input.collect();
            let bytes = |text: &str| Piece::Bytes(text.as_bytes().to_vec());
            assert_eq!(pieces, [bytes(text), Piece::Gap("lost".to_owned()), bytes("b")]);
        }
    }

    #[test]
    fn what_could_be_read_before_an_error_is_a_piece_before_the_gap() {
        struct Broken(bool);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(std::io::Error::other("cut"));
                }
                buffer[0] = b'x';
                Ok(1)
            }
        }
        let broken = |has_nothing| Part::Content { name: "log".to_owned(), bytes: Box::new(Broken(has_nothing)) };
        let pieces: Vec<Piece> = Input::new([broken(false)]).collect();
        assert_eq!(pieces[0], Piece::Bytes(b"x".to_vec()));
        assert!(matches!(&pieces[1..], [Piece::Gap(reason)] if reason.starts_with("log is damaged")), "{pieces:?}");
        assert!(matches!(Input::new([broken(true)]).start(), Err(ImportError::Damaged(_))));
        assert_eq!(Input::from_bytes(b"").start().as_deref(), Ok(""));
    }
}
