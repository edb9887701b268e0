//! Faults of a collector: `make campaign FAULTS=1000`, and with `STORE=postgres` on a PostgreSQL
//! server with its default durability (`fsync`, `synchronous_commit`). After each fault every
//! acknowledged sample must be in the store once and unchanged, and the figures of runs and
//! workloads must match the samples.

mod check;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_tests::collector::{Collector, Connection, id, sample};
use foreglow_tests::io_faults;
use foreglow_tests::postgres::{self, Server};

const FAULTS: u32 = 200;
/// Faults per store; limited, because the check reads the whole store.
const FAULTS_OF_A_STORE: u32 = 20;
const SENDERS: u64 = 4;
/// Pause of a sender after a refused request.
const PAUSE: Duration = Duration::from_millis(2);
/// Limit on the size of a file that simulates a full disk, in blocks of 512 bytes.
const BLOCKS: u32 = 400;

/// A fault while samples are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// SIGKILL during many requests.
    Kill,
    /// SIGKILL, and damage to the log after the last acknowledged write: truncated, overwritten or
    /// followed by garbage.
    TornLog,
    /// The disk is full, then a kill.
    FullDisk,
    /// Connections that end within a request.
    Cut,
    /// Two collectors serve the same store, and one is killed.
    TwoWriters,
    /// Every sample is sent several times, by all senders.
    Duplicates,
    /// A call of the file system fails, once or from then on, then a kill.
    BrokenDisk,
    /// The database's server crashes and comes back, then the collector is killed.
    ServerCrash,
}

const OF_A_FILE: [Fault; 7] =
    [Fault::Kill, Fault::TornLog, Fault::FullDisk, Fault::Cut, Fault::TwoWriters, Fault::Duplicates, Fault::BrokenDisk];
/// Faults of a database, whose log and disk belong to the server.
const OF_A_DATABASE: [Fault; 5] = [Fault::Kill, Fault::ServerCrash, Fault::Cut, Fault::TwoWriters, Fault::Duplicates];

/// Calls of the file system that fail; see `tests/io-faults/faults.c`.
const CALLS: [&str; 5] = ["write", "full", "short", "sync", "read"];

/// Location of the stores of a campaign.
enum Place {
    Folder {
        folder: tempfile::TempDir,
        /// Library that makes calls of the file system fail, in a folder of its own.
        faults: (PathBuf, tempfile::TempDir),
    },
    Server(Server),
}

impl Place {
    /// Removes a store, and returns a new one, a file or a URL. A server reads the files of all
    /// databases after a crash, so old ones would slow each crash down.
    fn store(&mut self, old: Option<&OsStr>) -> anyhow::Result<OsString> {
        match self {
            Self::Folder { folder, .. } => {
                *folder = tempfile::tempdir()?;
                Ok(folder.path().join("faults.sqlite").into_os_string())
            }
            Self::Server(server) => {
                old.map(|old| server.remove(old.to_str().context("a URL is text")?)).transpose()?;
                Ok(server.database()?.into())
            }
        }
    }

    /// Returns the script of a collector for which a call of the file system fails.
    fn broken_disk(&self, number: u64) -> String {
        let Self::Folder { faults: (library, _), .. } = self else { return String::new() };
        let call = CALLS[number as usize / OF_A_FILE.len() % CALLS.len()];
        let (first, count) = (number * 37 % 300, if number.is_multiple_of(2) { 1 } else { u32::MAX });
        format!("export LD_PRELOAD='{}' FOREGLOW_IO_FAULT={call}:{first}:{count};", library.display())
    }

    fn faults(&self) -> &'static [Fault] {
        match self {
            Self::Folder { .. } => &OF_A_FILE,
            Self::Server(_) => &OF_A_DATABASE,
        }
    }
}

fn main() -> anyhow::Result<()> {
    let faults = std::env::args().nth(1).map_or(Ok(FAULTS), |faults| faults.parse())?;
    let started = Instant::now();
    let mut total = Sent::default();
    let mut place = match std::env::args().nth(2).as_deref() {
        None | Some("sqlite") => {
            let own = tempfile::tempdir()?;
            Place::Folder { folder: tempfile::tempdir()?, faults: (io_faults::library(own.path())?, own) }
        }
        Some("postgres") => Place::Server(postgres::durable()?),
        Some(_) => anyhow::bail!("the store is sqlite or postgres, whose server the campaign crashes"),
    };
    let mut store: Option<OsString> = None;
    let mut kept = BTreeSet::new();
    for number in 0..faults {
        if number % FAULTS_OF_A_STORE == 0 {
            store = Some(place.store(store.as_deref())?);
            kept.clear();
        }
        let store = store.as_deref().context("the first fault begins a store")?;
        let kinds = place.faults();
        let fault = kinds[number as usize % kinds.len()];
        let sent = one(fault, u64::from(number), (&place, store), &mut kept);
        let sent = sent.with_context(|| format!("fault {number}, {fault:?}"))?;
        total.acknowledged += sent.acknowledged;
        total.refused += sent.refused;
        total.torn_bytes += sent.torn_bytes;
        if (number + 1) % 100 == 0 {
            eprintln!("{} faults, {} samples acknowledged, {:.0?}", number + 1, total.acknowledged, started.elapsed());
        }
    }
    let torn = match place {
        Place::Folder { .. } => format!("; {} KiB of unacknowledged log torn", total.torn_bytes >> 10),
        Place::Server(_) => String::new(),
    };
    eprintln!(
        "{faults} faults in {:.0?}: {} samples acknowledged, 0 lost, 0 doubled, 0 altered, all figures right; {} \
         requests refused{torn}",
        started.elapsed(),
        total.acknowledged,
        total.refused,
    );
    // Otherwise the disk was never full.
    anyhow::ensure!(total.refused > 0 || faults < FAULTS, "no request was refused");
    Ok(())
}

/// Results of the requests during a fault.
#[derive(Debug, Default)]
struct Sent {
    /// Acknowledged samples.
    acknowledged: usize,
    /// Refused requests.
    refused: u64,
    /// Bytes of the log after the last acknowledged write that were cut or overwritten.
    torn_bytes: u64,
}

/// Sends samples during a fault, and checks the store afterwards.
fn one(
    fault: Fault,
    number: u64,
    (place, store): (&Place, &OsStr),
    kept: &mut BTreeSet<String>,
) -> anyhow::Result<Sent> {
    let script = match fault {
        Fault::FullDisk => {
            let size = size_of(Path::new(store)) / 512;
            format!("trap '' XFSZ; ulimit -f {};", size + u64::from(BLOCKS))
        }
        Fault::BrokenDisk => place.broken_disk(number),
        _ => String::new(),
    };
    let log = log_of(store);
    // The log of earlier faults may have acknowledged samples.
    let log_bytes = AtomicU64::new(size_of(&log));
    let mut collector = match Collector::start(store, &script) {
        // The broken disk was needed for the start.
        Err(_) if fault == Fault::BrokenDisk => Collector::start(store, "")?,
        started => started?,
    };
    let mut second = match fault {
        Fault::TwoWriters => Some(Collector::start(store, "")?),
        _ => None,
    };
    let addresses: Vec<String> =
        [Some(&collector), second.as_ref()].into_iter().flatten().map(|one| one.address.clone()).collect();
    let (acknowledged, is_over, refused) = (Mutex::new(Vec::new()), AtomicBool::new(false), AtomicU64::new(0));
    // A different moment for each fault, the same in each campaign.
    let moment = Duration::from_millis(20 + number * 37 % 120);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for sender in 0..SENDERS {
            let record = Record {
                acknowledged: &acknowledged,
                refused: &refused,
                is_over: &is_over,
                log: &log,
                log_bytes: &log_bytes,
            };
            let address = &addresses[sender as usize % addresses.len()];
            scope.spawn(move || send(fault, number, sender, address, record));
        }
        let happened = happen(fault, place, moment, &mut collector);
        // Also set after a failure, because the scope waits for its senders.
        is_over.store(true, Ordering::Relaxed);
        happened
    })?;
    drop(second.take());
    let torn_bytes = if fault == Fault::TornLog { tear(&log, log_bytes.into_inner(), number)? } else { 0 };
    let acknowledged = acknowledged.into_inner().map_err(|_| anyhow::anyhow!("a sender failed"))?;
    let sent = Sent { acknowledged: acknowledged.len(), refused: refused.into_inner(), torn_bytes };
    kept.extend(acknowledged);
    if let Place::Server(server) = place {
        server.settle(store.to_str().context("a URL is text")?)?;
    }
    check::check(store, kept)?;
    Ok(sent)
}

/// Causes a fault during the requests, and kills the collector.
fn happen(fault: Fault, place: &Place, moment: Duration, collector: &mut Collector) -> anyhow::Result<()> {
    std::thread::sleep(moment);
    if let (Fault::ServerCrash, Place::Server(server)) = (fault, place) {
        server.crash()?;
        std::thread::sleep(moment);
        server.start_again()?;
        std::thread::sleep(moment);
    }
    Ok(collector.kill()?)
}

/// Damages the log after the first `kept` bytes, which contain every acknowledged write; returns
/// the number of damaged bytes.
fn tear(log: &Path, kept: u64, number: u64) -> anyhow::Result<u64> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(log)?;
    let end = file.metadata()?.len();
    let kept = kept.min(end);
    let place = kept + (end - kept) * (number * 37 % 100) / 100;
    match number / OF_A_FILE.len() as u64 % 3 {
        0 => file.set_len(place)?,
        1 => file.write_all_at(&vec![0xA5; usize::try_from(end - place)?], place)?,
        _ => {
            file.write_all_at(&vec![0xA5; 100 + usize::try_from(number * 613 % 9_000)?], end)?;
            return Ok(0);
        }
    }
    Ok(end - place)
}

/// Results of the requests of all senders.
#[derive(Clone, Copy)]
struct Record<'a> {
    acknowledged: &'a Mutex<Vec<String>>,
    refused: &'a AtomicU64,
    is_over: &'a AtomicBool,
    log: &'a Path,
    /// Size of the log when a write was acknowledged.
    log_bytes: &'a AtomicU64,
}

/// Sends batches until the fault.
fn send(fault: Fault, fault_number: u64, sender: u64, address: &str, record: Record<'_>) {
    let Ok(mut connection) = Connection::open(address) else { return };
    for batch in 0_u64.. {
        if record.is_over.load(Ordering::Relaxed) {
            return;
        }
        let of_sender = if fault == Fault::Duplicates { 0 } else { sender };
        let first = (fault_number << 24) + (of_sender << 20) + 10 * batch;
        let numbers = first..first + 1 + batch % 10;
        let body: String = numbers.clone().map(sample).collect();
        if fault == Fault::Cut && batch % 3 == 2 {
            cut(address, &body);
            continue;
        }
        match connection.send("POST", "/api/v1/samples", &body) {
            Ok((200, _)) => {
                record.log_bytes.fetch_max(size_of(record.log), Ordering::Relaxed);
                if let Ok(mut acknowledged) = record.acknowledged.lock() {
                    acknowledged.extend(numbers.map(id));
                }
            }
            // Pauses: on a full disk a later batch may fit, and busy senders would slow the restart
            // of a server.
            Ok(_) => {
                record.refused.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
            Err(_) => return,
        }
    }
}

/// Begins a request and ends the connection within its body.
fn cut(address: &str, body: &str) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let head = format!("POST /api/v1/samples HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n", body.len());
    // The result is ignored, because the connection is closed anyway.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body.as_bytes()[..body.len() / 2]));
}

fn size_of(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len())
}

fn log_of(store: &OsStr) -> PathBuf {
    let mut path = store.to_owned();
    path.push("-wal");
    path.into()
}
