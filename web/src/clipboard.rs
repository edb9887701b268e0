//! Copying to the clipboard.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// Copies, where the browser allows it: pages on plain HTTP have no clipboard.
pub async fn copy(text: &str) -> bool {
    let window = window();
    if !window.is_secure_context() {
        return false;
    }
    JsFuture::from(window.navigator().clipboard().write_text(text)).await.is_ok()
}

/// A button that copies a text and says whether it could.
#[component]
pub fn CopyButton(
    /// What is copied.
    #[prop(into)]
    text: Signal<String>,
    /// What the button says.
    label: &'static str,
    /// Its name in the tests.
    testid: &'static str,
) -> impl IntoView {
    let said = RwSignal::new(label);
    let click = move |_| {
        let text = text.get_untracked();
        spawn_local(async move { said.set(if copy(&text).await { "Copied" } else { "Select it and copy" }) });
    };
    view! {
        <button type="button" class="quiet copy" data-testid=testid aria-live="polite" on:click=click>{said}</button>
    }
}
