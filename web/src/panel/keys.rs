//! Help: the words of the page and the keyboard shortcuts, shown by `?`. The shortcuts can be
//! switched off, as WCAG 2.2, 2.1.4 requires.

use std::time::Duration;

use leptos::ev;
use leptos::html::Dialog;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use crate::data::view::Tab;
use crate::state::Planner;

const FILTER: &str = "[data-testid=samples-filter]";
const OFF: &str = "foreglow.keys-off";
/// Delay between the choice of a tab and the use of its elements.
const PAUSE: Duration = Duration::from_millis(200);
/// Each shortcut's key, description and target element.
const KEYS: [(&str, &str, &str); 11] = [
    ("1", "compare configurations", "#tab-compare"),
    ("2", "explore the predicted times", "#tab-explore"),
    ("3", "check the accuracy", "#tab-trust"),
    ("4", "list the runs", "#tab-runs"),
    ("5", "export", "#tab-export"),
    ("d", "go to the deadline", "#deadline"),
    ("e", "go to the executors of the what-if", "#what-if-executors"),
    ("c", "go to the cores of the what-if", "#what-if-cores"),
    ("f", "go to the filter of the runs", FILTER),
    ("s", "share this page", "#share"),
    ("o", "open a file of samples", "input[type=file]"),
];

/// The words of the page.
const WORDS: [(&str, &str); 8] = [
    ("executor", "a process that works on parts of the data, with its own cores and memory"),
    ("core", "a thread of an executor, which works on one part at a time"),
    ("slot", "room for one part at a time: executors × cores in all"),
    ("run", "one measured execution of the job, or of a part of it, on one configuration"),
    ("sample", "the record of a run"),
    ("interval", "the range that contains the time with the stated probability"),
    ("Pareto front", "configurations that no other beats in both time and cost"),
    ("held out", "predicted without its own runs"),
];

/// The help, and the handler of the shortcuts.
#[component]
pub fn Keys() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let dialog = NodeRef::<Dialog>::new();
    let is_on = RwSignal::new(!is_switched_off());
    let pressed = window_event_listener(ev::keydown, move |event| {
        if is_typed(&event) {
            return;
        }
        let key = event.key();
        if key == "?" {
            event.prevent_default();
            show(dialog);
        } else if is_on.get_untracked()
            && let Some((_, _, place)) = KEYS.iter().find(|(known, ..)| *known == key)
        {
            event.prevent_default();
            if *place == FILTER {
                planner.show(Tab::Runs);
                set_timeout(|| reach(FILTER), PAUSE);
            } else {
                reach(place);
            }
        }
    });
    on_cleanup(move || pressed.remove());
    let switch = move |event| {
        let on = event_target_checked(&event);
        is_on.set(on);
        if let Ok(Some(storage)) = window().local_storage() {
            // Without storage the setting lasts for this visit only.
            let _ = if on { storage.remove_item(OFF) } else { storage.set_item(OFF, "1") };
        }
    };
    let rows = KEYS
        .map(|(key, does, _)| view! { <div><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div> })
        .into_iter()
        .collect_view();
    let words =
        WORDS.map(|(word, means)| view! { <div><dt>{word}</dt><dd>{means}</dd></div> }).into_iter().collect_view();
    view! {
        <button type="button" class="quiet keys-button" data-testid="keys-button" aria-label="Help" title="Help (?)" on:click=move |_| show(dialog)>
            "?"
        </button>
        <dialog class="keys" aria-labelledby="keys-title" data-testid="keys" node_ref=dialog>
            <h2 id="keys-title" tabindex="-1" autofocus>"Help"</h2>
            <dl>{words}</dl>
            <h3>"Keyboard shortcuts"</h3>
            <dl>
                <div><dt><kbd>"?"</kbd></dt><dd>"this help"</dd></div>
                {rows}
                <div><dt><kbd>"←"</kbd>" "<kbd>"→"</kbd></dt><dd>"move a slider that has the focus"</dd></div>
                <div><dt><kbd>"Esc"</kbd></dt><dd>"close what is open"</dd></div>
            </dl>
            <label>
                <input type="checkbox" data-testid="keys-on" prop:checked=is_on on:change=switch />
                " Enable the letters"
            </label>
            <form method="dialog">
                <button class="primary">"Close"</button>
            </form>
        </dialog>
    }
}

fn is_switched_off() -> bool {
    window().local_storage().ok().flatten().and_then(|storage| storage.get_item(OFF).ok().flatten()).is_some()
}

fn show(dialog: NodeRef<Dialog>) {
    if let Some(dialog) = dialog.get_untracked()
        && !dialog.open()
    {
        // Cannot fail: the dialog is in the document and closed.
        let _ = dialog.show_modal();
    }
}

/// Whether a key press belongs to an input field or to the browser.
fn is_typed(event: &KeyboardEvent) -> bool {
    let field = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let is_text = field.is_some_and(|field| {
        field.closest("input:not([type=range]), select, textarea, dialog").ok().flatten().is_some()
    });
    is_text || event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented()
}

/// Focuses or clicks the element of a shortcut, if the page shows it.
fn reach(place: &str) {
    if let Ok(Some(element)) = document().query_selector(place) {
        act(&element);
    }
}

fn act(element: &Element) {
    let Some(element) = element.dyn_ref::<HtmlElement>() else { return };
    element.scroll_into_view();
    match element.get_attribute("type").as_deref() {
        Some("file" | "button") => element.click(),
        // Focusing fails only on a hidden element.
        _ => drop(element.focus()),
    }
}
