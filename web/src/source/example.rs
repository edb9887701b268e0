//! The example that comes with the page: jobs that `make sweep` measured.

use foreglow_shared::read_json_lines;
use gloo_net::http::Request;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::job::jobs_of;
use crate::state::Planner;

const EXAMPLE: &str = "./example.jsonl";
/// The CNN of the job to show first. Contexts sort inference before training.
const FIRST: &str = "resnet18";

/// Replaces the page's jobs by the example.
pub fn open(planner: Planner) {
    spawn_local(async move {
        let text = match Request::get(EXAMPLE).send().await {
            Ok(response) if response.ok() => response.text().await.ok(),
            _ => None,
        };
        match text.map(|text| read_json_lines(&text)) {
            Some(Ok(samples)) => {
                planner.alert.set(None);
                planner.newer.set(None);
                planner.live.follows.set(false);
                let jobs = jobs_of(&samples);
                let first = jobs.iter().position(|job| job.context.workload.model == FIRST);
                planner.take_jobs(jobs, first.unwrap_or(0));
            }
            _ => planner.alert.set(Some(
                "The example cannot be loaded: the server of this page does not respond. Try again later.".into(),
            )),
        }
    });
}
