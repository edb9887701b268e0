//! State of the collector: for load balancers, monitoring and users.

use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::Shared;
use super::metrics::Gauges;
use foreglow_store::disk::{self, Space};

/// `GET /healthz`: whether the collector answers and its store is undamaged.
pub(super) async fn health(State(shared): State<Shared>) -> Response {
    match shared.storage.damage().sentence() {
        None => "ok\n".into_response(),
        Some(sentence) => (StatusCode::SERVICE_UNAVAILABLE, format!("{sentence}\n")).into_response(),
    }
}

/// `GET /readyz`: whether a sample could be stored now, by the latest write, about a second ago at
/// most. The request itself does nothing to the store.
pub(super) async fn ready(State(shared): State<Shared>) -> Response {
    match problem(&shared) {
        None => "ready\n".into_response(),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {problem}\n")).into_response(),
    }
}

fn problem(shared: &Shared) -> Option<String> {
    if shared.changes.borrow().stopping {
        return Some("the collector is stopping".to_owned());
    }
    let storage = &shared.storage;
    if let Some(problem) = storage.damage().sentence().or_else(|| storage.readiness().problem(Instant::now())) {
        return Some(problem);
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
        // The other metrics report an unavailable or damaged store.
        Err(_) => (None, None),
    };
    let gauges = Gauges {
        version: shared.version.to_string(),
        samples,
        store_bytes,
        free_bytes: shared.store.as_deref().and_then(disk::free_bytes),
        queued_writes: shared.storage.queued(),
        listeners: shared.events.listeners(),
        is_damaged: shared.storage.damage().sentence().is_some(),
    };
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], shared.metrics.text(&gauges)).into_response()
}
