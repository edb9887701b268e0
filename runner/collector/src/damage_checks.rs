//! Looks in the background for damage of the store, and for whether it can be written.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::storage::Storage;
use foreglow_store::Unavailable;

/// Interval at which the file and its write-ahead log are looked for.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Least interval between two checks of the whole file, and the same in multiples of a check's
/// time.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
const CHECK_PAUSE: u32 = 100;

/// Looks for damage until the collector stops or has found some.
pub(super) async fn keep_looking(storage: Storage) {
    let mut due = Instant::now() + LOOK_INTERVAL;
    while storage.damage().lasting().is_none() {
        storage.probe().await;
        sleep(LOOK_INTERVAL).await;
        // The storage records lasting damage of both; other failures are temporary.
        let gone = storage.write(|store| store.look()).await.err().filter(|error| error.is::<Unavailable>());
        storage.damage().set_gone(gone.map(|error| format!("{error:#}")));
        if Instant::now() >= due {
            let started = Instant::now();
            // Another connection has none of the pages in its cache.
            drop(storage.read(|store| store.reader()?.check_file()).await);
            due = Instant::now() + CHECK_INTERVAL.max(started.elapsed() * CHECK_PAUSE);
        }
    }
}
