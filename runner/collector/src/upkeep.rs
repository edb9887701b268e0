//! Periodic work: last use of tokens, free space, certificates, and removal of old samples.

use std::time::{Duration, Instant};

use foreglow_exit::complain;
use foreglow_shared::{Timestamp, format_count};

use super::Shared;
use super::tls::Tls;
use foreglow_store::disk::{self, Space};

const INTERVAL: Duration = Duration::from_secs(10);
/// Interval at which old samples are removed.
const RETENTION_INTERVAL: Duration = Duration::from_secs(600);
/// Samples removed by one write, so that other writes can run in between.
const BATCH: usize = 1_000;

/// Does the work until the collector stops.
pub(super) async fn keep_up(shared: Shared, tls: Option<Tls>) {
    if let Some(warning) = shared.store.as_deref().and_then(disk::shared_warning) {
        complain(&warning);
    }
    let mut space = Space::Enough;
    let mut removed_at: Option<Instant> = None;
    loop {
        space = warn(&shared, space);
        if let Some(Err(error)) = tls.as_ref().map(Tls::refresh) {
            complain(&format!("foreglow: the new certificate is not used: {error:#}"));
        }
        if let Some(keep) = shared.keep
            && removed_at.is_none_or(|at| at.elapsed() >= RETENTION_INTERVAL)
        {
            removed_at = Some(Instant::now());
            if let Err(error) = remove_old(&shared, keep).await {
                complain(&format!("foreglow: samples that are too old were not removed: {error:#}"));
            }
        }
        tokio::time::sleep(INTERVAL).await;
        mark_used(&shared).await;
    }
}

fn warn(shared: &Shared, before: Space) -> Space {
    let Some(store) = &shared.store else { return before };
    let Some(free) = disk::free_bytes(store) else { return before };
    let space = Space::of(free);
    if let Some(warning) = space.warning(before, store, free) {
        complain(&warning);
    }
    space
}

/// Stores when tokens were last used.
pub(super) async fn mark_used(shared: &Shared) {
    let used = shared.gate.take_used();
    if !used.is_empty()
        && let Err(error) = shared.storage.write(move |store| store.mark_used(&used)).await
    {
        complain(&format!("foreglow: the last use of tokens was not stored: {error:#}"));
    }
}

async fn remove_old(shared: &Shared, keep: Duration) -> anyhow::Result<()> {
    let before = Timestamp::now().checked_sub(keep)?;
    let mut removed = 0;
    loop {
        let of_batch = shared.storage.write(move |store| store.remove_before(before, BATCH, "retention")).await?;
        removed += of_batch;
        if of_batch < BATCH {
            break;
        }
    }
    if removed > 0 {
        complain(&format!("foreglow: removed {} from before {before}", format_count(removed, "sample")));
    }
    Ok(())
}
