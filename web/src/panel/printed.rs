//! The end of the printed report: its date and its link.

use js_sys::Date;
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::panel::qr::qr_code;
use crate::source::page_address;
use crate::state::Planner;

/// Longest link that is printed as text, characters.
const MOST_CHARACTERS: usize = 400;

/// Date and link of the report, present while the page is printed.
#[component]
pub fn Printed() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let before = window_event_listener_untyped("beforeprint", move |_| planner.printing.set(true));
    let after = window_event_listener_untyped("afterprint", move |_| planner.printing.set(false));
    on_cleanup(move || {
        before.remove();
        after.remove();
    });
    move || {
        planner.printing.get().then(|| {
            let link = page_address() + "#" + &untrack(|| planner.state()).fragment(false);
            // The Swedish form of a date is that of ISO 8601, in the local time zone.
            let date = Date::new_0().to_locale_date_string("sv", &JsValue::UNDEFINED);
            let text = match link.len() {
                0..=MOST_CHARACTERS => link.clone(),
                length => format!("{} ({length} characters: follow it in the PDF)", page_address()),
            };
            let code = qr_code(std::slice::from_ref(&link));
            view! {
                <section class="printed" data-testid="printed">
                    <p>
                        "Printed on " <time>{String::from(date)}</time> ". The report with its samples: " <a href=link>{text}</a>
                    </p>
                    {code}
                </section>
            }
        })
    }
}
