//! One reader of the store for all listeners of a kind of events, with a buffer of the newest
//! events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::StoreChanges;
use super::part::{Of, Part};
use crate::storage::Storage;

/// Poll interval for samples that other processes write into the store. Posted samples are sent at
/// once, and so are those of another collector that serves the same PostgreSQL database.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two reads. Each read wakes all listeners, so samples are collected first.
const PAUSE: Duration = Duration::from_millis(20);
/// Size of a read from which the next one is not delayed, because more samples are probably
/// waiting.
const FULL_BYTES: usize = 64 << 10;
/// Size of the buffer for listeners that are slightly behind.
const KEPT_BYTES: usize = 4 << 20;
/// Memory of a part besides its text.
const PART_OVERHEAD: usize = 64;
/// Size of the text that a listener gets at a time, which bounds its memory.
const CHUNK_BYTES: usize = 16 << 10;

/// Buffer of the newest events of one kind.
#[derive(Debug)]
pub(super) struct Broadcast {
    pub(super) of: Of,
    kept: Mutex<Kept>,
    /// Wakes the listeners. Each has a receiver.
    changes: watch::Sender<()>,
    /// Wakes the reader when a listener arrives.
    arrival: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    /// Contiguous parts, oldest first.
    parts: VecDeque<Part>,
    bytes: usize,
    /// Position of the last sample that was read.
    end: i64,
    /// Number of failures of the store. At a new failure all listeners end, and their clients
    /// reconnect.
    failures: u64,
}

/// StreamPosition of a listener in the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamPosition {
    /// Position of the last sample of the parts that were sent completely.
    pub(super) after: i64,
    /// Bytes that were sent of the next part.
    pub(super) sent: usize,
}

/// Next action of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this text and move to this place.
    Send(Bytes, StreamPosition),
    /// Read the store up to this position, because the listener is far behind the buffer.
    Read(i64),
    /// Wait for a change.
    Wait,
    /// End the stream; the client reconnects.
    End,
}

impl StreamPosition {
    pub(super) fn after(position: i64) -> Self {
        Self { after: position, sent: 0 }
    }
}

impl Broadcast {
    pub(super) fn new(of: Of) -> Self {
        Self { of, kept: Mutex::default(), changes: watch::Sender::new(()), arrival: Notify::new() }
    }

    /// Reads new samples until the collector stops, and only while there are listeners.
    pub(super) async fn read(&self, storage: &Storage, mut changes: watch::Receiver<StoreChanges>) {
        while !changes.borrow().stopping {
            if self.listeners() == 0 {
                tokio::select! {
                    () = self.arrival.notified() => {}
                    _ = changes.wait_for(|changes| changes.stopping) => break,
                }
            }
            if self.read_for_listeners(storage, &mut changes).await.is_err() {
                self.fail();
                sleep(POLL_INTERVAL).await;
            }
        }
        self.fail();
    }

    /// # Errors
    /// The store cannot be read.
    async fn read_for_listeners(
        &self,
        storage: &Storage,
        changes: &mut watch::Receiver<StoreChanges>,
    ) -> anyhow::Result<()> {
        let end = storage.read(|store| store.end()).await?;
        self.begin(end);
        while self.listeners() > 0 && !changes.borrow_and_update().stopping {
            let (of, after) = (self.of, self.lock().end);
            match storage.read(move |store| of.read(store, after, i64::MAX)).await? {
                Some(part) => {
                    let is_full = part.text.len() >= FULL_BYTES;
                    self.add(part);
                    if !is_full {
                        sleep(PAUSE).await;
                    }
                }
                // The store is polled again in either case.
                None => drop(timeout(POLL_INTERVAL, changes.changed()).await),
            }
        }
        Ok(())
    }

    /// Returns the receiver that wakes a new listener, and the number of failures so far.
    pub(super) fn listen(&self) -> (watch::Receiver<()>, u64) {
        let changes = self.changes.subscribe();
        self.arrival.notify_one();
        (changes, self.lock().failures)
    }

    /// Returns the number of listeners.
    pub(super) fn listeners(&self) -> usize {
        self.changes.receiver_count()
    }

    /// Returns the next action of a listener at its place.
    pub(super) fn next(&self, place: StreamPosition, failures: u64) -> Next {
        let kept = self.lock();
        if kept.failures != failures {
            return Next::End;
        }
        let index = kept.parts.partition_point(|part| part.end <= place.after);
        let Some(part) = kept.parts.get(index) else {
            return match place.after < kept.end {
                // A partly sent part cannot be continued after it left the buffer.
                true if place.sent > 0 => Next::End,
                true => Next::Read(kept.end),
                false => Next::Wait,
            };
        };
        if part.after != place.after {
            return match place.sent {
                0 if place.after < part.after => Next::Read(part.after),
                // The listener began in the middle of this part.
                0 => Next::Read(part.end),
                _ => Next::End,
            };
        }
        let (text, end) = (part.text.clone(), part.end);
        drop(kept);
        let chunk = chunk(&text, place.sent);
        let sent = place.sent + chunk.len();
        let place = if sent < text.len() { StreamPosition { sent, ..place } } else { StreamPosition::after(end) };
        Next::Send(chunk, place)
    }

    /// Clears the buffer and continues from this position.
    fn begin(&self, end: i64) {
        let mut kept = self.lock();
        *kept = Kept { end, failures: kept.failures, ..Kept::default() };
        drop(kept);
        self.changes.send_replace(());
    }

    fn add(&self, part: Part) {
        let mut kept = self.lock();
        kept.end = part.end;
        kept.bytes += part.text.len() + PART_OVERHEAD;
        kept.parts.push_back(part);
        while kept.bytes > KEPT_BYTES && kept.parts.len() > 1 {
            let oldest = kept.parts.pop_front().map_or(0, |part| part.text.len() + PART_OVERHEAD);
            kept.bytes -= oldest;
        }
        drop(kept);
        self.changes.send_replace(());
    }

    /// Ends all listeners.
    fn fail(&self) {
        self.lock().failures += 1;
        self.changes.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a copy of the next bytes of a text, so that a slow client does not keep the whole text.
pub(super) fn chunk(text: &Bytes, sent: usize) -> Bytes {
    let rest = text.get(sent..).unwrap_or_default();
    Bytes::copy_from_slice(&rest[..rest.len().min(CHUNK_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(after: i64, end: i64, bytes: usize) -> Part {
        Part { after, end, text: vec![b'a'; bytes].into() }
    }

    fn broadcast(parts: impl IntoIterator<Item = Part>) -> Broadcast {
        let broadcast = Broadcast::new(Of::Samples);
        broadcast.begin(10);
        parts.into_iter().for_each(|part| broadcast.add(part));
        broadcast
    }

    #[test]
    fn a_listener_gets_every_part_in_chunks_and_then_waits() {
        let broadcast = broadcast([part(10, 12, CHUNK_BYTES + 5), part(12, 13, 0), part(13, 20, 7)]);
        let (mut place, mut lengths) = (StreamPosition::after(10), Vec::new());
        while let Next::Send(text, next) = broadcast.next(place, 0) {
            lengths.push(text.len());
            place = next;
        }
        assert_eq!((lengths, place), (vec![CHUNK_BYTES, 5, 0, 7], StreamPosition::after(20)));
        assert_eq!(broadcast.next(place, 0), Next::Wait);
    }

    #[test]
    fn a_listener_that_is_behind_or_amid_a_part_reads_the_store_up_to_where_parts_begin() {
        let broadcast = broadcast([part(10, 12, 3), part(12, 20, 3)]);
        assert_eq!(broadcast.next(StreamPosition::after(4), 0), Next::Read(10));
        assert_eq!(broadcast.next(StreamPosition::after(15), 0), Next::Read(20));
        assert_eq!(broadcast.next(StreamPosition::after(25), 0), Next::Wait, "its samples were not read yet");
        let empty = self::broadcast([]);
        assert_eq!(
            (empty.next(StreamPosition::after(4), 0), empty.next(StreamPosition::after(10), 0)),
            (Next::Read(10), Next::Wait)
        );
    }

    #[test]
    fn the_memory_of_events_has_a_limit_and_a_slow_listener_is_dropped_or_reads_the_store() {
        let broadcast = broadcast((10..1_000).map(|after| part(after, after + 1, 100 << 10)));
        let kept = broadcast.lock();
        let bytes: usize = kept.parts.iter().map(|part| part.text.len()).sum();
        assert!(bytes <= KEPT_BYTES && bytes > KEPT_BYTES / 2, "{bytes}");
        let first = kept.parts[0].after;
        drop(kept);
        assert_eq!(broadcast.next(StreamPosition::after(500), 0), Next::Read(first));
        assert_eq!(
            broadcast.next(StreamPosition { after: 500, sent: 1 }, 0),
            Next::End,
            "the rest of the part is gone"
        );
        (0..100_000).for_each(|step| broadcast.add(part(1_000 + step, 1_001 + step, 0)));
        assert!(broadcast.lock().parts.len() <= KEPT_BYTES / PART_OVERHEAD);
    }

    #[test]
    fn a_failure_of_the_store_ends_the_listeners_that_were_there() {
        let broadcast = broadcast([part(10, 12, 3)]);
        broadcast.fail();
        assert_eq!(broadcast.next(StreamPosition::after(10), 0), Next::End);
        assert!(matches!(broadcast.next(StreamPosition::after(10), 1), Next::Send(..)));
    }
}
