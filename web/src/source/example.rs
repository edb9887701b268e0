//! Loads a built-in example when the user chooses it.

use gloo_net::http::Request;
use js_sys::Uint8Array;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::client::{Errand, READER};
use crate::data::example::{Example, Opening};
use crate::state::Planner;
use crate::worker::import::Imported;
use crate::worker::messages::{FromErrand, ToErrand};

/// Replaces the page's jobs by an example, and asks its question. A worker reads it as a file.
pub fn open(planner: Planner, example: Example) {
    planner.import.give_up();
    spawn_local(async move {
        let bytes = match Request::get(example.file()).send().await {
            Ok(response) if response.ok() => response.binary().await.ok(),
            _ => None,
        };
        let told = move |told: Result<FromErrand, String>| {
            planner.import.give_up();
            match told {
                Ok(FromErrand::Imported(Ok(Imported::Jobs(jobs)))) => match example.opening(jobs) {
                    Ok(opening) => show(planner, opening),
                    Err(_) => fail(planner),
                },
                _ => fail(planner),
            }
        };
        let errand = bytes.and_then(|bytes| {
            let bytes = Uint8Array::from(bytes.as_slice());
            Errand::start(READER, &ToErrand::Import(None), Some(bytes.into()), told).ok()
        });
        match errand {
            Some(errand) => planner.import.errand.set_value(Some(errand)),
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
}

fn fail(planner: Planner) {
    planner
        .alert
        .set(Some("The example cannot be loaded: the server of this page does not respond. Try again later.".into()));
}
