//! The layout of the page.

use leptos::ev;
use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, Window};

use crate::chart::{
    CompletionTimeChart, EffectsCharts, HeatMapChart, PredictedByMeasuredChart, ResidualsChart, SamplingRateChart,
    SpeedUpChart, TimeByMoneyChart,
};
use crate::control::{Later, focus, later, leave_time_for_frames, next};
use crate::data::view::Tab;
use crate::panel::{
    AccuracyByTime, Alert, Candidates, Compare, DataPanel, Export, Header, ImportPanel, InShort, JobTitle, LiveStatus,
    MachineTypes, MonitorPanel, NetworkPanel, Newer, NextSamples, Offer, OwnSamples, Printed, QuestionPanel,
    Recommended, RunningJobs, Samples, Scenarios, Tabs, UnmeasuredQuestion, WhatIfPanel, WhySheet, tab_id,
};
use crate::source;
use crate::state::{Fit, Planner};

/// Mounts the page into the element `planner` of `index.html`.
pub fn mount(window: &Window) {
    let place = window.document().and_then(|document| document.get_element_by_id("planner"));
    let Some(place) = place.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else {
        leptos::logging::error!("index.html has no element with the id planner");
        return;
    };
    mount_to(place, App).forget();
}

/// Removes the "opening" sentence of `index.html`.
fn end_opening() {
    if let Some(boot) = document().get_element_by_id("boot") {
        boot.remove();
    }
}

/// Called when the page accepts input; sets a mark for the benchmarks of opening a link.
fn mark_interactive() {
    leave_time_for_frames();
    if let Some(performance) = window().performance() {
        // A browser without the User Timing API still shows the page.
        let _ = performance.mark("foreglow-interactive");
    }
}

#[component]
fn App() -> impl IntoView {
    let planner = Planner::new();
    provide_context(planner);
    planner.follow_plan();
    // Loads the state before mounting, to avoid a flash of the empty page.
    later(move || source::open(planner));
    later(end_opening);
    source::follow_address(planner);
    source::follow_session(planner);
    source::follow_messages(planner);
    let dragging = accept_drops(planner);
    let empty = Memo::new(move |_| planner.jobs.with(Vec::is_empty));
    // Opened samples begin at the top of the page, wherever the button was that opened them.
    Effect::new(move |was_without: Option<bool>| {
        let is_without = empty.get() && !planner.loading.get();
        if was_without == Some(true) && !is_without {
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
        is_without
    });

    // What the user opened is announced, and its title is the start of the next key presses.
    Effect::new(move |earlier: Option<usize>| {
        let opened = planner.opened.get();
        if earlier.is_some_and(|earlier| earlier != opened) {
            later(|| focus(".job h1"));
        }
        opened
    });
    let skip = move |event: ev::MouseEvent| {
        // The fragment of the address is the state of the page.
        event.prevent_default();
        focus("main");
    };

    view! {
        <div class="page" class:dragging=dragging>
            <a class="skip" href="#main" on:click=skip>
                "Skip to the question and the answer"
            </a>
            <Later>
                <Header />
            </Later>
            <main id="main" tabindex="-1">
                <Later>
                    <Alert />
                    <Newer />
                    <Offer />
                    <LiveStatus />
                    <RunningJobs />
                    <ImportPanel />
                    <MonitorPanel />
                    <Show when=move || !empty.get() fallback=|| view! { <WithoutSamples /> }>
                        <NetworkPanel />
                        <InShort />
                        <div class="desk">
                            <aside class="rail" aria-label="Question and answer">
                                <JobTitle />
                                <QuestionPanel />
                                <Later>
                                    <Recommended />
                                </Later>
                            </aside>
                            {next(mark_interactive)}
                            <div class="views">
                                <Tabs />
                                <Later>
                                    <WhatIfPanel />
                                </Later>
                                // Below the what-if, which would otherwise push it down.
                                <Later>
                                    <Views />
                                </Later>
                            </div>
                        </div>
                    </Show>
                </Later>
            </main>
            <WhySheet />
            <Later>
                <footer>
                    <p>
                        "Foreglow: run a little, know the whole. Nothing leaves this browser: files are read \
                         locally, and a link carries its data after the #, which browsers send to no server."
                    </p>
                    <p>{about()}</p>
                </footer>
                <Printed />
            </Later>
        </div>
    }
}

/// The links to source, documentation and installation, in a build that knows the address of its
/// source.
fn about() -> AnyView {
    let Some(source) = option_env!("FOREGLOW_SOURCE") else {
        return "Its documentation is in the folder docs of the source, its installation in README.md.".into_any();
    };
    let link = |(path, text): (&str, &'static str)| {
        view! { <a href=format!("{source}{path}") rel="noreferrer" target="_blank">{text}</a> }
    };
    [("", "Source"), ("/blob/main/docs/guide.md", "Documentation"), ("#install", "Installation")].map(link).into_any()
}

/// The page without samples: the question and its answer from public measurements; below, the ways
/// to an answer from samples.
#[component]
fn WithoutSamples() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let answered = answered(planner);
    view! {
        <Show
            when=move || !planner.loading.get()
            fallback=|| view! { <p class="boot" role="status">"Asking the collector for samples…"</p> }
        >
            <section class="asked" aria-labelledby="asked-title">
                <h1 id="asked-title">"How long will the whole job take, and what will it cost?"</h1>
                <p class="hush">
                    "An answer before the first run, on the GPUs of the catalog: from public measurements of the runs of others."
                </p>
                <UnmeasuredQuestion />
            </section>
            {next(mark_interactive)}
            <Later>
                <InShort />
            </Later>
            <div class="desk machine-types">
                <aside class="rail" aria-label="Answer">
                    <Later>
                        <Recommended />
                    </Later>
                </aside>
                <div class="views">
                    <Later>
                        <Candidates is_public=true />
                    </Later>
                    <Later>
                        <MachineTypes />
                    </Later>
                    <Later>
                        <TimeByMoneyChart />
                    </Later>
                    <Show when=move || !planner.pins.with(Vec::is_empty)>
                        <Compare />
                    </Show>
                </div>
            </div>
            // After the answer, which would push the examples away from under the pointer.
            <Show when=move || answered.get()>
                <Later>
                    <NetworkPanel />
                    <OwnSamples />
                    <span hidden data-testid="complete" data-view="unmeasured"></span>
                </Later>
            </Show>
        </Show>
    }
}

/// Whether there was an answer: what follows it stays during a refit.
fn answered(planner: Planner) -> Memo<bool> {
    Memo::new(move |before: Option<&bool>| {
        before.copied().unwrap_or(false) || planner.fit.with(|fit| matches!(fit, Fit::Ready | Fit::Failed(_)))
    })
}

/// The view of the selected tab. Only the selected view is mounted, so that a slider updates no
/// hidden chart.
#[component]
fn Views() -> impl IntoView {
    let planner = expect_context::<Planner>();
    // Without a predictor the answer shows the reason, and the charts would be empty.
    let failed = Memo::new(move |_| planner.fit.with(|fit| matches!(fit, Fit::Failed(_))));
    let answered = answered(planner);
    let view = move || {
        let tab = planner.tab.get();
        let shown = match tab {
            Tab::Runs => view! {
                <Later><Samples /></Later>
                <Later><NextSamples /></Later>
                <div inner_html=move || planner.import.log_use.get()></div>
            }
            .into_any(),
            Tab::Export => view! { <Later><Export /> <DataPanel /></Later> }.into_any(),
            _ if failed.get() => {
                view! { <p class="hush">"There is no prediction to show. The view Runs lists what was measured."</p> }
                    .into_any()
            }
            Tab::Compare => view! { <CompareView /> }.into_any(),
            Tab::Explore => view! { <ExploreView /> }.into_any(),
            Tab::Trust => view! { <TrustView /> }.into_any(),
        };
        view! {
            {shown}
            // Marks for tests and benchmarks that the view is complete, including nested pieces.
            <Later>
                <Later>
                    <span hidden data-testid="complete" data-view=tab.name()></span>
                </Later>
            </Later>
        }
    };
    view! {
        <div class="view" role="tabpanel" id="view" tabindex="0" aria-labelledby=move || tab_id(planner.tab.get())>
            <Show when=move || answered.get()>{view}</Show>
        </div>
    }
}

#[component]
fn CompareView() -> impl IntoView {
    view! {
        <MachineTypes />
        <Later>
            <TimeByMoneyChart />
        </Later>
        <AccuracyByTime />
        <Later>
            <Compare />
        </Later>
        <Later>
            <Candidates />
        </Later>
    }
}

#[component]
fn ExploreView() -> impl IntoView {
    view! {
        <Later>
            <HeatMapChart />
        </Later>
        <Later>
            <CompletionTimeChart />
        </Later>
        <div class="pair">
            <Later>
                <SpeedUpChart />
            </Later>
            <Later>
                <SamplingRateChart />
            </Later>
        </div>
        <Later>
            <EffectsCharts />
        </Later>
    }
}

#[component]
fn TrustView() -> impl IntoView {
    view! {
        <div class="pair">
            <Later>
                <PredictedByMeasuredChart />
            </Later>
            <Later>
                <ResidualsChart />
            </Later>
        </div>
        <Later>
            <Scenarios />
        </Later>
    }
}

/// Accepts files dropped anywhere on the page. The signal is true while files hover over it.
fn accept_drops(planner: Planner) -> RwSignal<bool> {
    let dragging = RwSignal::new(false);
    let over = window_event_listener(ev::dragover, move |event| {
        // The default action opens the file in place of the page.
        event.prevent_default();
        dragging.set(true);
    });
    let leave = window_event_listener(ev::dragleave, move |event| {
        // Moving between two elements has a related target; leaving the window has none.
        if event.related_target().is_none() {
            dragging.set(false);
        }
    });
    let dropped = window_event_listener(ev::drop, move |event| {
        event.prevent_default();
        dragging.set(false);
        if let Some(files) = event.data_transfer().and_then(|data| data.files()) {
            source::read_files(planner, &files);
        }
    });
    on_cleanup(move || {
        over.remove();
        leave.remove();
        dropped.remove();
    });
    dragging
}
