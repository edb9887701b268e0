//! Loads a built-in example when the user chooses it.

use js_sys::{Array, Uint8Array};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::client::{READER, RunningRequest};
use crate::data::example::{Example, Opening};
use crate::state::Planner;
use crate::worker::import::{Added, Imported};
use crate::worker::messages::{Request, Response};

/// Replaces the page's jobs by an example, and asks its question. A worker reads it as a file.
pub fn open(planner: Planner, example: Example) {
    planner.import.give_up();
    spawn_local(async move {
        let bytes = match gloo_net::http::Request::get(example.file()).send().await {
            Ok(response) if response.ok() => response.binary().await.ok(),
            _ => None,
        };
        let told = move |told: Result<Response, String>| {
            planner.import.give_up();
            match told {
                Ok(Response::Imported(Ok(Imported::Jobs { jobs, .. }))) => match example.opening(jobs) {
                    Ok(opening) => show(planner, opening),
                    Err(_) => fail(planner),
                },
                _ => fail(planner),
            }
        };
        let request = bytes.and_then(|bytes| {
            let files = Array::of1(&Uint8Array::from(bytes.as_slice()));
            RunningRequest::start(READER, &Request::Import(Added::default()), Some(files.into()), told).ok()
        });
        match request {
            Some(request) => planner.import.request.set_value(Some(request)),
            None => fail(planner),
        }
    });
}

fn show(planner: Planner, Opening { jobs, first, deadline_secs, min_accuracy }: Opening) {
    planner.alert.set(None);
    planner.newer.set(None);
    planner.live.follows.set(false);
    planner.choose();
    planner.change(|state| {
        state.take_jobs(jobs, first);
        (state.limits.deadline_secs, state.limits.min_accuracy) = (deadline_secs, min_accuracy);
    });
    planner.opened.update(|opened| *opened += 1);
}

fn fail(planner: Planner) {
    planner
        .alert
        .set(Some("The example cannot be loaded: the server of this page does not respond. Try again later.".into()));
}
