//! Lines of a terminal's output, from chunks that are cut anywhere.

use memchr::memchr3;

/// Bytes of a line that are read; the remainder is dropped.
const MOST_BYTES: usize = 16 << 10;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;

/// Splits a stream at line feeds, carriage returns and backspaces, with which programs redraw a
/// line, and removes the control sequences of terminals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    /// When the first byte of the pending line arrived.
    started_at: f64,
}

impl Lines {
    /// Gives each line that ends in the chunk to `read`, with the time of its first byte.
    ///
    /// A program that redraws a line ends it only when it writes the next one, so that the time of
    /// its end would be too late.
    pub fn push(&mut self, mut bytes: &[u8], at: f64, mut read: impl FnMut(&[u8], f64)) {
        while let Some(end) = memchr3(b'\n', b'\r', BACKSPACE, bytes) {
            if self.pending.is_empty() {
                self.line(&bytes[..end], at, &mut read);
            } else {
                self.keep(&bytes[..end]);
                self.finish(&mut read);
            }
            bytes = &bytes[end + 1..];
        }
        if self.pending.is_empty() {
            self.started_at = at;
        }
        self.keep(bytes);
    }

    /// Gives the last line to `read`, although its end is missing.
    pub fn finish(&mut self, mut read: impl FnMut(&[u8], f64)) {
        let line = std::mem::take(&mut self.pending);
        self.line(&line, self.started_at, &mut read);
        self.pending = line;
        self.pending.clear();
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MOST_BYTES - self.pending.len().min(MOST_BYTES);
        self.pending.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&self, line: &[u8], at: f64, read: &mut impl FnMut(&[u8], f64)) {
        let line = &line[..line.len().min(MOST_BYTES)];
        if memchr::memchr(ESCAPE, line).is_some() {
            read(&without_escapes(line), at);
        } else if !line.is_empty() {
            read(line, at);
        }
    }
}

/// Removes control sequences: `ESC [ … letter`, `ESC ] … BEL` and `ESC letter`.
fn without_escapes(line: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != ESCAPE {
            text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'[') => drop(bytes.find(|byte| (0x40..=0x7e).contains(byte))),
            Some(b']') => drop(bytes.find(|byte| *byte == BELL)),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<(String, f64)> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        let mut read = |line: &[u8], at| all.push((String::from_utf8_lossy(line).into_owned(), at));
        for (at, chunk) in chunks.iter().enumerate() {
            lines.push(chunk, at as f64, &mut read);
        }
        lines.finish(&mut read);
        all
    }

    #[test]
    fn a_line_has_the_time_of_its_first_byte_wherever_the_chunks_are_cut() {
        let expected = [("one".to_owned(), 0.0), ("two".to_owned(), 1.0), ("three".to_owned(), 3.0)];
        assert_eq!(lines(&[b"on", b"e\r\ntw", b"o\n", b"three"]), expected);
    }

    #[test]
    fn colours_and_cursor_movements_are_removed_and_other_bytes_stay() {
        assert_eq!(lines(&[b"\x1b[1m 12/9\x1b[0m\x1b[32m \xff\x1b[A\x1b]0;title\x07!"])[0].0, " 12/9 \u{fffd}!");
        assert_eq!(lines(&[b"\x1b[", b"1", b"mab\x08\x08cd"]).len(), 2);
    }

    #[test]
    fn a_line_without_end_takes_a_bounded_memory() {
        let mut buffer = Lines::default();
        for _ in 0..1000 {
            buffer.push(&[b'x'; 1000], 0.0, |_, _| panic!("no line ends here"));
        }
        assert!(buffer.pending.len() <= MOST_BYTES);
    }
}
