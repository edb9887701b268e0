//! Counters of the collector, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;

use crate::Receipt;

/// Upper bounds of the latency histogram, seconds.
const BOUNDS_SECS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
/// Prefixes of paths that end with an id.
const WITH_ID: [(&str, &str); 2] = [("/api/v1/samples/", "/api/v1/samples/ID"), ("/api/v1/jobs/", "/api/v1/jobs/JOB")];
const ROUTES: [&str; 9] = [
    "/api/v1/samples",
    "/api/v1/events",
    "/api/v1/workloads",
    "/api/v1/jobs",
    "/api/v1/runs",
    "/api/v1/running",
    "/metrics",
    "/healthz",
    "/readyz",
];

/// Counters since the start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By method, route and status.
    requests: Mutex<BTreeMap<(String, &'static str, u16), u64>>,
    latencies: Mutex<BTreeMap<&'static str, Latencies>>,
    pub(super) connections: AtomicU64,
    new: AtomicU64,
    known: AtomicU64,
    conflicts: AtomicU64,
    rejected: AtomicU64,
    pub(super) store_errors: AtomicU64,
    pub(super) unknown_tokens: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Latencies {
    /// Requests within each bound.
    within: [u64; BOUNDS_SECS.len()],
    count: u64,
    sum_secs: f64,
}

/// State of the collector at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauges {
    pub(super) version: String,
    pub(super) samples: Option<u64>,
    pub(super) store_bytes: Option<u64>,
    pub(super) free_bytes: Option<u64>,
    pub(super) queued_writes: usize,
    pub(super) listeners: usize,
    pub(super) is_damaged: bool,
}

impl Metrics {
    /// Counts an answer. The time of an answer that is streamed ends with its head.
    pub(super) fn answered(&self, method: &str, path: &str, status: StatusCode, took: Duration) {
        let route = route(path);
        // Other methods are counted together, because clients could create any number of series.
        let method = if ["GET", "HEAD", "POST", "DELETE"].contains(&method) { method } else { "other" };
        *lock(&self.requests).entry((method.to_owned(), route, status.as_u16())).or_default() += 1;
        let secs = took.as_secs_f64();
        let mut latencies = lock(&self.latencies);
        let of_route = latencies.entry(route).or_default();
        for (within, bound) in of_route.within.iter_mut().zip(BOUNDS_SECS) {
            *within += u64::from(secs <= bound);
        }
        of_route.count += 1;
        of_route.sum_secs += secs;
    }

    /// Counts the samples of a request.
    pub(super) fn received(&self, receipt: &Receipt) {
        let rejected = receipt.rejected.len() + receipt.rejected_more;
        for (counter, samples) in [
            (&self.new, receipt.new),
            (&self.known, receipt.known),
            (&self.conflicts, receipt.conflicts.len()),
            (&self.rejected, rejected),
        ] {
            counter.fetch_add(samples as u64, Ordering::Relaxed);
        }
    }

    /// Returns the text for Prometheus.
    pub(super) fn text(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        head(&mut text, "foreglow_build_info", "gauge", "Version of the collector.");
        line(&mut text, &format!("foreglow_build_info{{version={:?}}}", gauges.version), 1);
        head(&mut text, "foreglow_requests_total", "counter", "Answers by method, route and status.");
        for ((method, route, status), count) in lock(&self.requests).iter() {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            line(&mut text, &format!("foreglow_requests_total{{{labels}}}"), count);
        }
        head(&mut text, "foreglow_request_seconds", "histogram", "Time until the head of an answer.");
        for (route, latencies) in lock(&self.latencies).iter() {
            for (bound, within) in BOUNDS_SECS.iter().zip(latencies.within) {
                line(
                    &mut text,
                    &format!("foreglow_request_seconds_bucket{{route=\"{route}\",le=\"{bound}\"}}"),
                    within,
                );
            }
            let count = latencies.count;
            line(&mut text, &format!("foreglow_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}}"), count);
            line(&mut text, &format!("foreglow_request_seconds_sum{{route=\"{route}\"}}"), latencies.sum_secs);
            line(&mut text, &format!("foreglow_request_seconds_count{{route=\"{route}\"}}"), count);
        }
        head(
            &mut text,
            "foreglow_received_samples_total",
            "counter",
            "Samples of requests by what was done with them.",
        );
        for (result, counter) in
            [("new", &self.new), ("known", &self.known), ("conflict", &self.conflicts), ("rejected", &self.rejected)]
        {
            let name = format!("foreglow_received_samples_total{{result=\"{result}\"}}");
            line(&mut text, &name, counter.load(Ordering::Relaxed));
        }
        let load = |counter: &AtomicU64| Some(counter.load(Ordering::Relaxed));
        for (name, kind, help, value) in [
            ("foreglow_store_errors_total", "counter", "Writes that failed.", load(&self.store_errors)),
            ("foreglow_unknown_tokens_total", "counter", "Unknown tokens.", load(&self.unknown_tokens)),
            ("foreglow_connections", "gauge", "Open connections.", load(&self.connections)),
            ("foreglow_listeners", "gauge", "Open event streams.", Some(gauges.listeners as u64)),
            ("foreglow_stored_samples", "gauge", "Samples in the store.", gauges.samples),
            ("foreglow_store_bytes", "gauge", "Size of the store with its log.", gauges.store_bytes),
            ("foreglow_disk_free_bytes", "gauge", "Free space of the store's disk.", gauges.free_bytes),
            ("foreglow_queued_writes", "gauge", "Writes that wait.", Some(gauges.queued_writes as u64)),
            ("foreglow_store_damaged", "gauge", "1 if the store is damaged.", Some(gauges.is_damaged.into())),
        ] {
            if let Some(value) = value {
                head(&mut text, name, kind, help);
                line(&mut text, name, value);
            }
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "{name} {value}");
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the route of a path; there are only a few routes.
fn route(path: &str) -> &'static str {
    if let Some((_, route)) = WITH_ID.iter().find(|(start, _)| path.starts_with(start)) {
        return route;
    }
    ROUTES.into_iter().find(|route| *route == path).unwrap_or("planner")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_time() {
        let metrics = Metrics::default();
        metrics.answered("GET", "/api/v1/samples/1", StatusCode::OK, Duration::from_millis(3));
        metrics.answered("GET", "/api/v1/samples/2", StatusCode::OK, Duration::from_millis(30));
        metrics.answered("BREW", "/pot", StatusCode::METHOD_NOT_ALLOWED, Duration::ZERO);
        metrics.received(&Receipt { new: 2, known: 1, rejected_more: 3, ..Receipt::default() });
        let text = metrics.text(&Gauges { version: "1".into(), samples: Some(7), ..Gauges::default() });
        for expected in [
            "foreglow_build_info{version=\"1\"} 1",
            "foreglow_requests_total{method=\"GET\",route=\"/api/v1/samples/ID\",status=\"200\"} 2",
            "foreglow_requests_total{method=\"other\",route=\"planner\",status=\"405\"} 1",
            "foreglow_request_seconds_bucket{route=\"/api/v1/samples/ID\",le=\"0.005\"} 1",
            "foreglow_request_seconds_bucket{route=\"/api/v1/samples/ID\",le=\"+Inf\"} 2",
            "foreglow_received_samples_total{result=\"rejected\"} 3",
            "foreglow_stored_samples 7",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected} in\n{text}");
        }
        assert!(!text.contains("foreglow_disk_free_bytes"), "unknown values are left out");
    }
}
