//! State of the collector: for load balancers, monitoring and users.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use foreglow_exit::{Damaged, UnusableInput};

use super::disk::{self, Space};
use super::metrics::Gauges;
use super::{Shared, failure};
use crate::store::Unavailable;

/// Time limit for the answer of a ready store.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// `GET /healthz`: whether the collector answers and its samples are undamaged.
pub(super) async fn health(State(shared): State<Shared>) -> Response {
    match shared.storage.integrity().sentence() {
        None => "ok\n".into_response(),
        Some(sentence) => (StatusCode::SERVICE_UNAVAILABLE, sentence + "\n").into_response(),
    }
}

/// `GET /readyz`: whether a sample could be stored now, tested with a write lock on the store.
/// Damaged samples are reported but do not affect readiness.
pub(super) async fn ready(State(shared): State<Shared>) -> Response {
    match problem(&shared).await {
        None => {
            let damage = shared.storage.integrity().sentence();
            damage.map_or_else(|| "ready\n".to_owned(), |damage| format!("ready, but {damage}\n")).into_response()
        }
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {problem}\n")).into_response(),
    }
}

async fn problem(shared: &Shared) -> Option<String> {
    if shared.news.borrow().stopping {
        return Some("the collector is stopping".to_owned());
    }
    match tokio::time::timeout(PROBE_TIMEOUT, shared.storage.write(|store| store.probe())).await {
        Err(_) => return Some(format!("the store has not answered within {} s", PROBE_TIMEOUT.as_secs())),
        Ok(Err(error)) => return Some(format!("{error:#}")),
        Ok(Ok(())) => {}
    }
    let free = shared.store.as_deref().and_then(disk::free_bytes);
    free.filter(|free| Space::of(*free) == Space::Full)
        .map(|free| format!("the disk that holds the store has {} MiB left", free >> 20))
}

/// `GET /version`: version of the collector, and of the sample format.
pub(super) async fn version(State(shared): State<Shared>) -> Response {
    Json(serde_json::json!({ "version": &*shared.version, "sample_schema": foreglow_shared::SCHEMA })).into_response()
}

/// `GET /metrics`: counters in the text format of Prometheus.
pub(super) async fn metrics(State(shared): State<Shared>) -> Response {
    let (samples, store_bytes) = match shared.storage.read(|store| Ok((store.count()?, store.size_bytes()?))).await {
        Ok((samples, bytes)) => (Some(samples), Some(bytes)),
        // Other metrics report an unavailable or damaged store.
        Err(error) if error.is::<UnusableInput>() || error.is::<Damaged>() || error.is::<Unavailable>() => (None, None),
        Err(error) => return failure(&error),
    };
    let integrity = shared.storage.integrity();
    let found = integrity.found();
    let gauges = Gauges {
        version: shared.version.to_string(),
        samples,
        store_bytes,
        free_bytes: shared.store.as_deref().and_then(disk::free_bytes),
        queued_writes: shared.storage.queued(),
        listeners: shared.events.listeners(),
        is_damaged: integrity.is_damaged(),
        damaged_samples: found.samples(),
        damaged_runs: found.runs,
        checked_samples: found.checked,
        checked_at_secs: found.completed_at.and_then(|at| u64::try_from(at.as_second()).ok()),
    };
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], shared.metrics.text(&gauges)).into_response()
}
