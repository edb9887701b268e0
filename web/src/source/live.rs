//! The collector's jobs and its event stream. Runs are fetched for the jobs on the page, and again
//! when their samples arrive.

use std::time::Duration;

use foreglow_shared::{Job, JobDefinition, Observation, measured_choices};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Deserialize;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Event, EventSource, MessageEvent};

use super::add_jobs;
use super::collector::{self, Failure, Listing, Runs};
use crate::state::{Connection, JobSummary, Planner};

const EVENTS: &str = "./api/v1/events?of=jobs";
/// Samples that arrive within this time are fitted together.
const GATHER: Duration = Duration::from_millis(300);
/// Time between two requests for the jobs that are followed while they run.
const LOOK: Duration = Duration::from_secs(5);
/// Jobs that are fetched for a comparison of machine types.
const MOST_COMPARED: usize = 50;

/// New samples of a job.
#[derive(Deserialize)]
struct Arrived {
    job: String,
    samples: usize,
}

/// Takes the list of jobs.
pub fn take_list(planner: Planner, Listing { last_id, jobs }: Listing) {
    planner.live.last_id.set_value(last_id);
    planner.live.listed.set(jobs);
}

/// Fetches the runs of a job. A job that the collector lacks is only in the link.
pub async fn load(planner: Planner, fingerprint: &str) {
    match fetch(planner, fingerprint).await {
        Ok(job) => take(planner, vec![job]),
        Err(Failure { status: 404, .. }) => {}
        Err(failure) => planner.alert.set(Some(format!("The runs of the job cannot be loaded: {}.", failure.reason()))),
    }
}

/// Fetches and selects a listed job, unless the user chooses another one meanwhile.
pub fn select(planner: Planner, listed: JobSummary) {
    choose(planner, listed, |planner, job| {
        let job = planner.without_left_out(planner.as_shown(job));
        planner.choose();
        planner.change(|state| {
            let context = job.context.clone();
            state.add_job(job);
            if let Some(place) = state.jobs.iter().position(|job| job.context == context) {
                state.select(place);
            }
        });
    });
}

/// Replaces a file or a link by the collector's newest job. An empty collector's first job replaces
/// an empty page when it arrives.
pub fn show(planner: Planner) {
    match planner.live.listed.with_untracked(|listed| listed.first().cloned()) {
        None => planner.live.follows.set(true),
        Some(newest) => choose(planner, newest, |planner, job| {
            planner.live.follows.set(true);
            planner.newer.set(None);
            planner.take_jobs(vec![planner.without_left_out(job)], 0);
        }),
    }
}

/// Fetches a job chosen by the user, and those for its comparison.
fn choose(planner: Planner, listed: JobSummary, show: fn(Planner, Job)) {
    let choice = planner.choose();
    spawn_local(async move {
        let fetched = fetch(planner, &listed.job).await;
        if !planner.is_latest(choice) {
            return;
        }
        match fetched {
            Ok(job) => {
                planner.alert.set(None);
                show(planner, job);
                load_compared(planner).await;
            }
            Err(failure) => {
                let title = listed.context.title();
                planner.alert.set(Some(format!("The runs of {title} cannot be loaded: {}.", failure.reason())));
                // Resets the selector to the job of the page.
                planner.selected.notify();
            }
        }
    });
}

/// Opens the event stream.
pub fn follow(planner: Planner) {
    let live = planner.live;
    let after = live.last_id.get_value().map(|id| format!("&after={id}")).unwrap_or_default();
    let Ok(source) = EventSource::new(&format!("{EVENTS}{after}")) else { return };
    let opened = Closure::<dyn Fn(Event)>::new(move |_| {
        let was_away = matches!(live.connection.get_untracked(), Connection::Away(_));
        live.connection.set(Connection::Open);
        live.failures.set_value(0);
        // Lists the jobs again: an empty collector gave no sample to continue after, and after a
        // reconnection it may be another collector.
        if was_away || live.last_id.with_value(Option::is_none) {
            // Errors are ignored, because the event stream reports the same; if it ends, the page
            // asks again.
            spawn_local(async move {
                let _ = ask(planner).await;
            });
        }
    });
    let arrived = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let Some(Ok(Arrived { job, samples })) = event.data().as_string().map(|data| serde_json::from_str(&data))
        else {
            return;
        };
        live.arrived.update(|arrived| *arrived += samples);
        live.waiting.update_value(|waiting| waiting.push(job));
        if !live.is_renewing.get_value() {
            live.is_renewing.set_value(true);
            renew_later(planner);
        }
    });
    let failed = Closure::<dyn Fn(Event)>::new({
        let source = source.clone();
        move |_| {
            // Unless the stream is closed, the browser reconnects by itself and continues after the
            // last sample.
            match source.ready_state() == EventSource::CLOSED {
                true => ask_later(planner, Failure::default()),
                false => live.connection.set(Connection::Away(0)),
            }
        }
    });
    source.set_onopen(Some(opened.as_ref().unchecked_ref()));
    source.set_onerror(Some(failed.as_ref().unchecked_ref()));
    // Adding a listener fails only on a closing page.
    let _ = source.add_event_listener_with_callback("job", arrived.as_ref().unchecked_ref());
    opened.forget();
    arrived.forget();
    failed.forget();
}

/// Fetches the jobs that are followed while they run, again and again while a collector answers.
pub fn follow_running(planner: Planner) {
    let live = planner.live;
    let look = move || {
        if live.connection.get_untracked() == Connection::Open {
            spawn_local(async move {
                live.running.set(collector::running().await.unwrap_or_default());
                follow_running(planner);
            });
        } else {
            follow_running(planner);
        }
    };
    set_timeout(look, LOOK);
}

/// Shows that the connection failed, and checks later whether a collector answers; it may lack the
/// last known sample. A missing sign-in is left to the user.
pub fn ask_later(planner: Planner, failure: Failure) {
    let live = planner.live;
    if failure.status == 401 {
        live.connection.set(Connection::SignedOut);
        return;
    }
    live.connection.set(Connection::Away(failure.status));
    let failures = live.failures.get_value() + 1;
    live.failures.set_value(failures);
    let ask_again = move || {
        spawn_local(async move {
            match ask(planner).await {
                Ok(()) => follow(planner),
                Err(failure) => ask_later(planner, failure),
            }
        });
    };
    set_timeout(ask_again, failure.delay(failures));
}

/// Lists the jobs again, and fetches the runs of those on the page if samples have arrived.
async fn ask(planner: Planner) -> Result<(), Failure> {
    let listing = collector::jobs().await?;
    let is_known = listing.last_id.is_some()
        && listing.last_id == planner.live.last_id.get_value()
        && !planner.jobs.with_untracked(Vec::is_empty);
    take_list(planner, listing);
    if !is_known {
        let listed = planner.live.listed.get_untracked();
        renew(planner, listed.into_iter().map(|listed| listed.job).collect()).await;
    }
    Ok(())
}

/// Fetches the runs of waiting jobs, one request at a time, so that an earlier answer never
/// replaces a later one.
fn renew_later(planner: Planner) {
    let live = planner.live;
    let start = move || {
        spawn_local(async move {
            let jobs = live.waiting.try_update_value(std::mem::take).unwrap_or_default();
            let knows =
                |job: &String| live.listed.with_untracked(|listed| listed.iter().any(|known| known.job == *job));
            if !jobs.iter().all(knows)
                && let Ok(listing) = collector::jobs().await
            {
                take_list(planner, listing);
            }
            renew(planner, jobs).await;
            match live.waiting.with_value(Vec::is_empty) {
                true => live.is_renewing.set_value(false),
                false => renew_later(planner),
            }
        });
    };
    set_timeout(start, GATHER);
}

/// Fetches the runs of those of these jobs that the page shows. An empty page shows the newest job.
async fn renew(planner: Planner, jobs: Vec<String>) {
    let shown: Vec<String> = untrack(|| {
        planner.jobs.with(|shown| shown.iter().map(|job| planner.measured(&job.context).fingerprint()).collect())
    });
    if shown.is_empty() && planner.live.follows.get_untracked() {
        if let Some(newest) = planner.live.listed.with_untracked(|listed| listed.first().cloned()) {
            load(planner, &newest.job).await;
            load_compared(planner).await;
        }
        return;
    }
    let renewed: Vec<String> = shown.into_iter().filter(|shown| jobs.contains(shown)).collect();
    take(planner, fetch_all(planner, &renewed).await);
}

/// Fetches the jobs that show how the machine types of the selected job differ, if its runs or
/// those of other jobs are on several.
pub async fn load_compared(planner: Planner) {
    let Some(shown) = untrack(|| planner.job()) else { return };
    let Some(run) = shown.observations.first() else { return };
    let measured = untrack(|| planner.measured(&shown.context));
    let definition = JobDefinition::of(&measured);
    let known = planner.jobs.get_untracked();
    let mut others = untrack(|| planner.others());
    others.retain(|other| other.context.workload.mode == definition.mode);
    let is_own = |other: &JobSummary| JobDefinition::of(&other.context).is_same_job(&definition);
    if !others.iter().any(is_own) {
        // The contexts show the measured machines; a placeholder replaces their runs.
        let run = Observation { sampling_rate: 0.0, ..*run };
        let stand_in = |other: &JobSummary| planner.as_shown(Job::of_runs(other.context.clone(), vec![run]));
        let jobs: Vec<Job> = known.into_iter().chain(others.iter().map(stand_in)).collect();
        if measured_choices(&jobs, &shown.context) < 2 {
            return;
        }
    }
    let (own, lenders): (Vec<JobSummary>, Vec<JobSummary>) = others.into_iter().partition(is_own);
    let follows = planner.live.follows.get_untracked();
    let compared: Vec<String> = own.into_iter().chain(lenders).map(|other| other.job).take(MOST_COMPARED).collect();
    let loaded = fetch_all(planner, &compared).await;
    // The user may have opened a file meanwhile.
    let is_shown = |job: &Job| untrack(|| planner.measured(&job.context)) == measured;
    if !planner.jobs.with_untracked(|jobs| jobs.iter().any(is_shown)) || follows != planner.live.follows.get_untracked()
    {
        return;
    }
    let loaded: Vec<Job> = loaded.into_iter().map(|job| planner.without_left_out(planner.as_shown(job))).collect();
    planner.change(|state| loaded.into_iter().for_each(|job| state.add_other(job)));
}

/// Fetches the runs of several jobs, and reports the number of failures.
async fn fetch_all(planner: Planner, fingerprints: &[String]) -> Vec<Job> {
    let all = fingerprints.len();
    let (mut loaded, mut last) = (Vec::new(), None);
    for fingerprint in fingerprints {
        match fetch(planner, fingerprint).await {
            Ok(job) => loaded.push(job),
            Err(failure) => last = Some(failure),
        }
    }
    if let Some(failure) = last {
        let missing = all - loaded.len();
        planner.alert.set(Some(format!(
            "{missing} of {all} jobs could not be loaded, and the answer lacks their runs: {}.",
            failure.reason()
        )));
    }
    loaded
}

/// Fetches the runs of a job.
async fn fetch(planner: Planner, fingerprint: &str) -> Result<Job, Failure> {
    let Runs { job, runs } = collector::runs(fingerprint).await?;
    let is_known = untrack(|| planner.live.all_runs(&job.context)).is_some();
    if is_known || runs > job.runs() {
        planner.live.larger.update(|larger| {
            larger.retain(|(known, _)| *known != job.context);
            if runs > job.runs() {
                larger.push((job.context.clone(), runs));
            }
        });
    }
    Ok(job)
}

/// Shows the runs of jobs of the collector.
fn take(planner: Planner, jobs: Vec<Job>) {
    let jobs = jobs.into_iter().map(|job| planner.as_shown(job)).collect();
    match planner.live.follows.get_untracked() {
        true => planner.change(|state| state.renew_jobs(jobs)),
        false => add_jobs(planner, jobs),
    }
}
