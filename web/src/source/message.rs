//! Samples from another page, by the protocol of the Perfetto UI: the other page opens this one,
//! sends `PING` until the answer is `PONG`, and then sends the samples.
//!
//! The samples stay in the browser: a dashboard can show private ones without a link or an upload.

use js_sys::{ArrayBuffer, Object, Reflect, Uint8Array};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{MessageEvent, Window};

use super::file::read_bytes;
use crate::state::Planner;

const PING: &str = "PING";
const PONG: &str = "PONG";
/// Name of the field that holds the samples: `{ foreglow: { samples, name } }`.
const FIELD: &str = "foreglow";

/// Answers `PING`, and opens the samples of the page that opened or embeds this one.
pub fn follow(planner: Planner) {
    let listener = window_event_listener(ev::message, move |event: MessageEvent| {
        let Some(sender) = event.source().filter(is_opener) else { return };
        if event.data().as_string().as_deref() == Some(PING) {
            // A page without an origin, such as a local file, is named "null".
            let origin = Some(event.origin()).filter(|origin| origin != "null").unwrap_or_else(|| "*".to_owned());
            // Fails if the other page is closed.
            let _ = sender.unchecked_ref::<Window>().post_message(&JsValue::from_str(PONG), &origin);
        } else if let Some((name, bytes)) = samples(&event.data()) {
            read_bytes(planner, &name, bytes);
        }
    });
    on_cleanup(move || listener.remove());
}

/// Whether the sender is the page that opened this one, or that embeds it. Other pages must not
/// replace the data of the user.
fn is_opener(sender: &Object) -> bool {
    let opener = window().opener().ok();
    let parent = window().parent().ok().flatten().filter(|parent| *parent != window()).map(JsValue::from);
    opener.into_iter().chain(parent).any(|other| other == **sender)
}

/// The name and the bytes of received samples: text or an `ArrayBuffer`.
fn samples(data: &JsValue) -> Option<(String, Uint8Array)> {
    let get =
        |object: &JsValue, name: &str| object.is_object().then(|| Reflect::get(object, &name.into()).ok()).flatten();
    let handed = get(data, FIELD)?;
    let samples = get(&handed, "samples")?;
    let bytes = match samples.as_string() {
        Some(text) => Uint8Array::from(text.as_bytes()),
        None => Uint8Array::new(samples.dyn_ref::<ArrayBuffer>()?),
    };
    let name = get(&handed, "name").and_then(|name| name.as_string());
    Some((name.unwrap_or_else(|| "The handed-over file".to_owned()), bytes))
}
