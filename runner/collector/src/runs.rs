//! `GET /api/v1/runs`: equal runs grouped, with their number and completion times.

use axum::extract::State;
use axum::http::Uri;
use foreglow_shared::Outcome;
use serde::Deserialize;

use super::lists::{self, Asked, Limits};
use super::{Answer, Shared};
use foreglow_store::{Runs, RunsFilter};

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
pub(super) async fn list(State(shared): State<Shared>, uri: Uri, Asked(query): Asked<RunsQuery>) -> Answer {
    let limit = LIMITS.apply(query.limit)?;
    let outcome = query.outcome.map(|outcome| outcome.as_str().to_owned());
    let (model, job, after) = (query.model, query.job, query.after.unwrap_or(0));
    let filter = RunsFilter { model, job, outcome, after, limit };
    let page = shared.storage.read(move |store| store.runs(&filter)).await?;
    let next = page.runs.last().filter(|_| page.has_more).map(|last| lists::next_page(&uri, last.number));
    Ok(lists::page(lists::text("\"runs\"", page.runs.iter().map(text)), next))
}

/// Returns a row of the answer. Its parts are stored as JSON.
fn text(runs: &Runs) -> String {
    let Runs { number, workload, configuration, sampling_rate, engine, outcome, host, samples, times } = runs;
    let times = times.map_or(serde_json::Value::Null, |times| {
        serde_json::json!({ "mean_secs": times.mean_secs, "least_secs": times.least_secs, "most_secs": times.most_secs })
    });
    format!(
        "{{\"number\":{number},\"workload\":{workload},\"configuration\":{configuration},\
         \"sampling_rate\":{sampling_rate},\"engine\":\"{engine}\",\"outcome\":\"{outcome}\",\"host\":{host},\
         \"samples\":{samples},\"completion_time\":{times}}}"
    )
}
