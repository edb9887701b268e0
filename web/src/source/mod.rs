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

use foreglow_shared::{Job, ShortLink};
use leptos::prelude::*;
use leptos::task::spawn_local;

pub use self::address::{base as page_address, follow as follow_address};
use self::collector::Failure;
pub use self::example::open as open_example;
pub use self::file::{read as read_file, read_mapped};
pub use self::live::{select as select_listed, show as show_collector};
pub use self::message::follow as follow_messages;
pub use self::network::with_px as networks_with_px;
pub use self::session::follow as follow_session;
use crate::data::job::same_job;
use crate::data::view;
use crate::state::Planner;
use crate::state::history::{end_scenario, is_short};

const SIGN_IN: &str = "The collector shows its samples to those who have signed in: open its address without \
                       index.html, or open a link or a file here.";

/// Loads the page's first jobs. A link takes precedence over the collector, because its sender
/// wants to show its content.
pub fn open(planner: Planner) {
    let mut size = None;
    let fragment = address::fragment().map(|fragment| {
        let (link, shown) = view::split(&fragment);
        size = shown.size;
        planner.take_shown(shown);
        link.to_owned()
    });
    // A short link has no runs; it is opened after they are loaded.
    let short = fragment.clone().filter(|fragment| is_short(fragment));
    let linked = match fragment.as_deref().filter(|_| short.is_none()).map(|fragment| planner.open_link(fragment)) {
        None => false,
        Some(Ok(())) => true,
        Some(Err(error)) => {
            planner.alert.set(Some(format!("The link in the address bar cannot be opened: {error}.")));
            false
        }
    };
    end_scenario();
    if let Some(short) = &short {
        let pins = session::pins();
        session::restore_edits(planner);
        planner.jobs.set(session::jobs());
        match planner.open_fragment(short, size) {
            Ok(()) => planner.pins.set(pins),
            Err(_) => planner.jobs.set(Vec::new()),
        }
    }
    if linked {
        let earlier = session::jobs();
        // Session storage is used only for a reload; a link entered in this tab starts without it.
        if untrack(|| planner.job()).is_some_and(|shown| earlier.contains(&shown)) {
            session::restore_edits(planner);
            planner.jobs.update(|jobs| {
                jobs.extend(
                    earlier.into_iter().filter(|job| same_job(jobs, &job.context).is_none()).collect::<Vec<Job>>(),
                )
            });
        }
    }
    planner.loading.set(!linked);
    spawn_local(async move {
        let listing = collector::jobs().await;
        // The user may have dropped a file before the collector answered.
        let free = !linked && planner.jobs.with_untracked(Vec::is_empty);
        match listing {
            Ok(listing) => {
                planner.live.follows.set(free);
                live::take_list(planner, listing);
                if let Some(job) = first_job(planner, short.as_deref()) {
                    live::load(planner, &job).await;
                }
                live::follow(planner);
            }
            Err(failure) if failure.may_pass() => {
                planner.live.follows.set(free);
                live::ask_later(planner, failure);
            }
            Err(Failure { status: 401, .. }) if free => planner.alert.set(Some(SIGN_IN.into())),
            Err(failure @ Failure { status: 403, .. }) if free => {
                planner.alert.set(Some(format!("The collector's samples cannot be shown: {}.", failure.reason())));
            }
            // There is no collector, as on a file host.
            Err(_) => {}
        }
        if let Some(short) = short.as_ref().filter(|_| free)
            && let Err(error) = planner.open_fragment(short, size)
        {
            planner.alert.set(Some(format!("The link in the address bar cannot be opened: {error}.")));
        }
        end_scenario();
        planner.loading.set(false);
        if !linked && fragment.is_some() {
            address::hold(planner);
        }
        live::load_compared(planner).await;
    });
}

/// The job to fetch first: that of a short link, that on the page, or the newest.
fn first_job(planner: Planner, short: Option<&str>) -> Option<String> {
    let linked = short.and_then(|short| ShortLink::from_fragment(short).ok()).map(|link| link.job);
    let shown = || untrack(|| planner.job().map(|job| planner.measured(&job.context).fingerprint()));
    let newest = || planner.live.listed.with_untracked(|listed| listed.first().map(|listed| listed.job.clone()));
    linked.or_else(shown).or_else(newest)
}

/// Adds the collector's jobs to those of an open link: other jobs to select, or newer runs of the
/// same job.
pub(crate) fn add_jobs(planner: Planner, jobs: Vec<Job>) {
    let shown = planner.jobs.get_untracked();
    for job in jobs {
        match same_job(&shown, &job.context) {
            None => planner.jobs.update(|shown| shown.push(job)),
            Some(known) if !job.observations.is_empty() && *known != planner.without_left_out(job.clone()) => {
                planner.newer.set(Some(job));
            }
            Some(_) => {}
        }
    }
}
