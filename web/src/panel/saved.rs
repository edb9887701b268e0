//! Named scenarios in this browser.

use leptos::html::Input;
use leptos::prelude::*;

use crate::source::saved::{Named, forget, list, save};
use crate::state::Planner;

/// A form to save the current scenario under a name, and a list to open saved ones.
#[component]
pub fn Saved() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let scenarios = RwSignal::new(list());
    let mistake = RwSignal::new(None::<String>);
    let field = NodeRef::<Input>::new();
    let told = move |outcome: Result<(), &'static str>| {
        mistake.set(outcome.err().map(str::to_owned));
        scenarios.set(list());
    };
    let keep = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Some(field) = field.get_untracked() else { return };
        let fragment = untrack(|| planner.state()).fragment(false);
        let name = field.value().trim().to_owned();
        if name.is_empty() {
            mistake.set(Some("Give the scenario a name.".into()));
            return;
        }
        told(save(Named { name, fragment }));
        field.set_value("");
    };
    let row = move |named: Named| {
        let Named { name, fragment } = named;
        let open = move |_| {
            // A scenario of an earlier version has no suffix and opens in the default state.
            mistake.set(planner.open(&fragment).err().map(|error| format!("It cannot be opened: {error}.")));
        };
        let gone = name.clone();
        view! {
            <li>
                <button type="button" class="quiet" data-testid="saved-open" on:click=open>{name.clone()}</button>
                <button
                    type="button"
                    class="quiet"
                    aria-label=format!("Delete {name}")
                    on:click=move |_| told(forget(&gone))
                >
                    "Delete"
                </button>
            </li>
        }
    };
    view! {
        <form class="saved" on:submit=keep>
            <label>
                <span>"Save in this browser as"</span>
                <input type="text" maxlength="80" autocomplete="off" data-testid="saved-name" node_ref=field />
            </label>
            <button type="submit" class="quiet" data-testid="saved-save">"Save"</button>
        </form>
        {move || mistake.get().map(|mistake| view! { <p class="note wrong" role="alert" data-testid="saved-mistake">{mistake}</p> })}
        <ul class="saved-list">
            <For each=move || scenarios.get() key=|named| (named.name.clone(), named.fragment.clone()) children=row />
        </ul>
    }
}
