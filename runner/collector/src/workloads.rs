//! `GET /api/v1/workloads`: the workloads with their number of samples.

use std::fmt::Write as _;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::lists::{self, Limits};
use super::{Shared, failure, refusal};
use crate::store::CountedWorkload;

const LIMITS: Limits = Limits { default: 1_000, most: 10_000 };

/// Query of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadsQuery {
    /// Fingerprint of a job; only workloads after that of the job are listed.
    after: Option<String>,
    limit: Option<usize>,
}

/// Lists the workloads in the order of their JSON. If there are more, the `Link` header has the
/// next page.
pub(super) async fn list(
    State(shared): State<Shared>,
    query: Result<Query<WorkloadsQuery>, QueryRejection>,
) -> Response {
    let WorkloadsQuery { after, limit } = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    let limit = match LIMITS.apply(limit) {
        Ok(limit) => limit,
        Err(refused) => return *refused,
    };
    let page = match shared.storage.read(move |store| store.workloads(after.as_deref(), limit)).await {
        Ok(page) => page,
        Err(error) => return failure(&error),
    };
    let next = page.next.map(|job| format!("/api/v1/workloads?limit={limit}&after={job}"));
    lists::page(text(&page.workloads), next)
}

/// Returns the list. Workloads are stored as JSON.
fn text(workloads: &[CountedWorkload]) -> String {
    let mut text = String::from("{\"schema\":1,\"workloads\":[");
    for (index, CountedWorkload { workload, samples }) in workloads.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}\n{{\"workload\":{workload},\"samples\":{samples}}}");
    }
    text + "]}\n"
}
