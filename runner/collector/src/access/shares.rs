//! Shares of each token, or of each address without a token, in what the collector answers at once.
//!
//! Without them, one reader that takes nothing of its answers keeps all others from theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Requests of a holder that read the store for the head of an answer at the same time.
const MOST_AT_WORK: usize = 2;
/// Answers of a holder that are sent at the same time.
const MOST_ANSWERS: usize = 64;
/// Memory of the answers of a holder, and of all holders, KiB.
const MOST_KIB: u32 = 16 << 10;
const ALL_KIB: u32 = 4 * MOST_KIB;
/// Memory of an answer that is read while it is sent, bytes.
const STREAMED_BYTES: u64 = 256 << 10;
/// Part of all connections that a holder may use for event streams, and the most of them. Each
/// sample is sent to every stream, so that thousands of them would delay all others.
const STREAMS_PART: usize = 4;
const MOST_STREAMS: usize = 256;
/// Part of all connections for the event streams of all holders.
const ALL_STREAMS_PART: usize = 2;
/// Time for which a request waits for the earlier ones of its holder.
const PATIENCE: Duration = Duration::from_secs(5);
/// Number of holders from which on those without requests are forgotten.
const MOST_HOLDERS: usize = 1_000;

/// The shares of all holders.
#[derive(Debug)]
pub(crate) struct Shares {
    most_streams: usize,
    /// Event streams of all holders. The other connections stay for those who write or look after
    /// the collector.
    streams: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    holders: Mutex<HashMap<String, Arc<Holder>>>,
}

#[derive(Debug)]
struct Holder {
    work: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

/// The share of an answer until its last part is sent.
#[derive(Debug)]
pub(crate) struct Share {
    holder: Arc<Holder>,
    _answer: OwnedSemaphorePermit,
    _stream: Option<OwnedSemaphorePermit>,
    /// Of the holder, and of all.
    _memory: Option<[OwnedSemaphorePermit; 2]>,
}

/// The share of a request until the head of its answer is known.
#[derive(Debug)]
pub(super) struct Work {
    _work: OwnedSemaphorePermit,
}

/// The turns of a holder at the store. An answer that is read while it is sent takes one for each
/// part, so that many of them keep others waiting for a few parts only.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    /// Waits for a turn, which ends when the result is dropped.
    pub(crate) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

impl Shares {
    /// Returns the shares in this number of connections.
    pub(crate) fn new(most_connections: usize) -> Self {
        Self {
            most_streams: (most_connections / STREAMS_PART).clamp(1, MOST_STREAMS),
            streams: Arc::new(Semaphore::new((most_connections / ALL_STREAMS_PART).max(1))),
            memory: Arc::new(Semaphore::new(ALL_KIB as usize)),
            holders: Mutex::default(),
        }
    }

    /// Takes a holder's share for a request, after a while if its earlier answers end meanwhile;
    /// `None` if the holder has no more.
    pub(super) async fn take(&self, name: &str, is_stream: bool) -> Option<(Share, Work, Turns)> {
        let holder = self.holder(name);
        // Streams do not end, so that waiting for one is in vain.
        let answer = match is_stream {
            true => Arc::clone(&holder.streams).try_acquire_owned().ok()?,
            false => timeout(PATIENCE, Arc::clone(&holder.answers).acquire_owned()).await.ok()?.ok()?,
        };
        let stream = match is_stream {
            true => Some(Arc::clone(&self.streams).try_acquire_owned().ok()?),
            false => None,
        };
        let turns = Turns(Arc::clone(&holder.work));
        let work = timeout(PATIENCE, turns.take()).await.ok()??;
        let share = Share { holder, _answer: answer, _stream: stream, _memory: None };
        Some((share, Work { _work: work }, turns))
    }

    /// Adds the memory of an answer to a share, after a while if earlier answers end meanwhile;
    /// `None` if its holder has no more. The size is `None` if the answer is read while it is sent.
    pub(super) async fn hold(&self, share: Share, bytes: Option<u64>) -> Option<Share> {
        let kib = u32::try_from(bytes.unwrap_or(STREAMED_BYTES).div_ceil(1 << 10)).unwrap_or(MOST_KIB).min(MOST_KIB);
        let take = async |memory: &Arc<Semaphore>| Arc::clone(memory).acquire_many_owned(kib).await.ok();
        let both = async { Some([take(&share.holder.memory).await?, take(&self.memory).await?]) };
        let memory = timeout(PATIENCE, both).await.ok()??;
        Some(Share { _memory: Some(memory), ..share })
    }

    fn holder(&self, name: &str) -> Arc<Holder> {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        if holders.len() >= MOST_HOLDERS {
            holders.retain(|_, holder| Arc::strong_count(holder) > 1);
        }
        let new = || {
            let most = [MOST_AT_WORK, MOST_ANSWERS, self.most_streams, MOST_KIB as usize];
            let [work, answers, streams, memory] = most.map(|most| Arc::new(Semaphore::new(most)));
            Arc::new(Holder { work, answers, streams, memory })
        };
        Arc::clone(holders.entry(name.to_owned()).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_holder_with_many_answers_leaves_the_others_theirs() {
        let shares = Shares::new(40);
        let mut held = Vec::new();
        while let Some((share, ..)) = shares.take("greedy", false).await {
            held.push(share);
        }
        assert_eq!(held.len(), MOST_ANSWERS);
        let mut streams = Vec::new();
        while let Some((share, ..)) = shares.take("greedy", true).await {
            streams.push(share);
        }
        assert_eq!(streams.len(), 10);
        assert!(shares.take("modest", false).await.is_some() && shares.take("modest", true).await.is_some());
        held.pop();
        assert!(shares.take("greedy", false).await.is_some(), "an answer has ended");
    }

    #[tokio::test]
    async fn a_holder_with_large_answers_leaves_memory_to_the_others() {
        let shares = Shares::new(40);
        let answer = async |name: &str, bytes: Option<u64>| {
            let (share, ..) = shares.take(name, false).await?;
            shares.hold(share, bytes).await
        };
        let large = Some(5 << 20);
        let mut held = Vec::new();
        while let Some(share) = answer("greedy", large).await {
            held.push(share);
        }
        assert_eq!(held.len(), 3, "of 16 MiB");
        assert!(answer("greedy", Some(100)).await.is_some(), "a small answer");
        assert!(answer("modest", large).await.is_some() && answer("modest", None).await.is_some());
        held.pop();
        assert!(answer("greedy", large).await.is_some(), "an answer has ended");
        // An answer never waits for more than there is.
        held.clear();
        assert!(answer("greedy", Some(1 << 40)).await.is_some());
    }

    #[test]
    fn a_holder_has_no_more_streams_than_the_others_can_bear() {
        assert_eq!([1, 40, 16_384].map(|connections| Shares::new(connections).most_streams), [1, 10, MOST_STREAMS]);
    }

    #[tokio::test]
    async fn the_streams_of_all_holders_leave_connections_to_the_others() {
        let shares = Shares::new(40);
        let mut streams = Vec::new();
        for number in 0..100 {
            streams.extend(shares.take(&number.to_string(), true).await.map(|(share, ..)| share));
        }
        assert_eq!(streams.len(), 20);
        assert!(shares.take("modest", false).await.is_some() && shares.take("modest", true).await.is_none());
        streams.pop();
        assert!(shares.take("modest", true).await.is_some());
    }

    #[tokio::test]
    async fn holders_without_requests_are_forgotten() {
        let shares = Shares::new(40);
        let held = shares.take("holder", false).await.unwrap();
        for number in 0..3 * MOST_HOLDERS {
            drop(shares.take(&number.to_string(), false).await.unwrap());
        }
        let holders = shares.holders.lock().unwrap();
        assert!(holders.len() <= MOST_HOLDERS && holders.contains_key("holder"), "{}", holders.len());
        drop(held);
    }
}
