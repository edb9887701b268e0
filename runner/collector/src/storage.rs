//! The store behind the requests: one thread that writes, and several connections that read.
//!
//! Readers never wait for a writer. Posts that arrive during a write are stored together by the
//! next one, with a single write to the disk.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::body::BodyShare;
use crate::damage::Damage;
use crate::readiness::Readiness;
use foreglow_store::{Encoded, Inserted, Store, Unavailable};

/// Connections that read at the same time.
const READERS: usize = 4;
/// Limit on the queued writes; further ones wait in their requests.
const QUEUE: usize = 64;
/// Limit on the samples of one write, unless a single request has more.
const MOST_SAMPLES: usize = 5_000;
/// Size of the samples after which a write takes no further requests.
const MOST_BYTES: usize = 8 << 20;

/// Handle of the store for all requests.
#[derive(Clone)]
pub(super) struct Storage {
    /// Closed before the writer, so that the last connection to close is one that may write: it
    /// moves the write-ahead log into the file.
    readers: Arc<Mutex<Vec<Store>>>,
    free_readers: Arc<Semaphore>,
    writer: mpsc::Sender<Write>,
    damage: Damage,
    readiness: Readiness,
}

enum Write {
    Insert(Insert),
    Other(Box<dyn FnOnce(&mut Store) + Send>),
}

/// The samples of a request. They hold their memory until they are stored, even if the sender
/// disconnects.
struct Insert {
    samples: Vec<Encoded>,
    _memory: BodyShare,
    reply: oneshot::Sender<anyhow::Result<Inserted>>,
}

impl Storage {
    /// Opens the readers and starts the writer. The writer ends after the last handle is dropped
    /// and then closes the second value.
    ///
    /// # Errors
    /// The store cannot be read, or the thread cannot be started.
    pub(super) fn start(store: Store) -> anyhow::Result<(Self, Receiver<()>)> {
        let readers = (0..READERS).map(|_| store.reader()).collect::<anyhow::Result<Vec<Store>>>()?;
        let (writer, writes) = mpsc::channel(QUEUE);
        let (ending, ended) = std::sync::mpsc::channel();
        let damage = Damage::default();
        let known = damage.clone();
        std::thread::Builder::new()
            .name("store".into())
            .spawn(move || {
                write_all(store, writes, &known);
                drop::<Sender<()>>(ending);
            })
            .context("the thread that writes samples cannot be started")?;
        let storage = Self {
            writer,
            readers: Arc::new(Mutex::new(readers)),
            free_readers: Arc::new(Semaphore::new(READERS)),
            damage,
            readiness: Readiness::default(),
        };
        Ok((storage, ended))
    }

    /// Stores samples; they are on disk when this returns.
    pub(super) async fn insert(&self, samples: Vec<Encoded>, memory: BodyShare) -> anyhow::Result<Inserted> {
        let (reply, result) = oneshot::channel();
        let insert = Insert { samples, _memory: memory, reply };
        self.writer.send(Write::Insert(insert)).await.map_err(|_| ended())?;
        let inserted = result.await.map_err(|_| ended())?;
        self.readiness.note(&inserted);
        inserted
    }

    /// Finds out whether a sample could be stored, for [`Readiness`].
    pub(super) async fn probe(&self) {
        self.readiness.ask(Instant::now());
        let outcome = self.write(|store| store.probe()).await;
        self.readiness.note(&outcome);
    }

    /// Runs `work` with the store on the thread that writes.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (reply, result) = oneshot::channel();
        let damage = self.damage.clone();
        let work = Box::new(move |store: &mut Store| {
            let outcome = damage.refuse().and_then(|()| work(store)).inspect_err(|error| damage.note(error));
            drop(reply.send(outcome));
        });
        self.writer.send(Write::Other(work)).await.map_err(|_| ended())?;
        result.await.map_err(|_| ended())?
    }

    /// Runs `work` with a connection that reads, on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let permit = Arc::clone(&self.free_readers).acquire_owned().await.context("the collector is stopping")?;
        let (readers, damage) = (Arc::clone(&self.readers), self.damage.clone());
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let reader = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let reader = reader.context("a connection to the store is missing")?;
            let outcome = work(&reader).inspect_err(|error| damage.note(error));
            readers.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            outcome
        })
        .await
        .context("the store's thread ended early")?
    }

    /// Returns the number of writes that wait.
    pub(super) fn queued(&self) -> usize {
        self.writer.max_capacity() - self.writer.capacity()
    }

    /// Returns the latest answer of the store to a write.
    pub(super) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Returns the known damage.
    pub(super) fn damage(&self) -> &Damage {
        &self.damage
    }
}

fn ended() -> anyhow::Error {
    anyhow::anyhow!("the thread that writes samples has ended; restart the collector")
}

/// Writes until all handles are gone.
fn write_all(mut store: Store, mut writes: mpsc::Receiver<Write>, damage: &Damage) {
    let mut next = writes.blocking_recv();
    while let Some(write) = next.take() {
        match write {
            Write::Other(work) => work(&mut store),
            Write::Insert(first) => {
                let size_bytes = |insert: &Insert| insert.samples.iter().map(Encoded::size_bytes).sum::<usize>();
                let (mut count, mut bytes) = (first.samples.len(), size_bytes(&first));
                let mut group = vec![first];
                while count < MOST_SAMPLES && bytes < MOST_BYTES && next.is_none() {
                    match writes.try_recv() {
                        Ok(Write::Insert(insert)) => {
                            count += insert.samples.len();
                            bytes += size_bytes(&insert);
                            group.push(insert);
                        }
                        Ok(other) => next = Some(other),
                        Err(_) => break,
                    }
                }
                insert(&mut store, group, damage);
            }
        }
        if next.is_none() {
            next = writes.blocking_recv();
        }
    }
}

/// Stores the samples of several requests together, or one by one if that fails, so that no request
/// fails because of another one. If a database does not answer, the requests fail together.
fn insert(store: &mut Store, group: Vec<Insert>, damage: &Damage) {
    let requests: Vec<&[Encoded]> = group.iter().map(|insert| insert.samples.as_slice()).collect();
    let is_together = group.len() > 1 && damage.refuse().is_ok();
    let together = is_together.then(|| store.insert_all(&requests));
    let mut together = match together {
        Some(Err(error)) if error.is::<Unavailable>() => {
            for insert in group {
                drop(insert.reply.send(Err(Unavailable::again(&error))));
            }
            return;
        }
        together => together.and_then(Result::ok).map(Vec::into_iter),
    };
    for insert in group {
        let inserted =
            together.as_mut().and_then(Iterator::next).map_or_else(|| insert_one(store, &insert.samples, damage), Ok);
        // If the sender has disconnected, it will send the samples again, and they are known then.
        drop(insert.reply.send(inserted));
    }
}

fn insert_one(store: &mut Store, samples: &[Encoded], damage: &Damage) -> anyhow::Result<Inserted> {
    damage.refuse()?;
    let inserted = store.insert_all(&[samples]).inspect_err(|error| damage.note(error));
    inserted.map(|mut inserted| inserted.pop().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::extract::Request;

    use super::*;
    use crate::body::{Body, BodyMemory};
    use crate::fixture::sample;

    #[tokio::test]
    async fn samples_that_wait_keep_their_memory_though_the_sender_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(&folder.path().join("samples.sqlite").into())).unwrap();
        let (storage, _closed) = Storage::start(store).unwrap();
        let bodies = BodyMemory::new();
        let request = Request::new(axum::body::Body::from(vec![b' '; 10 << 10]));
        let Ok(Body { memory, .. }) = bodies.read(request).await else { panic!("the body was refused") };
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let slow = Write::Other(Box::new(move |_| assert!(wait.recv().is_err())));
        assert!(storage.writer.send(slow).await.is_ok());
        let insert = storage.insert(vec![Encoded::new(&sample(1)).unwrap()], memory);
        assert!(tokio::time::timeout(Duration::from_millis(50), insert).await.is_err());
        assert_eq!(bodies.used(), 10 << 10);
        drop(go_on);
        assert_eq!(storage.write(|store| store.count()).await.unwrap(), 1);
        assert_eq!(bodies.used(), 0);
    }
}
