//! All-reduce among the executors of a run, which are fully connected.
//!
//! The numbers are divided into as many slices as there are executors. Each executor receives one
//! slice from all others, sums it, and returns the sum to all, so that the load is even. BigDL does
//! the same over Spark's blocks (Dai et al., "BigDL", SoCC 2019, algorithm 2). Sums are always
//! taken in rank order, so that the result is deterministic.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Timeout for connecting all executors.
const JOINING: Duration = Duration::from_secs(60);
/// Time for the whole greeting of a connection, which a peer sends at once.
const GREETING: Duration = Duration::from_secs(5);
const LONGEST_GREETING: usize = 200;
/// Limit on the connections without a greeting; the oldest makes room.
const MOST_GREETINGS: usize = 256;
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Numbers converted to bytes at a time.
const CHUNK: usize = 1 << 14;

/// Connections of an executor to all others.
pub struct Peers {
    rank: usize,
    /// Connections by rank; `None` at its own rank.
    links: Vec<Option<TcpStream>>,
}

/// Breakdown of an average's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct AverageTime {
    /// Waiting for the last executor.
    pub wait: Duration,
    /// Exchange and summation.
    pub exchange: Duration,
}

impl Peers {
    /// Connects the executor of this rank to the others, by rank. Peers authenticate with the
    /// token.
    ///
    /// # Errors
    /// An executor cannot be reached, or does not connect in time.
    pub fn join(listener: &TcpListener, rank: usize, addresses: &[String], token: &str) -> anyhow::Result<Self> {
        let end = Instant::now() + JOINING;
        let mut links: Vec<Option<TcpStream>> = addresses.iter().map(|_| None).collect();
        for (peer, address) in addresses.iter().enumerate().take(rank) {
            let link = connect(address, end).with_context(|| format!("executor {} at {address}", peer + 1));
            let mut link = link.context("an executor could not be reached")?;
            writeln!(link, "{token} {rank}").context("the greeting to an executor could not be sent")?;
            links[peer] = Some(link);
        }
        listener.set_nonblocking(true).context("the listening socket could not be configured")?;
        let mut greetings = Greetings { pending: VecDeque::new(), token };
        while links.iter().skip(rank + 1).any(Option::is_none) {
            let missing = links.iter().skip(rank + 1).filter(|link| link.is_none()).count();
            anyhow::ensure!(Instant::now() < end, "{missing} executors did not connect in {JOINING:?}");
            greetings.accept(listener).context("no executor can connect")?;
            for (peer, link) in greetings.finished() {
                if (rank + 1..links.len()).contains(&peer) {
                    links[peer] = Some(link);
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        for link in links.iter().flatten() {
            let configured = link.set_nodelay(true).and_then(|()| link.set_nonblocking(false));
            configured.context("a connection could not be configured")?;
        }
        Ok(Self { rank, links })
    }

    /// Replaces the numbers of every executor by their weighted mean, or keeps them if all weights
    /// are 0. Returns the sum of the weights. Every executor must call it with the same number of
    /// numbers.
    ///
    /// # Errors
    /// A connection broke.
    pub fn average(&self, numbers: &mut [f32], weight: f64) -> anyhow::Result<(f64, AverageTime)> {
        let start = Instant::now();
        let total = self.total(weight)?;
        let wait = start.elapsed();
        if total > 0.0 {
            scale(numbers, weight, total);
            self.exchange(numbers)?;
        }
        Ok((total, AverageTime { wait, exchange: start.elapsed().saturating_sub(wait) }))
    }

    /// Returns the sum of all weights in rank order. It also acts as a barrier.
    fn total(&self, weight: f64) -> anyhow::Result<f64> {
        for (peer, mut link) in self.others() {
            link.write_all(&weight.to_le_bytes()).with_context(|| lost(peer))?;
        }
        let mut total = 0.0;
        for (peer, link) in self.links.iter().enumerate() {
            let mut bytes = weight.to_le_bytes();
            if let Some(mut link) = link.as_ref() {
                link.read_exact(&mut bytes).with_context(|| lost(peer))?;
            }
            total += f64::from_le_bytes(bytes);
        }
        Ok(total)
    }

    fn exchange(&self, numbers: &mut [f32]) -> anyhow::Result<()> {
        let count = self.links.len();
        let bound = |rank: usize| rank * numbers.len() / count;
        let bounds: Vec<_> = (0..count).map(|rank| bound(rank)..bound(rank + 1)).collect();
        let own = bounds[self.rank].clone();
        let mut sum = vec![0.0; own.len()];
        let given = &*numbers;
        std::thread::scope(|scope| {
            let senders: Vec<_> = self
                .others()
                .map(|(peer, link)| {
                    let slice = &given[bounds[peer].clone()];
                    scope.spawn(move || send(link, slice).with_context(|| lost(peer)))
                })
                .collect();
            for (peer, link) in self.links.iter().enumerate() {
                match link {
                    None => sum.iter_mut().zip(&given[own.clone()]).for_each(|(sum, number)| *sum += number),
                    Some(link) => receive(link, &mut sum, |sum, number| *sum += number).with_context(|| lost(peer))?,
                }
            }
            finish(senders)
        })?;
        let sum = &sum;
        numbers[own].copy_from_slice(sum);
        std::thread::scope(|scope| {
            let senders: Vec<_> = self
                .others()
                .map(|(peer, link)| scope.spawn(move || send(link, sum).with_context(|| lost(peer))))
                .collect();
            for (peer, link) in self.others() {
                let slice = &mut numbers[bounds[peer].clone()];
                receive(link, slice, |here, number| *here = number).with_context(|| lost(peer))?;
            }
            finish(senders)
        })
    }

    fn others(&self) -> impl Iterator<Item = (usize, &TcpStream)> {
        self.links.iter().enumerate().filter_map(|(peer, link)| Some((peer, link.as_ref()?)))
    }
}

/// Returns the weighted mean of lists of numbers, bit-identical to the result of connected
/// executors.
pub fn mean(lists: &[(Vec<f32>, f64)]) -> Vec<f32> {
    let total: f64 = lists.iter().map(|(_, weight)| weight).sum();
    let mut sum = vec![0.0; lists.first().map_or(0, |(numbers, _)| numbers.len())];
    for (numbers, weight) in lists {
        let mut numbers = numbers.clone();
        scale(&mut numbers, *weight, total);
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    sum
}

fn scale(numbers: &mut [f32], weight: f64, total: f64) {
    let share = (weight / total) as f32;
    numbers.iter_mut().for_each(|number| *number *= share);
}

fn lost(peer: usize) -> String {
    format!("the connection with executor {} broke off", peer + 1)
}

fn finish(senders: Vec<std::thread::ScopedJoinHandle<'_, anyhow::Result<()>>>) -> anyhow::Result<()> {
    senders.into_iter().try_for_each(|sender| {
        sender.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread that sends numbers panicked")))
    })
}

fn connect(address: &str, end: Instant) -> anyhow::Result<TcpStream> {
    let addresses: Vec<_> = address.to_socket_addrs().context("its name is unknown")?.collect();
    let mut last = anyhow::anyhow!("its name has no address");
    for address in addresses {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(link) => return Ok(link),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// Connections that have not yet presented the token. They are read together, so that one that
/// sends slowly or nothing holds up no other.
struct Greetings<'a> {
    /// The oldest comes first.
    pending: VecDeque<Greeting>,
    token: &'a str,
}

/// The line with which a peer introduces itself.
struct Greeting {
    link: TcpStream,
    since: Instant,
    line: Vec<u8>,
}

/// Result of reading a greeting so far.
enum Introduction {
    Unfinished,
    Of(usize),
    /// A connection without the token, which is dropped.
    Stranger,
}

impl Greetings<'_> {
    /// Accepts the connections that wait, at most as many as fit.
    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        for _ in 0..MOST_GREETINGS {
            match listener.accept() {
                // A connection that cannot be configured, or that ended, is no peer.
                Ok((link, _)) if link.set_nonblocking(true).is_err() => {}
                Ok((link, _)) => {
                    if self.pending.len() == MOST_GREETINGS {
                        self.pending.pop_front();
                    }
                    self.pending.push_back(Greeting { link, since: Instant::now(), line: Vec::new() });
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the peers whose greeting is complete, by rank, and drops strangers.
    fn finished(&mut self) -> Vec<(usize, TcpStream)> {
        let (mut finished, token) = (Vec::new(), self.token);
        for mut greeting in std::mem::take(&mut self.pending) {
            match greeting.read(token) {
                Introduction::Unfinished if greeting.since.elapsed() < GREETING => self.pending.push_back(greeting),
                Introduction::Of(peer) => finished.push((peer, greeting.link)),
                Introduction::Unfinished | Introduction::Stranger => {}
            }
        }
        finished
    }
}

impl Greeting {
    /// Reads what has arrived, byte by byte, because the bytes after the line belong to the next
    /// reader.
    fn read(&mut self, token: &str) -> Introduction {
        let mut byte = [0];
        while self.line.len() < LONGEST_GREETING {
            match self.link.read(&mut byte) {
                Ok(1) if byte == *b"\n" => return introduction(&self.line, token),
                Ok(1) => self.line.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Introduction::Unfinished,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return Introduction::Stranger,
            }
        }
        Introduction::Stranger
    }
}

fn introduction(line: &[u8], token: &str) -> Introduction {
    let words = std::str::from_utf8(line).ok().and_then(|line| line.trim_end().split_once(' '));
    let rank = words.filter(|(greeted, _)| *greeted == token).and_then(|(_, rank)| rank.parse().ok());
    rank.map_or(Introduction::Stranger, Introduction::Of)
}

fn send(mut link: &TcpStream, numbers: &[f32]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4 * CHUNK);
    for chunk in numbers.chunks(CHUNK) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|number| number.to_le_bytes()));
        link.write_all(&bytes)?;
    }
    Ok(())
}

fn receive(mut link: &TcpStream, numbers: &mut [f32], mut put: impl FnMut(&mut f32, f32)) -> io::Result<()> {
    let mut bytes = vec![0; 4 * CHUNK.min(numbers.len())];
    for chunk in numbers.chunks_mut(CHUNK) {
        let bytes = &mut bytes[..4 * chunk.len()];
        link.read_exact(bytes)?;
        for (here, number) in chunk.iter_mut().zip(bytes.chunks_exact(4)) {
            put(here, f32::from_le_bytes([number[0], number[1], number[2], number[3]]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs executors in threads of this process, each with its own numbers and weight.
    fn average(lists: &[(Vec<f32>, f64)]) -> Vec<(Vec<f32>, f64)> {
        let listeners: Vec<_> = lists.iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
        let addresses = &addresses;
        std::thread::scope(|scope| {
            let threads: Vec<_> = listeners
                .into_iter()
                .enumerate()
                .map(|(rank, listener)| {
                    scope.spawn(move || {
                        let peers = Peers::join(&listener, rank, addresses, "secret").unwrap();
                        let (mut numbers, weight) = lists[rank].clone();
                        let total = peers.average(&mut numbers, weight).unwrap().0;
                        (numbers, total)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn every_executor_gets_the_same_weighted_mean() {
        let list = |offset: f32| (0..100_003).map(|place| place as f32 * 0.1 + offset).collect::<Vec<_>>();
        let lists = [(list(0.0), 3.0), (list(1.0), 1.0), (list(8.0), 0.0)];
        let all = average(&lists);
        for (numbers, total) in &all {
            assert_eq!((*total, numbers), (4.0, &mean(&lists)));
        }
        assert!((all[0].0[50_000] - 5000.25).abs() < 1e-2, "{}", all[0].0[50_000]);
    }

    #[test]
    fn zero_weights_change_nothing() {
        let all = average(&[(vec![1.0, 2.0], 0.0), (vec![3.0], 0.0)]);
        assert_eq!(all, [(vec![1.0, 2.0], 0.0), (vec![3.0], 0.0)]);
    }

    #[test]
    fn a_connection_without_the_token_is_rejected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let addresses = [address.to_string(), "127.0.0.1:1".to_owned()];
        let greet = |words: &'static str| {
            std::thread::spawn(move || {
                let mut link = TcpStream::connect(address).unwrap();
                link.write_all(words.as_bytes()).unwrap();
                link
            })
        };
        let strangers =
            [greet("GET / HTTP/1.1\r\n"), greet("guessed 1\n"), greet("secret 7\n")].map(|s| s.join().unwrap());
        let friend = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            greet_and_send(address)
        });
        let peers = Peers::join(&listener, 0, &addresses, "secret").unwrap();
        assert_eq!(peers.total(1.5).unwrap(), 4.0);
        drop((strangers, friend.join().unwrap()));
    }

    /// Sends a letter every 100 ms, as long as the connection is open.
    fn dribble(address: std::net::SocketAddr) {
        let mut link = TcpStream::connect(address).unwrap();
        while link.write_all(b"s").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    fn connections_that_send_a_letter_now_and_then_hold_up_no_executor() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..MOST_GREETINGS + 3 {
            std::thread::Builder::new().stack_size(1 << 16).spawn(move || dribble(address)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(300));
        let friend = std::thread::spawn(move || greet_and_send(address));
        let start = Instant::now();
        let peers = Peers::join(&listener, 0, &[address.to_string(), "127.0.0.1:1".to_owned()], "secret").unwrap();
        assert_eq!(peers.total(1.5).unwrap(), 4.0);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        drop(friend.join().unwrap());
    }

    fn greet_and_send(address: std::net::SocketAddr) -> TcpStream {
        let mut link = TcpStream::connect(address).unwrap();
        link.write_all(b"secret 1\n").unwrap();
        link.write_all(&2.5_f64.to_le_bytes()).unwrap();
        link
    }
}
