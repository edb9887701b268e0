//! The worker's end of the wire, which carries JSON: it answers requests until the page goes.

use std::panic::PanicHookInfo;

use foreglow_model::advise;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use crate::fit::{FromWorker, ToWorker, compare, fit};
use crate::import::import;

const MILLIS_PER_SEC: f64 = 1000.0;

/// Fits, reads files and advises.
pub fn serve_fits(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, request, bytes, clock| match request {
        ToWorker::Fit(number, job) => say(scope, &FromWorker::Answer(number, fit(&job, clock).map(Box::new))),
        ToWorker::Import(mapping) => say(scope, &FromWorker::Imported(import(bytes, mapping.as_ref()))),
        ToWorker::Advise(job, question) => {
            let advice = advise(&job, &question).map_err(|error| error.to_string());
            say(scope, &FromWorker::Advised(advice));
        }
        ToWorker::Compare(_) => {}
    });
}

/// Compares all learners, which takes the perceptrons of `web/comparison`.
pub fn serve_comparison(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, request, _, clock| {
        let ToWorker::Compare(job) = request else { return };
        let mut told = 0;
        let watch = &mut |done: u64, total: u64| {
            // A hundred messages say as much as thousands.
            if done * 100 / total.max(1) > told {
                told = done * 100 / total.max(1);
                say(scope, &FromWorker::Progress(done, total));
            }
        };
        if let Some(rows) = compare(&job, clock, watch) {
            say(scope, &FromWorker::Compared(rows));
        }
    });
}

type Answer = fn(&DedicatedWorkerGlobalScope, ToWorker, &[u8], &mut dyn FnMut() -> f64);

fn serve(scope: &DedicatedWorkerGlobalScope, answer: Answer) {
    std::panic::set_hook(Box::new(report));
    let performance = scope.performance();
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let scope = scope.clone();
        move |event: MessageEvent| {
            let mut clock = || performance.as_ref().map_or(0.0, |clock| clock.now() / MILLIS_PER_SEC);
            let (message, bytes) = unpack(&event.data());
            if let Ok(request) = parse(&message) {
                answer(&scope, request, &bytes, &mut clock);
            }
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    say(scope, &FromWorker::Ready);
}

/// A message of the wire.
///
/// # Errors
/// It is of another version.
pub fn parse<T: serde::de::DeserializeOwned>(data: &JsValue) -> Result<T, String> {
    let text = data.as_string().ok_or("the fit spoke no text")?;
    serde_json::from_str(&text).map_err(|error| format!("the fit spoke another version ({error}); reload the page"))
}

/// Says something to the page.
fn say(scope: &DedicatedWorkerGlobalScope, message: &FromWorker) {
    if let Ok(text) = serde_json::to_string(message) {
        // A string can always be cloned to the page.
        let _ = scope.post_message(&JsValue::from_str(&text));
    }
}

/// The request of a message, and the bytes that came beside it.
fn unpack(data: &JsValue) -> (JsValue, Vec<u8>) {
    match data.dyn_ref::<Array>() {
        Some(parts) => {
            let bytes = parts.get(1).dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec()).unwrap_or_default();
            (parts.get(0), bytes)
        }
        None => (data.clone(), Vec::new()),
    }
}

fn report(info: &PanicHookInfo<'_>) {
    console_error_panic_hook::hook(info);
    if let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() {
        say(&scope, &FromWorker::Broken("a mistake of ours stopped the fit".into()));
    }
}
