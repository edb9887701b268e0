//! All-reduce among the executors of a run, which are fully connected.
//!
//! The numbers are divided into as many slices as there are executors. Each executor receives one
//! slice from all others, sums it, and returns the sum to all, so that the load is even. BigDL does
//! the same over Spark's blocks (Dai et al., "BigDL", SoCC 2019, algorithm 2). Sums are always
//! taken in rank order, so that the result is deterministic.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Timeout for connecting all executors.
const JOINING: Duration = Duration::from_secs(60);
const LONGEST_GREETING: u64 = 200;
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
        while links.iter().skip(rank + 1).any(Option::is_none) {
            match listener.accept() {
                // Connections without the token are dropped.
                Ok((link, _)) => {
                    if let Some(peer) = greeting(&link, token).filter(|peer| (rank + 1..links.len()).contains(peer)) {
                        links[peer] = Some(link);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let missing = links.iter().skip(rank + 1).filter(|link| link.is_none()).count();
                    anyhow::ensure!(Instant::now() < end, "{missing} executors did not connect in {JOINING:?}");
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error).context("no executor can connect"),
            }
        }
        for link in links.iter().flatten() {
            link.set_nodelay(true).and_then(|()| link.set_read_timeout(None)).context(
                "a connection could not be \
                configured",
            )?;
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

/// Returns the rank of a peer that has connected, if it presents the token.
fn greeting(link: &TcpStream, token: &str) -> Option<usize> {
    link.set_nonblocking(false).ok()?;
    link.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    // Unbuffered, because the bytes after the line belong to the next reader.
    let mut line = String::new();
    BufReader::with_capacity(1, link).take(LONGEST_GREETING).read_line(&mut line).ok()?;
    let (greeted, rank) = line.trim_end().split_once(' ')?;
    if greeted == token { rank.parse().ok() } else { None }
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

    fn greet_and_send(address: std::net::SocketAddr) -> TcpStream {
        let mut link = TcpStream::connect(address).unwrap();
        link.write_all(b"secret 1\n").unwrap();
        link.write_all(&2.5_f64.to_le_bytes()).unwrap();
        link
    }
}
