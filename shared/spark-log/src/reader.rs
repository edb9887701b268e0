//! Splits bytes into lines and reads their events.

use crate::application::Application;
use crate::collect::take;
use crate::kind::{Kind, Start, start};

/// Limit on the length of a line; a longer one counts as damaged. The longest real lines, query
/// plans, are skipped unread.
const MAX_LINE: usize = 64 << 20;

/// Reads an event log from consecutive chunks of its uncompressed bytes.
///
/// ```
/// # use foreglow_spark_log::EventLogReader;
/// let mut reader = EventLogReader::new();
/// reader.push(b"{\"Event\":\"SparkListenerLogStart\",\"Spark Ver");
/// reader.push(b"sion\":\"3.5.9\"}\n");
/// assert_eq!(reader.finish().unwrap().spark_version.as_deref(), Some("3.5.9"));
/// ```
#[derive(Debug, Default)]
pub struct EventLogReader {
    application: Application,
    /// Beginning of the line that the last chunk ended in.
    rest: Vec<u8>,
    /// Whether the rest of that line is skipped.
    is_skipping: bool,
    lines: u64,
    events: u64,
}

/// Why the bytes are not an event log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventLogError {
    /// The input has no line.
    #[error("it is empty; give the event log of an application that has started")]
    Empty,
    /// None of the lines is an event.
    #[error(
        "it is not a Spark event log: none of its lines is an event; give a file that Spark wrote with spark.eventLog.enabled=true"
    )]
    NoEvents,
}

impl EventLogReader {
    /// Creates a reader.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next chunk, which may begin and end inside a line.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, after) = (&bytes[..end], &bytes[end + 1..]);
            bytes = after;
            self.lines += 1;
            if self.is_skipping {
                self.is_skipping = false;
            } else if self.rest.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.line(&whole);
                whole.clear();
                self.rest = whole;
            }
        }
        self.keep(bytes);
    }

    /// Records that events are missing after the last chunk, which may end inside a line.
    pub fn gap(&mut self, reason: impl Into<String>) {
        if !self.rest.is_empty() || self.is_skipping {
            self.lines += 1;
        }
        self.rest.clear();
        self.is_skipping = false;
        self.application.damage.gaps.push(reason.into());
    }

    /// Returns what was read, after the last chunk.
    ///
    /// # Errors
    /// [`EventLogError`]: the input holds no event.
    pub fn finish(mut self) -> Result<Application, EventLogError> {
        if !self.rest.is_empty() {
            self.lines += 1;
            let line = std::mem::take(&mut self.rest);
            let before = self.application.damage.clone();
            self.line(&line);
            if self.application.damage.lines > before.lines {
                self.application.damage = super::Damage { cut_short: true, ..before };
            }
        }
        match (self.events, self.lines) {
            (0, 0) if !self.is_skipping => Err(EventLogError::Empty),
            (0, _) => Err(EventLogError::NoEvents),
            _ => Ok(self.application),
        }
    }

    /// Keeps the beginning of a line, unless the line is to be skipped.
    fn keep(&mut self, bytes: &[u8]) {
        if self.is_skipping || bytes.is_empty() {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let passed_over = match start(&self.rest) {
            Start::Unwanted => {
                self.events += 1;
                true
            }
            Start::NoEvent => {
                self.damaged(self.lines + 1);
                true
            }
            Start::Wanted(_) if self.rest.len() > MAX_LINE => {
                self.damaged(self.lines + 1);
                true
            }
            Start::Wanted(_) | Start::Short | Start::Blank => false,
        };
        if passed_over {
            self.rest = Vec::new();
            self.is_skipping = true;
        }
    }

    fn line(&mut self, line: &[u8]) {
        match start(line) {
            Start::Wanted(kind) => self.event(kind, line),
            Start::Unwanted => self.events += 1,
            Start::Blank => {}
            Start::Short | Start::NoEvent => self.damaged(self.lines),
        }
    }

    fn event(&mut self, kind: Kind, line: &[u8]) {
        // Parses from a string, like samples and links: parsing from bytes would compile the JSON
        // reader into the page a second time.
        match take(&mut self.application, kind, &String::from_utf8_lossy(line)) {
            Ok(()) => self.events += 1,
            Err(_) => self.damaged(self.lines),
        }
    }

    fn damaged(&mut self, line: u64) {
        let damage = &mut self.application.damage;
        damage.lines += 1;
        damage.first.get_or_insert(line);
    }
}
