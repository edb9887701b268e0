//! The example that comes with the page: jobs that `make sweep` measured.

use gloo_net::http::Request;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::import::{Imported, import};
use crate::state::Planner;

const EXAMPLE: &str = "./example.jsonl";
/// The job that is shown first, by its CNN; its inference comes before its training.
const FIRST: &str = "resnet18";

/// Opens the example in place of what is on the page.
pub fn open(planner: Planner) {
    spawn_local(async move {
        let bytes = match Request::get(EXAMPLE).send().await {
            Ok(response) if response.ok() => response.binary().await.ok(),
            _ => None,
        };
        match bytes.map(|bytes| import(&bytes, None)) {
            Some(Ok(Imported::Jobs(jobs))) => {
                planner.alert.set(None);
                planner.newer.set(None);
                planner.live.follows.set(false);
                let first = jobs.iter().position(|job| job.context.workload.model == FIRST);
                planner.take_jobs(jobs, first.unwrap_or(0));
            }
            _ => planner.alert.set(Some(
                "The example did not arrive: whatever serves this page is gone. Try again once it is back.".into(),
            )),
        }
    });
}
