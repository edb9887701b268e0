//! The workers' side of the message protocol, which is JSON.

use std::cell::RefCell;
use std::panic::PanicHookInfo;

use js_sys::{Array, Uint8Array};
use serde::Serialize;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, File, MessageEvent};

use crate::worker::advice::AdviceText;
use crate::worker::fit::{compare, evaluate, fit, rehearse};
use crate::worker::import::import;
use crate::worker::machines::Session;
use crate::worker::messages::{FromErrand, FromFit, ToErrand, ToFit};
use crate::worker::network::NetworkHtml;
use crate::worker::open_file::OpenFile;

const MILLIS_PER_SEC: f64 = 1000.0;
/// The messages `Ready` and `Broken`, as both [`FromFit`] and [`FromErrand`] serialise them.
const READY: &str = "\"Ready\"";
const BROKEN: &str = r#"{"Broken":"a bug stopped the worker"}"#;

thread_local! {
    /// The comparison of machine types that this worker answers from.
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Serves fit requests.
pub fn serve_fits(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, _, _| {
        if let Ok(ToFit(number, job, question)) = parse(message)
            && let Ok(answer) = serde_json::to_string(&FromFit::Answer(number, fit(&job).map(Box::new)))
        {
            rehearse(&answer, &job, &question);
            post(scope, &answer);
        }
    });
}

/// Serves the module `foreglow-reader`: imports, advice, the published scenarios and the comparison
/// of machine types.
pub fn serve_readings(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, file, clock| match parse(message) {
        Ok(ToErrand::Import(mapping)) => {
            let bytes = file.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec).unwrap_or_default();
            say(scope, &FromErrand::Imported(import(&bytes, mapping.as_ref())));
        }
        Ok(ToErrand::Advise(job, question)) => {
            say(scope, &FromErrand::Advised(AdviceText::new(job, &question)));
        }
        Ok(ToErrand::Evaluate(job)) => say(scope, &FromErrand::Evaluated(Box::new(evaluate(&job, clock)))),
        Ok(ToErrand::Network(name, px)) => {
            let Some(file) = file.dyn_ref::<File>() else { return };
            let read = || {
                let mut source = OpenFile::new(file).map_err(|error| error.to_string())?;
                NetworkHtml::read(&name, &mut source, px)
            };
            say(scope, &FromErrand::Network(read()));
        }
        Ok(ToErrand::Machines(jobs, question)) => SESSION.with_borrow_mut(|session| {
            if let Some(jobs) = jobs {
                *session = Some(Session::of(jobs, &question.context));
            }
            if let Some(session) = session {
                say(scope, &FromErrand::Machines(Box::new(session.answer(*question))));
            }
        }),
        Ok(ToErrand::Compare(_)) | Err(_) => {}
    });
}

/// Serves comparisons of all learners; needs the perceptrons of `web/comparison`.
pub fn serve_comparison(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, _, clock| {
        let Ok(ToErrand::Compare(job)) = parse(message) else { return };
        let mut told = 0;
        let watch = &mut |done: u64, total: u64| {
            // Reports whole percents only, to limit the messages to a hundred.
            if done * 100 / total.max(1) > told {
                told = done * 100 / total.max(1);
                say(scope, &FromErrand::Progress(done, total));
            }
        };
        if let Some(rows) = compare(&job, clock, watch) {
            say(scope, &FromErrand::Compared(rows));
        }
    });
}

type Answer = fn(&DedicatedWorkerGlobalScope, &JsValue, &JsValue, &mut dyn FnMut() -> f64);

fn serve(scope: &DedicatedWorkerGlobalScope, answer: Answer) {
    std::panic::set_hook(Box::new(report));
    let performance = scope.performance();
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let scope = scope.clone();
        move |event: MessageEvent| {
            let mut clock = || performance.as_ref().map_or(0.0, |clock| clock.now() / MILLIS_PER_SEC);
            let (message, file) = unpack(&event.data());
            answer(&scope, &message, &file, &mut clock);
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    post(scope, READY);
}

/// Parses a message.
///
/// # Errors
/// The message is of another version.
pub fn parse<T: serde::de::DeserializeOwned>(data: &JsValue) -> Result<T, String> {
    let text = data.as_string().ok_or("the worker's message is not text")?;
    serde_json::from_str(&text).map_err(|error| format!("the worker is of another version ({error}); reload the page"))
}

/// Sends a message to the page.
fn say<T: Serialize>(scope: &DedicatedWorkerGlobalScope, message: &T) {
    if let Ok(text) = serde_json::to_string(message) {
        post(scope, &text);
    }
}

fn post(scope: &DedicatedWorkerGlobalScope, text: &str) {
    // A string can always be cloned to the page.
    let _ = scope.post_message(&JsValue::from_str(text));
}

/// Splits a message into the request and the file that accompanies it, or its bytes.
fn unpack(data: &JsValue) -> (JsValue, JsValue) {
    match data.dyn_ref::<Array>() {
        Some(parts) => (parts.get(0), parts.get(1)),
        None => (data.clone(), JsValue::UNDEFINED),
    }
}

fn report(info: &PanicHookInfo<'_>) {
    console_error_panic_hook::hook(info);
    if let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() {
        post(&scope, BROKEN);
    }
}
