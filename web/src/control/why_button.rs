//! The "Why?" button, which opens the explanation of a figure.

use leptos::prelude::*;

use crate::data::machine_choice::Selection;
use crate::state::Planner;

/// The button that opens the explanation of a figure.
#[component]
pub fn WhyButton(
    /// The configuration to explain.
    #[prop(into)]
    configuration: Signal<Selection>,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    view! {
        <button
            type="button"
            class="why"
            data-testid="why"
            aria-label=move || format!("Why these numbers for {}?", planner.called(&configuration.get()))
            on:click=move |_| planner.explained.set(Some(configuration.get_untracked()))
        >
            "Why?"
        </button>
    }
}
