//! `GET /api/v1/jobs` and `GET /api/v1/jobs/JOB`: the data for the planner, bounded in size for any
//! number of samples.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use serde::Deserialize;

use super::lists::{self, Asked, Limits};
use super::{Answer, Shared, refusal};
use foreglow_store::{JobPage, JobRuns, ListedJob};

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
pub(super) async fn list(State(shared): State<Shared>, Asked(query): Asked<JobsQuery>) -> Answer {
    let limit = LIMITS.apply(query.limit)?;
    // The id is read first, so that a client that follows the events after it misses no sample.
    let read = shared.storage.read(move |store| Ok((store.last_id()?, store.jobs(query.before, limit)?)));
    let (last_id, page) = read.await?;
    let next = page.jobs.last().filter(|_| page.has_more);
    let next = next.map(|last| format!("/api/v1/jobs?limit={limit}&before={}", last.latest));
    Ok(lists::page(text(last_id.as_deref(), &page), next))
}

/// Returns the list. Contexts are stored as JSON.
fn text(last_id: Option<&str>, page: &JobPage) -> String {
    let row = |job: &ListedJob| {
        let ListedJob { job, latest, samples, context } = job;
        format!("{{\"job\":\"{job}\",\"latest\":{latest},\"samples\":{samples},\"context\":{context}}}")
    };
    lists::text(&format!("\"last_id\":{},\"jobs\"", serde_json::Value::from(last_id)), page.jobs.iter().map(row))
}

/// Answers with the runs of a job that a predictor is fitted to.
pub(super) async fn one(State(shared): State<Shared>, Path(fingerprint): Path<String>) -> Answer {
    let wanted = fingerprint.clone();
    let Some(JobRuns { job, runs }) = shared.storage.read(move |store| store.job(&wanted)).await? else {
        let sentence = format!("there is no job {fingerprint:?}; /api/v1/jobs lists all");
        return Err(refusal(StatusCode::NOT_FOUND, sentence).into());
    };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((headers, Json(serde_json::json!({ "schema": 1, "runs": runs, "job": job }))).into_response())
}
