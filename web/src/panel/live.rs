//! The status of the connection to the collector.

use leptos::prelude::*;

use crate::source::{follow_running, show_collector};
use crate::state::{Connection, Planner};

/// A status line on the collector, hidden without one.
#[component]
pub fn LiveStatus() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let live = planner.live;
    let sentence = move || match (live.connection.get(), live.follows.get(), live.arrived.get()) {
        (Connection::None, ..) => String::new(),
        (Connection::Away(0), ..) => {
            "The collector is unreachable. This page keeps its data and tries again until it is back.".into()
        }
        (Connection::Away(status), ..) => {
            format!("The collector answers with status {status}. This page keeps its data and tries again.")
        }
        (Connection::SignedOut, ..) => {
            "The collector asks you to sign in: reload this page. Until then no new samples appear.".into()
        }
        (Connection::Open, true, 0) => "Live: new samples of the collector appear here at once.".into(),
        (Connection::Open, true, 1) => "Live: 1 sample has arrived since this page was opened.".into(),
        (Connection::Open, true, arrived) => {
            format!("Live: {arrived} samples have arrived since this page was opened.")
        }
        (Connection::Open, false, _) => "A collector serves this page, which shows other samples.".into(),
    };
    let is_heard = move || live.connection.get() != Connection::None;
    view! {
        <div class="live" class:away=move || live.connection.get() != Connection::Open role="status" data-testid="live" hidden=move || !is_heard()>
            <span class="dot" aria-hidden="true"></span>
            <p>{sentence}</p>
            <Show when=move || is_heard() && !live.follows.get()>
                <button type="button" class="quiet" data-testid="show-collector" on:click=move |_| show_collector(planner)>
                    "Show the collector's samples"
                </button>
            </Show>
        </div>
    }
}

/// The jobs that are followed while they run, a line each; hidden without one.
#[component]
pub fn RunningJobs() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let live = planner.live;
    follow_running(planner);
    // Without a connection, the lines are of the past.
    let lines = move || if live.connection.get() == Connection::Open { live.running.get() } else { String::new() };
    view! {
        <section class="running" data-testid="running" aria-label="Jobs that run now" hidden=move || lines().is_empty()>
            <h2>"Running now"</h2>
            <p>{lines}</p>
        </section>
    }
}
