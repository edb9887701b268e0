//! The link to what the page shows: copied, and there to be read.

use leptos::html::Input;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

use crate::source::page_address;
use crate::state::Planner;

/// The button and the field that it opens.
#[component]
pub fn Share() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let open = RwSignal::new(false);
    let note = RwSignal::new("");
    let field = NodeRef::<Input>::new();
    let link = Memo::new(move |_| {
        // Packing the samples at every step of a slider would be work that nobody sees.
        if !open.get() {
            return String::new();
        }
        planner.view().map(|view| view.to_link(&page_address())).unwrap_or_default()
    });
    let share = move |_| {
        open.set(true);
        note.set("Press Ctrl C or ⌘ C to copy it.");
        let text = link.get_untracked();
        spawn_local(async move {
            if copy(&text).await {
                note.set("Copied.");
            }
            if let Some(field) = field.get_untracked() {
                field.select();
            }
        });
    };
    view! {
        <div class="share">
            <button type="button" class="primary" data-testid="share" aria-expanded=move || open.get().to_string() on:click=share>
                "Share"
            </button>
            <Show when=move || open.get()>
                <div class="share-sheet" role="dialog" aria-label="Share link" on:keydown=move |event| {
                    if event.key() == "Escape" {
                        open.set(false);
                    }
                }>
                    <label>
                        <span>"Everything on this page, in a link"</span>
                        <input type="text" readonly data-testid="share-link" node_ref=field prop:value=link />
                    </label>
                    <p>
                        <strong role="status">{note}</strong>
                        {move || format!(" {} characters. ", link.with(String::len))}
                        "It opens on any copy of this page without a collector. Whoever has the link has the samples in it; no \
                         server does."
                    </p>
                    <button type="button" class="quiet" on:click=move |_| open.set(false)>
                        "Close"
                    </button>
                </div>
            </Show>
        </div>
    }
}

/// Copies to the clipboard, where the browser allows it: pages on plain HTTP have no clipboard.
async fn copy(text: &str) -> bool {
    let window = window();
    if !window.is_secure_context() {
        return false;
    }
    JsFuture::from(window.navigator().clipboard().write_text(text)).await.is_ok()
}
