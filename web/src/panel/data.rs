//! Ways to load data: the empty page's instructions, and the panel to open other data.

use leptos::html::Input;
use leptos::prelude::*;

use crate::data::example::Example;
use crate::data::view_state::ViewState;
use crate::panel::saved::Saved;
use crate::source::saved::list;
use crate::source::{open_example, read_files};
use crate::state::Planner;

/// A button that opens the browser's file picker.
#[component]
pub fn OpenFile(
    /// The button's label.
    label: &'static str,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let picker = NodeRef::<Input>::new();
    let pick = move |_| {
        let Some(input) = picker.get_untracked() else { return };
        if let Some(files) = input.files() {
            read_files(planner, &files);
        }
        // Clears the picker, so that the same file can be picked again after a change.
        input.set_value("");
    };
    view! {
        <label class="open-file">
            <input type="file" multiple node_ref=picker on:change=pick />
            <span>{label}</span>
        </label>
    }
}

/// The ways from the answer without samples to one from samples.
#[component]
pub fn OwnSamples() -> impl IntoView {
    view! {
        <section class="empty" aria-labelledby="samples-title">
            <h2 id="samples-title">"A narrower answer, from samples of your own job"</h2>
            <p class="hush">
                "Foreglow measures a job on a small sample of its data and predicts the rest: on every machine type and number of \
                 executors and cores, with an interval and a price. Samples take the place of the answer above."
            </p>
            <Examples />
            <div class="drop">
                <p>
                    <strong>"Drop files of samples here"</strong>
                    " (JSON Lines, CSV, a table of another tool, logs of Spark or of a training), or an ONNX file as the network, or "
                </p>
                <OpenFile label="Open a file" />
                <p class="hush">"Nothing leaves this browser."</p>
            </div>
            {(!list().is_empty()).then(|| view! { <h2>"Saved scenarios"</h2><Saved /> })}
            <dl class="commands">
                <dt>
                    <code>"foreglow collect -- COMMAND"</code>
                </dt>
                <dd>"measures your own program on a grid of configurations, with small samples of its data."</dd>
                <dt>
                    <code>"foreglow demo"</code>
                </dt>
                <dd>"measures a real CNN on your machine in a few minutes and opens this page with the result."</dd>
                <dt>
                    <code>"foreglow serve"</code>
                </dt>
                <dd>"shows this page with every sample that was collected."</dd>
            </dl>
            <p class="hush">"Did you receive a link? Open it in full, with everything after the #."</p>
        </section>
    }
}

/// The panel at the end of the page to open other data.
#[component]
pub fn DataPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let ask = move |_| {
        planner.choose();
        planner.live.follows.set(false);
        planner.change(|state| *state = ViewState::default());
    };
    view! {
        <section class="card data">
            <div class="drop">
                <p>
                    <strong>"Open another job:"</strong>
                    " drop files anywhere on this page (JSON Lines, CSV, a table of another tool, logs of Spark or of a training), or "
                </p>
                <OpenFile label="Open a file" />
                <Examples />
                <p class="hush">"Nothing leaves this browser."</p>
                <p>
                    <button type="button" class="quiet" data-testid="without-samples" on:click=ask>
                        "Ask about a job without samples"
                    </button>
                </p>
            </div>
        </section>
    }
}

/// The built-in examples: name in tests, button, and description.
const EXAMPLES: [(Example, &str, &str, &str); 3] = [
    (
        Example::Study,
        "example-study",
        "How many cores classify 200,000 images within 4 hours?",
        " The CNNs of a published study, ResNet-50 first, on 1–6 executors of 1–4 cores. Its cores are emulated: each is 5 % of a core \
         of an AMD EPYC. Measured on 26 November 2026.",
    ),
    (
        Example::Accuracy,
        "example-accuracy",
        "How many executors train to 97 % accuracy within 2 minutes?",
        " LeNet-5 on 12,000 digits of MNIST, 6 epochs, 4 seeds, on 1–4 executors. Its cores are emulated: each is 25 % of a core of an \
         AMD EPYC. Measured on 24 November 2026.",
    ),
    (
        Example::Training,
        "example",
        "One executor of two cores, or two of one, for ResNet-18?",
        " ResNet-18 and MobileNet-v2, inference and training, on 1 %, 10 % and all of the images, on two whole cores of an AMD EPYC. \
         Measured on 22 November 2026.",
    ),
];

/// The buttons that open the built-in examples.
#[component]
fn Examples() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let shown = move |(example, test, label, about): (Example, &'static str, &'static str, &'static str)| {
        let class = if example == Example::Study { "primary" } else { "quiet" };
        view! {
            <p class="example">
                <button type="button" class=class data-testid=test on:click=move |_| open_example(planner, example)>
                    {label}
                </button>
                <span class="hush">{about}</span>
            </p>
        }
    };
    EXAMPLES.map(shown).collect_view()
}
