//! `GET /api/v1/workloads`: the workloads with their number of samples.

use axum::extract::State;
use serde::Deserialize;

use super::lists::{self, Asked, Limits};
use super::{Answer, Shared};
use foreglow_store::CountedWorkload;

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
pub(super) async fn list(State(shared): State<Shared>, Asked(query): Asked<WorkloadsQuery>) -> Answer {
    let limit = LIMITS.apply(query.limit)?;
    let page = shared.storage.read(move |store| store.workloads(query.after.as_deref(), limit)).await?;
    let next = page.next.map(|job| format!("/api/v1/workloads?limit={limit}&after={job}"));
    // Workloads are stored as JSON.
    let row = |CountedWorkload { workload, samples }: &CountedWorkload| {
        format!("{{\"workload\":{workload},\"samples\":{samples}}}")
    };
    Ok(lists::page(lists::text("\"workloads\"", page.workloads.iter().map(row)), next))
}
