//! Bodies of requests: limits on size, time and the memory of all of them together.

use std::sync::Arc;
use std::time::Duration;

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
const UNITS: usize = 64;
const UNIT_BYTES: usize = 1 << 20;

/// Memory for the bodies of all requests.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A body, with its share of the memory.
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    memory: Vec<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(UNITS)))
    }

    /// Reads the body of a request. Memory is taken as bytes arrive, so that a slow sender holds
    /// only what it has sent.
    ///
    /// # Errors
    /// The answer to the sender: the body is too large or too slow, or there is no memory for it.
    pub(super) async fn read(&self, request: Request) -> Result<Body, Box<Response>> {
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        // A large request is refused before its body.
        if length.is_some_and(|length: usize| length > MAX_BODY_BYTES) {
            return Err(too_large());
        }
        let end = Instant::now() + BODY_TIMEOUT;
        let mut parts = request.into_body().into_data_stream();
        let mut body = Body { bytes: Vec::new(), memory: Vec::new() };
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
            if body.bytes.len() + part.len() > MAX_BODY_BYTES {
                return Err(too_large());
            }
            while body.memory.len() * UNIT_BYTES < body.bytes.len() + part.len() {
                let Ok(unit) = Arc::clone(&self.0).try_acquire_owned() else { return Err(busy()) };
                body.memory.push(unit);
            }
            body.bytes.extend_from_slice(&part);
        }
    }
}

/// Returns the answer to a request that the collector has no room for now.
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
    let refused = refuse(StatusCode::REQUEST_TIMEOUT, sentence);
    Box::new(([(header::CONNECTION, "close")], *refused).into_response())
}

fn refuse(status: StatusCode, sentence: impl std::fmt::Display) -> Box<Response> {
    Box::new(refusal(status, sentence))
}
