//! Messages at the top of the page: errors, newer data at the collector, and samples of another
//! page.

use foreglow_shared::printable;
use leptos::prelude::*;

use crate::source::read_bytes;
use crate::state::Planner;

/// The last error; the rest of the page is unaffected by it.
#[component]
pub fn Alert() -> impl IntoView {
    let planner = expect_context::<Planner>();
    move || {
        planner.alert.get().map(|message| {
            view! {
                <div class="alert" role="alert" data-testid="alert">
                    <p>{message}</p>
                    <button type="button" class="quiet" on:click=move |_| planner.alert.set(None)>
                        "Dismiss"
                    </button>
                </div>
            }
        })
    }
}

/// A notice that the collector has other runs of the linked job.
#[component]
pub fn Newer() -> impl IntoView {
    let planner = expect_context::<Planner>();
    move || {
        planner.newer.get().filter(|newer| planner.job().is_some_and(|job| job.context == newer.context)).map(|newer| {
            let shown = planner.job().map_or(0, |job| job.observations.len());
            let known = newer.observations.len();
            let take = move |_| {
                planner.newer.set(None);
                planner.live.follows.set(true);
                planner.change(|state| state.renew_jobs(vec![newer.clone()]));
            };
            view! {
                <div class="notice" role="status">
                    <p>{format!("This link holds {shown} runs of the job; the collector here has {known}.")}</p>
                    <button type="button" class="quiet" on:click=take>
                        "Use the collector's runs"
                    </button>
                    <button type="button" class="quiet" on:click=move |_| planner.newer.set(None)>
                        "Keep the link's runs"
                    </button>
                </div>
            }
        })
    }
}

/// Asks whether the samples of another page may replace those of this one. It is part of the page,
/// because browsers refuse the questions of scripts in the frame of another site.
#[component]
pub fn Offer() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let offered = planner.import.offered;
    move || {
        offered.get().map(|offer| {
            let from = match offer.origin.as_str() {
                "null" => "A page without an address".into(),
                origin => printable(origin),
            };
            let question =
                format!("{from} sends the samples {:?}, which replace those of this page.", printable(&offer.name));
            let open = move |_| {
                offered.set(None);
                read_bytes(planner, &offer.name, &offer.bytes);
            };
            view! {
                <div class="notice" role="alert" data-testid="offer">
                    <p>{question}</p>
                    <button type="button" class="quiet" data-testid="offer-open" on:click=open>
                        "Open them"
                    </button>
                    <button type="button" class="quiet" data-testid="offer-ignore" on:click=move |_| offered.set(None)>
                        "Ignore them"
                    </button>
                </div>
            }
        })
    }
}
