//! Sharing: the full or short link, copying it, its QR code, and named scenarios.

use leptos::html::Input;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::control::{copy, refocus};
use crate::data::unmeasured::is_unmeasured;
use crate::data::view_state::is_short;
use crate::panel::qr::qr_code;
use crate::panel::saved::Saved;
use crate::source::page_address;
use crate::state::{Connection, Planner};

/// The share button and its sheet.
#[component]
pub fn Share() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let open = RwSignal::new(false);
    let short = RwSignal::new(false);
    let note = RwSignal::new("");
    let field = NodeRef::<Input>::new();
    // A short link needs a collector with the runs.
    let has_collector =
        Memo::new(move |_| planner.live.connection.get() != Connection::None && !planner.jobs.with(Vec::is_empty));
    let text = Memo::new(move |_| {
        // Encodes the link only while the sheet is open, to keep the sliders fast.
        let fragment = open.get().then(|| planner.state().fragment(short.get() && has_collector.get()));
        fragment.map(|fragment| page_address() + "#" + &fragment).unwrap_or_default()
    });
    // The short link takes the place of one that is too long for a QR code.
    let codes = move || {
        let is_second = has_collector.get() && !short.get();
        let second = is_second.then(|| page_address() + "#" + &planner.state().fragment(true));
        std::iter::once(text.get()).chain(second).collect::<Vec<String>>()
    };
    let copied = move || {
        note.set("Press Ctrl C or ⌘ C to copy it.");
        let text = text.get_untracked();
        spawn_local(async move {
            if copy(&text).await {
                note.set("Copied.");
            }
            if let Some(field) = field.get_untracked() {
                field.select();
            }
        });
    };
    let share = move |_| {
        open.update(|open| *open = !*open);
        if open.get_untracked() {
            copied();
        }
    };
    let close = move || {
        open.set(false);
        // The focused element was in the sheet.
        request_animation_frame(|| refocus("#share"));
    };
    let is =
        move |is: fn(&str) -> bool| text.with(|text| text.split_once('#').is_some_and(|(_, fragment)| is(fragment)));
    let explanation = move || match is(is_short) {
        _ if is(is_unmeasured) => {
            "It holds the question. Whoever opens it on a copy of this page of the same version sees the same answer."
        }
        true => {
            "It holds the question but not the runs: it opens where the same collector, or this tab, has them, with the runs \
                 at that time."
        }
        false => {
            "It opens on any copy of this page without a collector. It contains the samples: whoever has the link can read \
                  them, and no server receives them."
        }
    };
    view! {
        <div class="share">
            <button type="button" class="primary" id="share" data-testid="share" aria-expanded=move || open.get().to_string() on:click=share>
                "Share"
            </button>
            <Show when=move || open.get()>
                <div class="share-sheet" role="dialog" aria-label="Share link" on:keydown=move |event| {
                    if event.key() == "Escape" {
                        close();
                    }
                }>
                    <label>
                        <span>"Link to everything on this page"</span>
                        <input type="text" readonly data-testid="share-link" node_ref=field prop:value=text />
                    </label>
                    <Show when=move || has_collector.get()>
                        <label class="short">
                            <input
                                type="checkbox"
                                data-testid="share-short"
                                prop:checked=short
                                on:change=move |event| {
                                    short.set(event_target_checked(&event));
                                    copied();
                                }
                            />
                            " Short: only the question, for this collector"
                        </label>
                    </Show>
                    <p>
                        <strong role="status">{note}</strong>
                        {move || format!(" {} characters. ", text.with(String::len))}
                        {explanation}
                    </p>
                    <details class="qr">
                        <summary>"QR code"</summary>
                        {move || qr_code(&codes())}
                    </details>
                    <Saved />
                    <button type="button" class="quiet" on:click=move |_| close()>
                        "Close"
                    </button>
                </div>
            </Show>
        </div>
    }
}
