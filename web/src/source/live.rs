//! The collector's live stream: the page follows what is measured, and says when the collector goes away and comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use foreglow_shared::{Sample, Uuid, parse_line};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Event, EventSource, MessageEvent};

use super::{add_jobs, collector};
use crate::job::jobs_of;
use crate::state::Planner;

const EVENTS: &str = "./api/v1/events";
/// Samples that arrive together are fitted together.
const GATHER: Duration = Duration::from_millis(300);
/// Where the browser has given up, the page asks again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// How the collector is heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// There is none.
    #[default]
    None,
    /// What arrives there comes here.
    Open,
    /// It went away; what is on the page stays.
    Away,
}

/// What is known of the collector.
#[derive(Clone, Copy)]
pub struct Live {
    /// How it is heard.
    pub connection: RwSignal<Connection>,
    /// Samples that came since the page was opened.
    pub arrived: RwSignal<usize>,
    /// Whether the page shows what the collector has, and not a file or a link.
    pub follows: RwSignal<bool>,
    samples: StoredValue<Vec<Sample>>,
    waiting: StoredValue<Vec<Sample>>,
}

impl Live {
    /// No collector.
    pub fn new() -> Self {
        Self {
            connection: RwSignal::new(Connection::None),
            arrived: RwSignal::new(0),
            follows: RwSignal::new(false),
            samples: StoredValue::new(Vec::new()),
            waiting: StoredValue::new(Vec::new()),
        }
    }

    /// Takes samples of the collector that the page does not have. Their number.
    pub fn take(&self, planner: Planner, samples: Vec<Sample>) -> usize {
        let mut known = BTreeSet::new();
        self.samples.with_value(|samples| known.extend(samples.iter().map(|sample| sample.id)));
        let new: Vec<Sample> = samples.into_iter().filter(|sample| known.insert(sample.id)).collect();
        let count = new.len();
        if count > 0 {
            self.samples.update_value(|known| known.extend(new));
            let jobs = self.samples.with_value(|samples| jobs_of(samples));
            if self.follows.get_untracked() {
                planner.renew_jobs(jobs);
            } else {
                add_jobs(planner, jobs);
            }
        }
        count
    }

    /// Shows what the collector has in place of a file or a link.
    pub fn show(&self, planner: Planner) {
        self.follows.set(true);
        planner.newer.set(None);
        planner.alert.set(None);
        let jobs = self.samples.with_value(|samples| jobs_of(samples));
        if !jobs.is_empty() {
            planner.take_jobs(jobs.into_iter().map(|job| planner.without_left_out(job)).collect(), 0);
        }
    }

    /// The last sample that is known.
    fn last(&self) -> Option<Uuid> {
        self.samples.with_value(|samples| samples.last().map(|sample| sample.id))
    }
}

/// Listens from now on.
pub fn follow(planner: Planner) {
    let live = planner.live;
    let after = live.last().map(|id| format!("?after={id}")).unwrap_or_default();
    let Ok(source) = EventSource::new(&format!("{EVENTS}{after}")) else { return };
    let opened = Closure::<dyn Fn(Event)>::new(move |_| {
        let was_away = live.connection.get_untracked() == Connection::Away;
        live.connection.set(Connection::Open);
        // A collector that had nothing names no sample to read on after, and one that came back may be another one.
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
            // Otherwise the browser asks again by itself, from the last sample on.
            if source.ready_state() == EventSource::CLOSED {
                set_timeout(move || ask_again(planner), ASK_AGAIN);
            }
        }
    });
    source.set_onopen(Some(opened.as_ref().unchecked_ref()));
    source.set_onerror(Some(failed.as_ref().unchecked_ref()));
    // A listener that cannot be added belongs to a page that is going.
    let _ = source.add_event_listener_with_callback("sample", sample.as_ref().unchecked_ref());
    opened.forget();
    sample.forget();
    failed.forget();
}

/// Looks whether a collector is there again; one that has forgotten our last sample is read from its beginning.
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
    let new = planner.live.take(planner, samples);
    planner.live.arrived.update(|arrived| *arrived += new);
}
