//! The "Why?" dialog, which explains every figure of a configuration.

use leptos::html::Dialog;
use leptos::prelude::*;

use crate::control::Command;
use crate::state::Planner;
use crate::worker::plan::why::Reason;

/// The dialog with the explanations.
#[component]
pub fn WhySheet() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let explained = planner.explained;
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(element) = dialog.get() else { return };
        if explained.with(Option::is_some) && !element.open() {
            // A browser without dialogs shows no explanation.
            let _ = element.show_modal();
        }
    });
    let content = move || {
        let title = format!("Why these numbers for {}?", planner.called(&explained.get()?));
        let reasons = planner.answer.reasons.get().map(|reasons| reasons.iter().cloned().map(shown).collect_view());
        Some(view! {
            <h2 id="why-title">{title}</h2>
            {reasons}
        })
    };
    let close = move || {
        if let Some(element) = dialog.get_untracked() {
            element.close();
        }
    };
    view! {
        <dialog
            class="why-sheet"
            aria-labelledby="why-title"
            data-testid="why-sheet"
            node_ref=dialog
            on:close=move |_| {
                explained.set(None);
                planner.answer.reasons.set(None);
            }
            on:click=move |event| {
                // The target of a click is the dialog itself for the backdrop, and an inner element
                // for the content.
                if event.target() == event.current_target() {
                    close();
                }
            }
        >
            <div class="why-content">
                // The first element, so that the dialog opens at its top.
                <button type="button" class="quiet" data-testid="why-close" on:click=move |_| close()>"Close"</button>
                {content}
            </div>
        </dialog>
    }
}

fn shown(reason: Reason) -> impl IntoView {
    let Reason { title, lines, parts, command } = reason;
    let lines = lines.into_iter().map(|line| view! { <p>{line}</p> }).collect_view();
    let parts = (!parts.is_empty()).then(|| {
        let rows = parts.into_iter().map(|[name, weight, secs]| {
            view! {
                <tr>
                    <th scope="row">{name}</th>
                    <td class="number">{weight}</td>
                    <td class="number">{secs}</td>
                </tr>
            }
        });
        view! {
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Model"</th>
                        <th scope="col" class="number">"Weight"</th>
                        <th scope="col" class="number">"Own prediction"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        }
    });
    view! {
        <section>
            <h3>{title}</h3>
            {lines}
            {parts}
            {command.map(|command| view! { <Command command /> })}
        </section>
    }
}
