//! One event stream.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, timeout};

use super::broadcast::{Broadcast, Next, StreamPosition, chunk};
use super::part::Part;
use crate::Shared;
use crate::access::Credential;

/// First text of a stream. It shows the browser that the connection works, and sets the delay
/// before a client reconnects.
const GREETING: &[u8] = b"retry: 2000\n: samples follow as they arrive\n\n";
/// Keep-alive text of an idle stream, so that proxies do not close it.
const KEEP_ALIVE: &[u8] = b":\n\n";
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Interval at which the token is rechecked, because it may have been revoked.
const LOOK_UP_INTERVAL: Duration = Duration::from_secs(1);

/// State of one event stream. It buffers no events except those that it reads from the store.
pub(super) struct Listener {
    shared: Shared,
    broadcast: Arc<Broadcast>,
    changes: watch::Receiver<()>,
    /// Failures of the store when the stream began.
    failures: u64,
    credential: Credential,
    place: StreamPosition,
    own: Option<OwnPart>,
    is_greeted: bool,
    /// Time of the last text to the client.
    sent_at: Instant,
    /// Time of the last check of the token.
    allowed_at: Instant,
}

/// Events that a listener read from the store, with their share of the memory for answers.
struct OwnPart {
    part: Part,
    sent: usize,
    _memory: OwnedSemaphorePermit,
}

impl Listener {
    /// Begins a stream after a position.
    pub(super) fn new(shared: Shared, broadcast: Arc<Broadcast>, credential: Credential, after: i64) -> Self {
        let (changes, failures) = broadcast.listen();
        let now = Instant::now();
        Self {
            shared,
            broadcast,
            changes,
            failures,
            credential,
            place: StreamPosition::after(after),
            own: None,
            is_greeted: false,
            sent_at: now,
            allowed_at: now,
        }
    }

    /// Returns the next text, or `None` when the collector stops, the store fails, the token was
    /// revoked, or the client is too slow; the client then reconnects.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if !self.is_greeted {
            self.is_greeted = true;
            return Some(Bytes::from_static(GREETING));
        }
        loop {
            if self.shared.changes.borrow().stopping || !self.may_read().await {
                return None;
            }
            let text = match self.take_own() {
                Some(text) => text,
                None => self.take().await?,
            };
            if !text.is_empty() {
                self.sent_at = Instant::now();
                return Some(text);
            }
        }
    }

    /// Returns text of the shared events, which may be empty, after waiting for it if necessary.
    async fn take(&mut self) -> Option<Bytes> {
        // Later changes wake the listener.
        self.changes.borrow_and_update();
        match self.broadcast.next(self.place, self.failures) {
            Next::Send(text, place) => {
                self.place = place;
                return Some(text);
            }
            Next::Read(until) => self.read_own(until).await?,
            Next::Wait => {
                // The token is rechecked in either case.
                let _ = timeout(LOOK_UP_INTERVAL, self.changes.changed()).await;
                if self.sent_at.elapsed() >= KEEP_ALIVE_INTERVAL {
                    return Some(Bytes::from_static(KEEP_ALIVE));
                }
            }
            Next::End => return None,
        }
        Some(Bytes::new())
    }

    /// Reads events up to a position; `None` if the store cannot be read, or there is no memory.
    async fn read_own(&mut self, until: i64) -> Option<()> {
        let memory = self.shared.answers.take_for_stream().await.ok()?;
        let (of, after) = (self.broadcast.of, self.place.after);
        match self.shared.storage.read(move |store| of.read(store, after, until)).await.ok()? {
            Some(part) => self.own = Some(OwnPart { part, sent: 0, _memory: memory }),
            None => self.place = StreamPosition::after(until),
        }
        Some(())
    }

    fn take_own(&mut self) -> Option<Bytes> {
        let OwnPart { part, sent, .. } = self.own.as_mut()?;
        let text = chunk(&part.text, *sent);
        *sent += text.len();
        if text.is_empty() {
            self.place = StreamPosition::after(part.end);
            self.own = None;
        }
        Some(text)
    }

    async fn may_read(&mut self) -> bool {
        if self.allowed_at.elapsed() < LOOK_UP_INTERVAL {
            return true;
        }
        self.allowed_at = Instant::now();
        self.shared.gate.may_read(self.credential.secret).await
    }
}
