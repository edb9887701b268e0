//! Bodies of requests: limits on size, time and the memory of all of them together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::{MAX_BODY_BYTES, refusal};

/// Limit on the time between two parts of a body.
const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit on the time of a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Memory of all bodies together, in units of [`UNIT_BYTES`].
const UNITS: usize = 64 << 10;
const UNIT_BYTES: usize = 1 << 10;
/// Limit on a small body: the form of the sign-in, which is read before tokens are checked, or the
/// state of a job. It is outside the memory of the other bodies.
const MAX_SMALL_BYTES: usize = 4 << 10;
/// Size from which lines of a body are stored in the next chunk.
const CHUNK_BYTES: usize = 256 << 10;

/// Memory for the bodies of all requests.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A body, with its share of the memory.
pub(super) struct Body {
    pub(super) lines: Lines,
    pub(super) memory: BodyShare,
}

/// The lines of a body in chunks; the memory of each is freed after parsing.
pub(super) struct Lines {
    /// At least one. A line break separates a chunk from the next.
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

impl Lines {
    fn new() -> Self {
        Self { chunks: vec![Vec::new()], bytes: 0 }
    }

    fn add(&mut self, part: &[u8]) {
        self.bytes += part.len();
        let Some(last) = self.chunks.last_mut() else { return self.chunks.push(part.to_vec()) };
        let is_full = last.len() + part.len() > CHUNK_BYTES;
        let line_break = part.iter().rposition(|byte| *byte == b'\n').filter(|_| is_full);
        let (end, start) = line_break.map_or((part.len(), None), |place| (place, Some(place + 1)));
        last.extend_from_slice(&part[..end]);
        if let Some(start) = start {
            last.shrink_to_fit();
            self.chunks.push(part[start..].to_vec());
        }
    }

    /// Returns the size of the body, bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Returns the whole body.
    #[cfg(test)]
    fn joined(&self) -> Vec<u8> {
        self.chunks.join(&b'\n')
    }

    /// Returns the chunks. Together, their lines are the lines of the body.
    pub(super) fn into_chunks(self) -> Vec<Vec<u8>> {
        self.chunks
    }
}

/// A part of the memory of all bodies, released on drop.
pub(super) struct BodyShare {
    all: Arc<Semaphore>,
    units: Option<OwnedSemaphorePermit>,
}

impl BodyShare {
    /// Extends the share to this number of bytes, if it is smaller.
    ///
    /// # Errors
    /// The answer to the sender: there is no memory left.
    pub(super) fn extend_to(&mut self, bytes: usize) -> Result<(), Box<Response>> {
        let held = self.units.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| busy())?;
        let units = Arc::clone(&self.all).try_acquire_many_owned(more).map_err(|_| busy())?;
        match &mut self.units {
            Some(held) => held.merge(units),
            none => *none = Some(units),
        }
        Ok(())
    }
}

impl BodyMemory {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(UNITS)))
    }

    /// Returns the bytes that are in use.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        (UNITS - self.0.available_permits()) * UNIT_BYTES
    }

    /// Reads the body of a request. Memory is taken as bytes arrive, so that a slow sender holds
    /// only what it has sent.
    ///
    /// # Errors
    /// The answer to the sender: the body is too large or too slow, or there is no memory for it.
    pub(super) async fn read(&self, request: Request) -> Result<Body, Box<Response>> {
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        // A large request is refused before its body is read.
        if length.is_some_and(|length: usize| length > MAX_BODY_BYTES) {
            return Err(too_large());
        }
        let end = Instant::now() + BODY_TIMEOUT;
        let mut parts = request.into_body().into_data_stream();
        let memory = BodyShare { all: Arc::clone(&self.0), units: None };
        let mut body = Body { lines: Lines::new(), memory };
        loop {
            let Ok(Ok(part)) = timeout_at(end, timeout(PART_TIMEOUT, parts.next())).await else {
                return Err(too_slow());
            };
            let part = match part {
                None => return Ok(body),
                Some(Ok(part)) => part,
                Some(Err(error)) => {
                    return Err(refuse(StatusCode::BAD_REQUEST, format!("the samples did not arrive: {error}")));
                }
            };
            if body.lines.len() + part.len() > MAX_BODY_BYTES {
                return Err(too_large());
            }
            body.memory.extend_to(body.lines.len() + part.len())?;
            body.lines.add(&part);
        }
    }
}

/// Reads a small body.
///
/// # Errors
/// The answer to the sender: the body is too large or too slow.
pub(super) async fn read_small(request: Request) -> Result<Bytes, Box<Response>> {
    match timeout(PART_TIMEOUT, axum::body::to_bytes(request.into_body(), MAX_SMALL_BYTES)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let sentence = format!("the body did not arrive; it may have at most {} KiB", MAX_SMALL_BYTES >> 10);
            Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, sentence))
        }
        Err(_) => Err(too_late(format!("the body did not arrive within {} s", PART_TIMEOUT.as_secs()))),
    }
}

/// Returns the answer to a request if there is no memory for it now.
pub(super) fn busy() -> Box<Response> {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "the collector has too many requests at once; send it again")
}

fn too_large() -> Box<Response> {
    let limit = MAX_BODY_BYTES >> 20;
    let sentence = format!("a request may have at most {limit} MiB; send the samples in several requests");
    refuse(StatusCode::PAYLOAD_TOO_LARGE, sentence)
}

fn too_slow() -> Box<Response> {
    let sentence = format!(
        "the samples did not arrive in time: within {} s in all, and {} s from one part to the next",
        BODY_TIMEOUT.as_secs(),
        PART_TIMEOUT.as_secs()
    );
    too_late(sentence)
}

/// Refuses a body that took too long, and ends the connection, because its rest may still arrive.
fn too_late(sentence: String) -> Box<Response> {
    let refused = refusal(StatusCode::REQUEST_TIMEOUT, sentence);
    Box::new(([(header::CONNECTION, "close")], refused).into_response())
}

fn refuse(status: StatusCode, sentence: impl std::fmt::Display) -> Box<Response> {
    Box::new(refusal(status, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunks_of_a_body_have_all_its_lines_wherever_its_parts_end() {
        let line = |number: usize| format!("{number}{}", "x".repeat(number % 3_000));
        let body = (0..2_000).map(|number| line(number) + "\n").collect::<String>() + "\r\n\nlast";
        for part_bytes in [1, 1_000, CHUNK_BYTES, MAX_BODY_BYTES] {
            let mut lines = Lines::new();
            body.as_bytes().chunks(part_bytes).for_each(|part| lines.add(part));
            assert_eq!((lines.len(), lines.joined() == body.as_bytes()), (body.len(), true), "{part_bytes}");
            let chunks = lines.into_chunks();
            assert!(part_bytes > CHUNK_BYTES || chunks.len() > 5, "{} chunks", chunks.len());
            let split = chunks.iter().flat_map(|chunk| chunk.split(|byte| *byte == b'\n'));
            assert!(split.eq(body.as_bytes().split(|byte| *byte == b'\n')), "{part_bytes}");
        }
    }

    #[tokio::test]
    async fn a_body_keeps_its_memory_until_its_samples_are_stored() {
        let memory = BodyMemory::new();
        let request = Request::new(axum::body::Body::from(vec![b' '; 10 * UNIT_BYTES]));
        let Ok(Body { lines, memory: mut share }) = memory.read(request).await else { panic!("the body was refused") };
        drop(lines);
        assert_eq!(memory.0.available_permits(), UNITS - 10);
        assert!(share.extend_to(15 * UNIT_BYTES).is_ok() && share.extend_to(1).is_ok());
        assert_eq!(memory.0.available_permits(), UNITS - 15);
        let refused = share.extend_to((UNITS + 1) * UNIT_BYTES).unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(share);
        assert_eq!(memory.0.available_permits(), UNITS);
    }
}
