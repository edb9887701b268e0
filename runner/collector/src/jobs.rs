//! `GET /api/v1/jobs` and `GET /api/v1/jobs/JOB`: the data for the planner, bounded in size for any
//! number of samples.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::lists::{self, Limits};
use super::{Shared, failure, refusal};
use crate::store::{JobPage, JobRuns};

const LIMITS: Limits = Limits { default: 1_000, most: 10_000 };

/// Query of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsQuery {
    /// `latest` of a job; only those whose newest sample is older are listed.
    before: Option<i64>,
    limit: Option<usize>,
}

/// Lists the jobs, those with the newest samples first. If there are more, the `Link` header has
/// the next page.
pub(super) async fn list(State(shared): State<Shared>, query: Result<Query<JobsQuery>, QueryRejection>) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    let limit = match LIMITS.apply(query.limit) {
        Ok(limit) => limit,
        Err(refused) => return *refused,
    };
    // The id is read first, so that a client that follows the events after it misses no sample.
    let read = shared.storage.read(move |store| Ok((store.last_id()?, store.jobs(query.before, limit)?)));
    let (last_id, page) = match read.await {
        Ok(read) => read,
        Err(error) => return failure(&error),
    };
    let next = page.jobs.last().filter(|_| page.has_more);
    let next = next.map(|last| format!("/api/v1/jobs?limit={limit}&before={}", last.latest));
    lists::page(text(last_id.as_deref(), &page), next)
}

/// Returns the list. Contexts are stored as JSON.
fn text(last_id: Option<&str>, page: &JobPage) -> String {
    let mut text = format!("{{\"schema\":1,\"last_id\":{},\"jobs\":[", serde_json::Value::from(last_id));
    for (index, job) in page.jobs.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{comma}\n{{\"job\":\"{}\",\"latest\":{},\"samples\":{},\"context\":{}}}",
            job.job, job.latest, job.samples, job.context
        );
    }
    text + "]}\n"
}

/// Answers with the runs of a job that a predictor is fitted to.
pub(super) async fn one(State(shared): State<Shared>, Path(fingerprint): Path<String>) -> Response {
    let wanted = fingerprint.clone();
    match shared.storage.read(move |store| store.job(&wanted)).await {
        Ok(Some(JobRuns { job, runs })) => {
            let headers = [(header::CACHE_CONTROL, "no-store")];
            (headers, Json(serde_json::json!({ "schema": 1, "runs": runs, "job": job }))).into_response()
        }
        Ok(None) => refusal(StatusCode::NOT_FOUND, format!("there is no job {fingerprint:?}; /api/v1/jobs lists all")),
        Err(error) => failure(&error),
    }
}
