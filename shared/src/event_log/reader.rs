//! From bytes to events, a line at a time.

use super::application::Application;
use super::collect::take;
use super::kind::{Kind, Start, start};

/// A line longer than this is damage: the longest real ones, plans of large queries, are not read at all.
const MAX_LINE: usize = 64 << 20;

/// Reads an event log from pieces of its bytes, uncompressed, in order.
///
/// ```
/// # use foreglow_shared::event_log::EventLogReader;
/// let mut reader = EventLogReader::new();
/// reader.push(b"{\"Event\":\"SparkListenerLogStart\",\"Spark Ver");
/// reader.push(b"sion\":\"3.5.9\"}\n");
/// assert_eq!(reader.finish().unwrap().spark_version.as_deref(), Some("3.5.9"));
/// ```
#[derive(Debug, Default)]
pub struct EventLogReader {
    application: Application,
    /// The beginning of the line that the last piece ended in.
    rest: Vec<u8>,
    /// Whether the end of that line is passed over.
    is_skipping: bool,
    lines: u64,
    events: u64,
}

/// Why bytes are no event log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventLogError {
    /// No line.
    #[error("it is empty; give the event log of an application that has started")]
    Empty,
    /// Lines, and no event.
    #[error(
        "it is no Spark event log: none of its lines is an event; give a file that Spark wrote with spark.eventLog.enabled=true"
    )]
    NoEvents,
}

impl EventLogReader {
    /// A reader that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next piece. Lines may begin and end anywhere in it.
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

    /// What was read, once there is no more.
    ///
    /// # Errors
    /// There was no event in it.
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

    /// Keeps the beginning of a line, if it is one that is read.
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
        // As text, as samples and links are read: what reads JSON from bytes would be compiled beside it.
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
