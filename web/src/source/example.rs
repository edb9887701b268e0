//! Loads a built-in example, once the user chooses it.

use foreglow_shared::read_json_lines;
use gloo_net::http::Request;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::data::example::{Example, Opening};
use crate::state::Planner;

/// Replaces the page's jobs by an example, and asks its question.
pub fn open(planner: Planner, example: Example) {
    spawn_local(async move {
        let text = match Request::get(example.file()).send().await {
            Ok(response) if response.ok() => response.text().await.ok(),
            _ => None,
        };
        let samples = text.and_then(|text| read_json_lines(&text).ok());
        match samples.and_then(|samples| example.opening(&samples).ok()) {
            Some(Opening { jobs, first, deadline_secs, min_accuracy }) => {
                planner.alert.set(None);
                planner.newer.set(None);
                planner.live.follows.set(false);
                planner.take_jobs(jobs, first);
                planner.deadline_secs.set(deadline_secs);
                planner.min_accuracy.set(min_accuracy);
            }
            None => planner.alert.set(Some(
                "The example cannot be loaded: the server of this page does not respond. Try again later.".into(),
            )),
        }
    });
}
