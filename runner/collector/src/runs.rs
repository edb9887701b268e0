//! `GET /api/v1/runs`: equal runs grouped, with their number and completion times.

use std::fmt::Write as _;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use foreglow_shared::Outcome;
use serde::Deserialize;

use super::lists::{self, Limits};
use super::{Shared, failure, refusal};
use crate::store::{Runs, RunsFilter};

const LIMITS: Limits = Limits { default: 10_000, most: 100_000 };

/// Query of the route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsQuery {
    model: Option<String>,
    /// Fingerprint of a job.
    job: Option<String>,
    outcome: Option<Outcome>,
    /// Number of a run; only later ones are listed.
    after: Option<i64>,
    limit: Option<usize>,
}

/// Lists the runs in the order of their first sample. If there are more, the `Link` header has the
/// next page.
pub(super) async fn list(
    State(shared): State<Shared>,
    uri: Uri,
    query: Result<Query<RunsQuery>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    let limit = match LIMITS.apply(query.limit) {
        Ok(limit) => limit,
        Err(refused) => return *refused,
    };
    let outcome = query.outcome.map(|outcome| outcome.as_str().to_owned());
    let (model, job, after) = (query.model, query.job, query.after.unwrap_or(0));
    let filter = RunsFilter { model, job, outcome, after, limit };
    let page = match shared.storage.read(move |store| store.runs(&filter)).await {
        Ok(page) => page,
        Err(error) => return failure(&error),
    };
    let next = page.runs.last().filter(|_| page.has_more).map(|last| lists::next_page(&uri, last.number));
    lists::page(text(&page.runs), next)
}

/// Returns the answer. The parts are stored as JSON.
fn text(runs: &[Runs]) -> String {
    let mut text = String::from("{\"schema\":1,\"runs\":[");
    for (index, runs) in runs.iter().enumerate() {
        let Runs { number, workload, configuration, sampling_rate, engine, outcome, host, samples, times } = runs;
        let comma = if index == 0 { "" } else { "," };
        let times = times.map_or(serde_json::Value::Null, |times| {
            serde_json::json!({ "mean_secs": times.mean_secs, "least_secs": times.least_secs, "most_secs": times.most_secs })
        });
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{comma}\n{{\"number\":{number},\"workload\":{workload},\"configuration\":{configuration},\
             \"sampling_rate\":{sampling_rate},\"engine\":\"{engine}\",\"outcome\":\"{outcome}\",\"host\":{host},\
             \"samples\":{samples},\"completion_time\":{times}}}"
        );
    }
    text + "]}\n"
}
