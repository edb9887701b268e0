//! The button that pins a configuration to the comparison.

use leptos::prelude::*;

use crate::data::machine_choice::Selection;
use crate::state::Planner;

/// The button that pins a configuration.
#[component]
pub fn PinButton(
    /// The configuration to pin.
    #[prop(into)]
    configuration: Signal<Selection>,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    view! {
        <button
            type="button"
            class="why"
            data-testid="pin-this"
            aria-label=move || format!("Pin {}", planner.called(&configuration.get()))
            aria-disabled=move || configuration.with(|selection| planner.is_pinned(selection)).to_string()
            on:click=move |_| planner.pin(configuration.get_untracked())
        >
            "Pin"
        </button>
    }
}
