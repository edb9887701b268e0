//! Where the page gets its data: a link, the collector that serves it, or a file.

mod address;
mod collector;
mod file;
mod session;

use foreglow_shared::Job;
use leptos::prelude::*;
use leptos::task::spawn_local;

pub use self::address::{base as page_address, follow as follow_address};
pub use self::file::read as read_file;
pub use self::session::follow as follow_session;
use crate::job::{jobs_of, same_job};
use crate::source::collector::Collected;
use crate::state::Planner;

/// Fills the page when it opens. A link comes before the collector: it is what somebody wanted to show.
pub fn open(planner: Planner) {
    let fragment = address::fragment();
    let linked = match fragment.as_deref().map(|fragment| planner.open_link(fragment)) {
        None => false,
        Some(Ok(())) => true,
        Some(Err(error)) => {
            planner.alert.set(Some(format!("The link in the address bar cannot be opened: {error}.")));
            false
        }
    };
    if linked {
        let earlier = session::jobs();
        // Only a reload shows the same job again; a link that was put into this tab starts afresh.
        if untrack(|| planner.job()).is_some_and(|shown| earlier.contains(&shown)) {
            planner.jobs.update(|jobs| {
                jobs.extend(
                    earlier.into_iter().filter(|job| same_job(jobs, &job.context).is_none()).collect::<Vec<Job>>(),
                )
            });
        }
    }
    planner.loading.set(!linked);
    spawn_local(async move {
        match collector::samples().await {
            Collected::Samples(samples) if linked => add_jobs(planner, jobs_of(&samples)),
            // A file may have been dropped while the collector was thinking.
            Collected::Samples(samples) if planner.jobs.with_untracked(Vec::is_empty) => planner.take_samples(&samples),
            Collected::Unusable(reason) if !linked => planner.alert.set(Some(reason)),
            Collected::Samples(_) | Collected::Unusable(_) | Collected::Nothing => {}
        }
        planner.loading.set(false);
        if !linked && fragment.is_some() {
            address::hold(planner);
        }
    });
}

/// What the collector knows beside the link that is open: other jobs to choose, or other runs of the same one.
fn add_jobs(planner: Planner, jobs: Vec<Job>) {
    let shown = planner.jobs.get_untracked();
    for job in jobs {
        match same_job(&shown, &job.context) {
            None => planner.jobs.update(|shown| shown.push(job)),
            Some(known) if *known != job && !job.observations.is_empty() => {
                planner.newer.set(Some(job));
            }
            Some(_) => {}
        }
    }
}
