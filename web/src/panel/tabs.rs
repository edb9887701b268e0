//! The tabs of the views.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::data::view::Tab;
use crate::state::Planner;

/// The list of tabs. The arrow keys, Home and End move between them, as the ARIA Authoring
/// Practices describe.
#[component]
pub fn Tabs() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let pressed = move |event: web_sys::KeyboardEvent| {
        let tab = planner.tab.get_untracked();
        let next = match event.key().as_str() {
            "ArrowLeft" => tab.moved(-1),
            "ArrowRight" => tab.moved(1),
            "Home" => Tab::Compare,
            "End" => Tab::Export,
            _ => return,
        };
        event.prevent_default();
        planner.show(next);
        let element = document().get_element_by_id(&id(next));
        if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            // Focusing fails only on a hidden element.
            let _ = element.focus();
        }
    };
    let tabs = Tab::ALL.map(|tab| {
        let is_shown = Memo::new(move |_| planner.tab.get() == tab);
        view! {
            <button
                type="button"
                role="tab"
                id=id(tab)
                data-testid=id(tab)
                aria-controls="view"
                aria-selected=move || is_shown.get().to_string()
                tabindex=move || if is_shown.get() { "0" } else { "-1" }
                on:click=move |_| planner.show(tab)
            >
                {tab.label()}
            </button>
        }
    });
    view! {
        <div class="tabs" role="tablist" aria-label="Views" on:keydown=pressed>
            {tabs.into_iter().collect_view()}
        </div>
    }
}

/// The id of a tab's button.
pub fn id(tab: Tab) -> String {
    format!("tab-{}", tab.name())
}
