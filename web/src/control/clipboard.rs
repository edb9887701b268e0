//! Copying to the clipboard.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// Copies a text and returns whether that worked. Pages on plain HTTP have no clipboard.
pub async fn copy(text: &str) -> bool {
    let window = window();
    if !window.is_secure_context() {
        return false;
    }
    JsFuture::from(window.navigator().clipboard().write_text(text)).await.is_ok()
}

/// A command of the terminal, with a button that copies it.
#[component]
pub fn Command(
    /// The command.
    command: String,
) -> impl IntoView {
    view! {
        <p class="command-line">
            <code data-testid="command">{command.clone()}</code>
            <CopyButton text=Signal::stored(command) label="Copy" testid="copy-command" />
        </p>
    }
}

/// A button that copies a text and shows whether that succeeded.
#[component]
pub fn CopyButton(
    /// The text to copy.
    #[prop(into)]
    text: Signal<String>,
    /// The button's label.
    label: &'static str,
    /// The button's `data-testid`.
    testid: &'static str,
) -> impl IntoView {
    let said = RwSignal::new(label);
    let click = move |_| {
        let text = text.get_untracked();
        spawn_local(async move { said.set(if copy(&text).await { "Copied" } else { "Select and copy it" }) });
    };
    view! {
        <button type="button" class="quiet copy" data-testid=testid aria-live="polite" on:click=click>{said}</button>
    }
}
