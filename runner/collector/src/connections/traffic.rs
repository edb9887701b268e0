//! Bodies of requests and answers that report the client's progress to their connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::places::{Connection, Phase};
use crate::access::Share;

/// Number of bytes that counts as progress, so that a client that sends single bytes makes none.
const PROGRESS_BYTES: usize = 4 << 10;

/// Body of a request.
#[derive(Debug)]
pub(super) struct Received {
    body: Incoming,
    connection: Arc<Connection>,
    /// Bytes since the last progress.
    bytes: usize,
}

impl Received {
    pub(super) fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        connection.enter(if body.is_end_stream() { Phase::Collector } else { Phase::Body });
        Self { body, connection, bytes: 0 }
    }
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.bytes += frame.data_ref().map_or(0, Bytes::len);
            if self.bytes >= PROGRESS_BYTES {
                self.bytes = 0;
                self.connection.progress();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A handler drops the body of its request when it has arrived, or is refused.
impl Drop for Received {
    fn drop(&mut self) {
        if self.connection.phase() == Phase::Body {
            self.connection.enter(Phase::Collector);
        }
    }
}

/// Body of an answer, with its share until the last part is sent.
#[derive(Debug)]
pub(super) struct Sent {
    body: Body,
    connection: Arc<Connection>,
    _share: Option<Arc<Share>>,
}

impl Sent {
    pub(super) fn new(body: Body, connection: Arc<Connection>, share: Option<Arc<Share>>) -> Self {
        Self { body, connection, _share: share }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    /// Called again when the client has taken the previous part.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.connection.enter(if polled.is_pending() { Phase::Collector } else { Phase::Answer });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.connection.enter(Phase::Head);
    }
}
