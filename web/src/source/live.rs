//! The collector's event stream: new samples appear on the page, which also shows when the
//! collector is unreachable.

use std::collections::BTreeSet;
use std::time::Duration;

use foreglow_shared::{Sample, parse_line};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Event, EventSource, MessageEvent};

use super::{add_jobs, collector};
use crate::data::job::jobs_of;
use crate::state::{Connection, Planner};

const EVENTS: &str = "./api/v1/events";
/// Samples that arrive within this time are fitted together.
const GATHER: Duration = Duration::from_millis(300);
/// Delay between retries once the browser has given up reconnecting.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// Adds the samples that are new to the page and returns their number.
pub fn take(planner: Planner, samples: Vec<Sample>) -> usize {
    let live = planner.live;
    let mut known = BTreeSet::new();
    live.samples.with_value(|samples| known.extend(samples.iter().map(|sample| sample.id)));
    let new: Vec<Sample> = samples.into_iter().filter(|sample| known.insert(sample.id)).collect();
    let count = new.len();
    if count > 0 {
        live.samples.update_value(|known| known.extend(new));
        let jobs = live.samples.with_value(|samples| jobs_of(samples));
        if live.follows.get_untracked() {
            planner.renew_jobs(jobs);
        } else {
            add_jobs(planner, jobs);
        }
    }
    count
}

/// Replaces a file or a link by the collector's jobs.
pub fn show(planner: Planner) {
    let live = planner.live;
    live.follows.set(true);
    planner.newer.set(None);
    planner.alert.set(None);
    let jobs = live.samples.with_value(|samples| jobs_of(samples));
    if !jobs.is_empty() {
        planner.take_jobs(jobs.into_iter().map(|job| planner.without_left_out(job)).collect(), 0);
    }
}

/// Opens the event stream.
pub fn follow(planner: Planner) {
    let live = planner.live;
    let after = live.last().map(|id| format!("?after={id}")).unwrap_or_default();
    let Ok(source) = EventSource::new(&format!("{EVENTS}{after}")) else { return };
    let opened = Closure::<dyn Fn(Event)>::new(move |_| {
        let was_away = live.connection.get_untracked() == Connection::Away;
        live.connection.set(Connection::Open);
        // An empty collector gave no sample to continue after, and after a reconnection it may be
        // another collector.
        if was_away || live.last().is_none() {
            spawn_local(async move { arrive(planner, collector::samples(live.last()).await.samples) });
        }
    });
    let sample = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let Some(Ok(sample)) = event.data().as_string().map(|line| parse_line(&line)) else { return };
        let is_first = live.waiting.with_value(Vec::is_empty);
        live.waiting.update_value(|waiting| waiting.push(sample));
        if is_first {
            set_timeout(
                move || arrive(planner, live.waiting.try_update_value(std::mem::take).unwrap_or_default()),
                GATHER,
            );
        }
    });
    let failed = Closure::<dyn Fn(Event)>::new({
        let source = source.clone();
        move |_| {
            live.connection.set(Connection::Away);
            // Unless the stream is closed, the browser reconnects by itself after the last sample.
            if source.ready_state() == EventSource::CLOSED {
                set_timeout(move || ask_again(planner), ASK_AGAIN);
            }
        }
    });
    source.set_onopen(Some(opened.as_ref().unchecked_ref()));
    source.set_onerror(Some(failed.as_ref().unchecked_ref()));
    // Adding a listener only fails on a page that is closing.
    let _ = source.add_event_listener_with_callback("sample", sample.as_ref().unchecked_ref());
    opened.forget();
    sample.forget();
    failed.forget();
}

/// Checks whether a collector is reachable again. It reads all samples, because the collector may
/// no longer have the last known one.
fn ask_again(planner: Planner) {
    spawn_local(async move {
        let collected = collector::samples(None).await;
        if collected.is_there {
            arrive(planner, collected.samples);
            follow(planner);
        } else {
            set_timeout(move || ask_again(planner), ASK_AGAIN);
        }
    });
}

fn arrive(planner: Planner, samples: Vec<Sample>) {
    let new = take(planner, samples);
    planner.live.arrived.update(|arrived| *arrived += new);
}
