//! Messages at the top of the page: errors, and newer data at the collector.

use leptos::prelude::*;

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
