//! A mock collector, with faults that a real one shows only under load.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use foreglow_shared::Job;
use serde_json::json;
use tokio::sync::Notify;

use crate::FileHost;

/// A server of the planner and of some jobs.
#[derive(Debug)]
pub struct StandIn {
    /// URL of the planner.
    pub url: String,
    _host: FileHost,
    ends: Arc<Notify>,
    state: Arc<Mutex<State>>,
}

/// A fault of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer has this status and retry delay in seconds.
    Status(u16, Option<u32>),
    /// The answer comes after this delay.
    Late(Duration),
}

type Rule = Box<dyn Fn(&str, usize) -> Option<Fault> + Send>;

struct State {
    jobs: Vec<Job>,
    rule: Rule,
    requests: Vec<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl StandIn {
    /// Serves the built planner and these jobs. The event stream never opens.
    ///
    /// # Errors
    /// As [`FileHost::start`].
    pub async fn start(jobs: Vec<Job>) -> anyhow::Result<Self> {
        let state = State { jobs, rule: Box::new(|_, _| None), requests: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let ends = Arc::new(Notify::new());
        let known = (Arc::clone(&state), Arc::clone(&ends));
        let answer = move |uri: Uri| {
            let (path, (state, ends)) = (uri.path().trim_start_matches("/api/v1/").to_owned(), known.clone());
            async move { answer(&path, &state, &ends).await }
        };
        let host = FileHost::with(Router::new().route("/api/v1/{*path}", get(answer)))?;
        Ok(Self { url: host.url.clone(), _host: host, ends, state })
    }

    /// Sets the rule for failing requests, by their path after `/api/v1/` and the number of earlier
    /// requests.
    pub fn fail(&self, rule: impl Fn(&str, usize) -> Option<Fault> + Send + 'static) {
        locked(&self.state).rule = Box::new(rule);
    }

    /// Ends the pending requests of the event stream.
    pub fn end_events(&self) {
        self.ends.notify_waiters();
    }

    /// Replaces the jobs.
    pub fn set_jobs(&self, jobs: Vec<Job>) {
        locked(&self.state).jobs = jobs;
    }

    /// The paths of the requests so far, after `/api/v1/`.
    pub fn requests(&self) -> Vec<String> {
        locked(&self.state).requests.clone()
    }
}

fn locked(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(path: &str, state: &Mutex<State>, ends: &Notify) -> Response {
    let (fault, jobs) = {
        let mut state = locked(state);
        let fault = (state.rule)(path, state.requests.len());
        state.requests.push(path.to_owned());
        (fault, state.jobs.clone())
    };
    match fault {
        Some(Fault::Status(status, delay)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut refused = (status, axum::Json(json!({ "error": "refused" }))).into_response();
            if let Some(delay) = delay {
                refused.headers_mut().insert(header::RETRY_AFTER, delay.into());
            }
            return refused;
        }
        Some(Fault::Late(delay)) => tokio::time::sleep(delay).await,
        None if path == "events" => {
            ends.notified().await;
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        None => {}
    }
    if path == "jobs" {
        let listed = |job: &Job| json!({ "job": job.context.fingerprint(), "context": job.context });
        let listed: Vec<_> = jobs.iter().map(listed).collect();
        // The number of runs identifies the newest one.
        let runs: usize = jobs.iter().map(Job::runs).sum();
        let last_id = format!("019aa6d1-0000-7000-8000-{runs:012}");
        return axum::Json(json!({ "last_id": last_id, "jobs": listed })).into_response();
    }
    let job = jobs.iter().find(|job| path.strip_prefix("jobs/") == Some(job.context.fingerprint().as_str()));
    match job {
        Some(job) => axum::Json(json!({ "runs": job.runs(), "job": job })).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
