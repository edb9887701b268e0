//! The page's data sources: a link, the collector that serves it, a file, or another page.

pub mod address;
mod collector;
mod example;
mod file;
mod live;
mod message;
mod network;
pub mod saved;
mod session;

use foreglow_shared::Job;
use leptos::prelude::*;
use leptos::task::spawn_local;

pub use self::address::{base as page_address, follow as follow_address};
use self::collector::Failure;
pub use self::example::open as open_example;
pub use self::file::{read as read_files, read_bytes, read_labelled, read_mapped};
pub use self::live::{follow_running, select as select_listed, show as show_collector};
pub use self::message::follow as follow_messages;
pub use self::network::with_px as networks_with_px;
pub use self::session::follow as follow_session;
use crate::data::job::same_job;
use crate::data::unmeasured::is_unmeasured;
use crate::data::view_state::{Link, ViewState};
use crate::state::Planner;

const SIGN_IN: &str = "The collector shows its samples to those who have signed in: open its address without \
                       index.html, or open a link or a file here.";

/// Loads the page's first jobs. A link takes precedence over the collector, because its sender
/// wants to show its content.
pub fn open(planner: Planner) {
    let fragment = address::fragment();
    if fragment.as_deref().is_none_or(is_unmeasured) {
        planner.expect_no_samples(false);
    }
    let mut link = None;
    match fragment.as_deref().map(Link::read) {
        None => {}
        Some(Err(error)) => refuse(planner, &error.to_string()),
        Some(Ok(read)) => match ViewState::reopened(read.clone(), session::rest()) {
            Ok(state) => planner.change(|shown| *shown = state),
            // The collector may have the job of a short link.
            Err(_) => link = Some(read),
        },
    }
    // Only a link with samples, or with the question without samples, needs no collector.
    let has_content = !is_empty(planner) || link.is_none() && fragment.as_deref().is_some_and(is_unmeasured);
    let end_loading = {
        let has_link = fragment.is_some();
        move || {
            planner.end_loading();
            if has_link {
                address::settle(planner);
            }
        }
    };
    if has_content {
        end_loading();
    }
    spawn_local(async move {
        ask_collector(planner, link.as_ref().and_then(Link::short_job)).await;
        if let Some(link) = link.filter(|_| planner.live.follows.get_untracked() || is_empty(planner))
            && let Err(error) = planner.open_link(link)
        {
            refuse(planner, &error);
        }
        if planner.loading.get_untracked() {
            end_loading();
        }
        live::load_compared(planner).await;
    });
}

/// Loads the collector's jobs: the wanted one, that on the page, or the newest.
async fn ask_collector(planner: Planner, wanted: Option<&str>) {
    let listing = collector::jobs().await;
    // The page may have a question without samples, and the user may have dropped a file before the
    // collector answered.
    let is_free = is_empty(planner) && planner.loading.get_untracked();
    match listing {
        Ok(listing) => {
            planner.live.follows.set(is_free);
            live::take_list(planner, listing);
            let shown = || untrack(|| planner.job().map(|job| planner.measured(&job.context).fingerprint()));
            let newest = || {
                let newest =
                    planner.live.listed.with_untracked(|listed| listed.first().map(|listed| listed.job.clone()));
                newest.filter(|_| is_free)
            };
            if let Some(job) = wanted.map(str::to_owned).or_else(shown).or_else(newest) {
                live::load(planner, &job).await;
            }
            live::follow(planner);
        }
        Err(failure) if failure.may_pass() => {
            planner.live.follows.set(is_free);
            live::ask_later(planner, failure);
        }
        Err(Failure { status: 401, .. }) if is_free => planner.alert.set(Some(SIGN_IN.into())),
        Err(failure @ Failure { status: 403, .. }) if is_free => {
            planner.alert.set(Some(format!("The collector's samples cannot be shown: {}.", failure.reason())));
        }
        // There is no collector, as on a file host.
        Err(_) => {}
    }
}

fn is_empty(planner: Planner) -> bool {
    planner.jobs.with_untracked(Vec::is_empty)
}

fn refuse(planner: Planner, reason: &str) {
    planner.alert.set(Some(format!("The link in the address bar cannot be opened: {reason}.")));
}

/// Adds the collector's jobs to those of an open link: other jobs to select, or newer runs of the
/// same job.
pub(crate) fn add_jobs(planner: Planner, jobs: Vec<Job>) {
    let shown = planner.jobs.get_untracked();
    for job in jobs {
        match same_job(&shown, &job.context) {
            None => planner.change(|state| state.add_other(job)),
            Some(known) if !job.observations.is_empty() && *known != planner.without_left_out(job.clone()) => {
                planner.newer.set(Some(job));
            }
            Some(_) => {}
        }
    }
}
