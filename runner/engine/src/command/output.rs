//! Output of a program: read as it comes, in constant memory.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Lines to keep for the message of a failure.
const KEPT_LINES: usize = 40;
/// Letters of a line to keep.
const KEPT_LETTERS: usize = 500;
const CHUNK: usize = 64 << 10;

/// The output of a program on both of its streams.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Seen>>);

/// What the output said so far.
#[derive(Default)]
struct Seen {
    last_lines: VecDeque<String>,
}

impl Output {
    /// Reads a stream to its end, in a thread of its own.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn read(&self, mut stream: impl Read + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        let output = self.clone();
        std::thread::Builder::new().spawn(move || {
            let mut chunk = vec![0; CHUNK];
            let mut line = Line::default();
            loop {
                match stream.read(&mut chunk) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(length) => output.seen().take(&chunk[..length], &mut line),
                }
            }
            output.seen().keep(&mut line);
        })
    }

    /// Returns the last lines, which are not blank.
    pub fn last_lines(&self) -> Vec<String> {
        self.seen().last_lines.iter().cloned().collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning of a line whose end has not arrived.
#[derive(Default)]
struct Line(Vec<u8>);

impl Seen {
    fn take(&mut self, mut bytes: &[u8], line: &mut Line) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            line.extend(&bytes[..end]);
            self.keep(line);
            bytes = &bytes[end + 1..];
        }
        line.extend(bytes);
    }

    fn keep(&mut self, line: &mut Line) {
        let text = String::from_utf8_lossy(&line.0);
        if !text.trim().is_empty() {
            if self.last_lines.len() == KEPT_LINES {
                self.last_lines.pop_front();
            }
            self.last_lines.push_back(text.trim_end().to_owned());
        }
        line.0.clear();
    }
}

impl Line {
    fn extend(&mut self, bytes: &[u8]) {
        let room = KEPT_LETTERS.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_lines(text: Vec<u8>) -> Vec<String> {
        let output = Output::default();
        output.read(std::io::Cursor::new(text)).unwrap().join().unwrap();
        output.last_lines()
    }

    #[test]
    fn the_last_lines_are_kept_without_blank_ones() {
        let lines: String = (0..100).map(|number| format!("line {number}\n\n  \r")).collect();
        let kept = last_lines(format!("{lines}end").into_bytes());
        assert_eq!((kept.len(), kept.first().unwrap().as_str()), (KEPT_LINES, "line 61"));
        assert_eq!(kept.last().unwrap(), "end");
    }

    #[test]
    fn a_line_without_end_and_bytes_that_are_no_text_take_constant_memory() {
        let kept = last_lines(vec![0xff; 10 << 20]);
        assert_eq!(kept[0].chars().count(), KEPT_LETTERS);
    }
}
