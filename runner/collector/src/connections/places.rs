//! The open connections, and the choice of one to evict for a new one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Time without progress after which an active request may be evicted.
const QUIET: Duration = Duration::from_secs(2);

/// The share of an address is this part of all connections.
const SHARE: usize = 4;

/// State of a connection: what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The head of a request.
    Head,
    /// The body of a request.
    Body,
    /// The collector, such as for the next event.
    Collector,
    /// The client, which must take a part of the answer.
    Answer,
}

const PHASES: [Phase; 4] = [Phase::Head, Phase::Body, Phase::Collector, Phase::Answer];

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    address: IpAddr,
    accepted: Instant,
    /// Index in [`PHASES`].
    phase: AtomicU8,
    /// Time of the last progress after `accepted`, ms.
    progress_ms: AtomicU64,
    /// Notified when the connection is evicted.
    pub(super) evicted: Notify,
}

impl Connection {
    pub(crate) fn new(address: IpAddr) -> Self {
        let (phase, progress_ms) = (AtomicU8::new(Phase::Head as u8), AtomicU64::new(0));
        Self { address, accepted: Instant::now(), phase, progress_ms, evicted: Notify::new() }
    }

    /// Enters a phase, which counts as progress.
    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.progress();
    }

    /// Records progress: the client has taken or sent data.
    pub(crate) fn progress(&self) {
        let millis = u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress_ms.store(millis, Ordering::Relaxed);
    }

    pub(super) fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed)) % PHASES.len()]
    }

    /// Returns the time of the last progress, if the connection may be evicted.
    fn replaceable(&self, now: Instant) -> Option<Instant> {
        let progress = self.accepted + Duration::from_millis(self.progress_ms.load(Ordering::Relaxed));
        let is_replaceable = match self.phase() {
            Phase::Head => true,
            Phase::Body | Phase::Answer => now.saturating_duration_since(progress) >= QUIET,
            Phase::Collector => false,
        };
        is_replaceable.then_some(progress)
    }
}

/// The open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    /// By the number of the connection.
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    next: AtomicU64,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// Adds a connection. Beyond the limit, evicts the one that was idle longest. If all are
    /// active, evicts the oldest of the address with the most connections, so that an address that
    /// holds nearly all of them keeps no other one out; `None` if no address has more than its
    /// share.
    pub(super) fn enter(&self, address: IpAddr, now: Instant) -> Option<(u64, Arc<Connection>)> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= self.most {
            let quiet = open.iter().filter_map(|(number, connection)| Some((connection.replaceable(now)?, *number)));
            let number = quiet.min().map(|(_, number)| number).or_else(|| oldest_of_largest(&open))?;
            if let Some(connection) = open.remove(&number) {
                connection.evicted.notify_one();
            }
        }
        let (number, connection) = (self.next.fetch_add(1, Ordering::Relaxed), Arc::new(Connection::new(address)));
        open.insert(number, Arc::clone(&connection));
        Some((number, connection))
    }

    pub(super) fn leave(&self, number: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }
}

/// Returns the oldest connection of the address with the most; `None` if it has no more than its
/// share of all.
fn oldest_of_largest(open: &BTreeMap<u64, Arc<Connection>>) -> Option<u64> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    open.values().for_each(|connection| *counts.entry(connection.address).or_default() += 1);
    let (largest, count) = counts.into_iter().max_by_key(|(address, count)| (*count, *address))?;
    let has_more = count > open.len() / SHARE;
    open.iter().find(|(_, connection)| has_more && connection.address == largest).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn enter(connections: &Connections) -> (u64, Arc<Connection>) {
        connections.enter(HERE, Instant::now()).unwrap()
    }

    fn active_from(connections: &Connections, last: u8) -> Option<u64> {
        let (number, connection) = connections.enter(IpAddr::from([10, 0, 0, last]), Instant::now())?;
        connection.enter(Phase::Collector);
        Some(number)
    }

    fn open(connections: &Connections) -> Vec<u64> {
        connections.open.lock().unwrap().keys().copied().collect()
    }

    #[test]
    fn a_new_connection_takes_the_place_of_the_one_that_was_idle_for_longest() {
        let connections = Connections::new(2);
        let (first, one) = enter(&connections);
        let (second, _) = enter(&connections);
        std::thread::sleep(Duration::from_millis(20));
        one.progress();
        let (third, _) = enter(&connections);
        assert_eq!(open(&connections), [first, third], "{second} was idle for longest");
    }

    #[test]
    fn active_connections_keep_their_places_except_the_oldest_of_an_address_with_most_of_them() {
        let connections = Connections::new(8);
        let of_one: Vec<u64> = (0..6).filter_map(|_| active_from(&connections, 1)).collect();
        let others = [active_from(&connections, 2).unwrap(), active_from(&connections, 3).unwrap()];
        let new = active_from(&connections, 4).unwrap();
        assert_eq!(open(&connections), [&of_one[1..], &others, &[new]].concat());

        let even = Connections::new(8);
        (0..8).for_each(|address| assert!(active_from(&even, address).is_some()));
        assert!(active_from(&even, 9).is_none());
        even.leave(0);
        assert!(active_from(&even, 9).is_some());
    }

    #[test]
    fn a_request_whose_client_does_nothing_loses_its_place_after_a_while() {
        for phase in [Phase::Body, Phase::Answer] {
            let connections = Connections::new(1);
            let (first, connection) = enter(&connections);
            connection.enter(phase);
            let (second, _) = connections.enter(HERE, Instant::now() + QUIET).unwrap();
            assert_eq!(open(&connections), [second], "instead of {first}");
        }
    }
}
