//! The "Why?" button, which opens the explanation of a figure.

use foreglow_shared::WhatIf;
use leptos::prelude::*;

use crate::data::text::named;

/// The configuration to explain, shared by all buttons.
#[derive(Clone, Copy)]
pub struct Explained(pub RwSignal<Option<WhatIf>>);

impl Explained {
    /// No explanation is shown.
    pub fn new() -> Self {
        Self(RwSignal::new(None))
    }
}

/// The button that opens the explanation of a figure.
#[component]
pub fn WhyButton(
    /// The configuration to explain.
    #[prop(into)]
    configuration: Signal<WhatIf>,
) -> impl IntoView {
    let Explained(explained) = expect_context::<Explained>();
    view! {
        <button
            type="button"
            class="why"
            data-testid="why"
            aria-label=move || format!("Why these numbers for {}?", named(configuration.get()))
            on:click=move |_| explained.set(Some(configuration.get_untracked()))
        >
            "Why?"
        </button>
    }
}
