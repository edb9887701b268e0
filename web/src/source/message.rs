//! Samples from another page, by the protocol of the Perfetto UI: the other page opens this one,
//! sends `PING` until the answer is `PONG`, and then sends the samples.
//!
//! The samples stay in the browser: a dashboard can show private ones without a link or an upload.

use foreglow_shared::printable;
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
        let Some(sender) = event.source().filter(|sender| is_parent(sender) || is_opener(sender)) else { return };
        if event.data().as_string().as_deref() == Some(PING) {
            // A page without an origin, such as a local file, is named "null".
            let origin = Some(event.origin()).filter(|origin| origin != "null").unwrap_or_else(|| "*".to_owned());
            // Fails if the other page is closed.
            let _ = sender.unchecked_ref::<Window>().post_message(&JsValue::from_str(PONG), &origin);
        } else if let Some((name, bytes)) = samples(&event.data())
            && (is_parent(&sender) || is_wanted(&event.origin(), &name))
        {
            read_bytes(planner, &name, &bytes);
        }
    });
    on_cleanup(move || listener.remove());
}

/// Whether the sender is the page that opened this one. Other pages must not replace the data of
/// the user.
fn is_opener(sender: &Object) -> bool {
    window().opener().is_ok_and(|opener| opener == **sender)
}

/// Whether the sender is the page that embeds this one, which shows only what that page gives it.
fn is_parent(sender: &Object) -> bool {
    let parent = window().parent().ok().flatten().filter(|parent| *parent != window());
    parent.is_some_and(|parent| JsValue::from(parent) == **sender)
}

/// Asks the user whether the samples of an opener may replace those of this page: any site can open
/// it.
fn is_wanted(origin: &str, name: &str) -> bool {
    let question = format!(
        "{} sends the samples {:?}, which replace those of this page. Open them?",
        printable(origin),
        printable(name)
    );
    window().confirm_with_message(&question).unwrap_or(false)
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
