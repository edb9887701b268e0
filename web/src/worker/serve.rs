//! The workers' side of the message protocol.

use std::cell::RefCell;
use std::panic::PanicHookInfo;

use foreglow_model::PublicData;
use js_sys::{Array, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, File, FileReaderSync, MessageEvent};

use crate::data::unmeasured;
use crate::worker::advice::AdviceText;
use crate::worker::collected;
use crate::worker::import::{Added, import_files, samples_of};
use crate::worker::messages::{PlanRequest, PlanResponse, READY, Request, Response, SampleSource, Subject};
use crate::worker::network::NetworkHtml;
use crate::worker::open_file::OpenFile;
use crate::worker::plan::{Session, public_data};
use crate::worker::published::{compare, evaluate, own_accuracy};
use crate::worker::whole_jobs::whole_jobs;
use crate::worker::wire::{decode, encode};

const MILLIS_PER_SEC: f64 = 1000.0;
const BROKEN: &str = "a bug stopped the worker";

thread_local! {
    /// The fit that this worker answers from, or why it failed.
    static SESSION: RefCell<Option<Result<Session, String>>> = const { RefCell::new(None) };
    /// The public measurements of the usual networks or of all, or why they cannot be read; missing
    /// until the page sends them.
    static PUBLIC: RefCell<(Result<PublicData, String>, Tables)> =
        RefCell::new((Err("they are missing".to_owned()), Tables::Usual));
}

/// Serves the questions about a plan.
pub fn serve_plans(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, file, _| {
        if let Some(bytes) = file.dyn_ref::<Uint8Array>() {
            let tables = if message.is_truthy() { Tables::All } else { Tables::Usual };
            return take_tables(scope, &bytes.to_vec(), tables);
        }
        let Ok(PlanRequest { fit, subject, question }) = parse(message) else { return };
        SESSION.with_borrow_mut(|session| {
            match subject {
                Some(Subject::Jobs(jobs)) => *session = Some(Session::new(jobs, question.context.as_ref())),
                Some(Subject::Unmeasured(fragment)) => {
                    let Ok((job, _)) = unmeasured::read(&fragment) else { return };
                    let fitted = PUBLIC.with_borrow_mut(|(public, tables)| match public {
                        Ok(data) if *tables == Tables::Usual && !data.knows(&job.network) => None,
                        Ok(data) => Some(Session::unmeasured(&job, data)),
                        Err(reason) => Some(Err(format!("the public measurements cannot be used: {reason}"))),
                    });
                    *session = fitted;
                    if session.is_none() {
                        return say(scope, &PlanResponse::NeedsAll(fit));
                    }
                }
                None => {}
            }
            let answer = match session {
                Some(Ok(session)) => Ok(Box::new(session.answer(question))),
                Some(Err(reason)) => Err(reason.clone()),
                None => return,
            };
            say(scope, &PlanResponse::Answer(fit, answer));
        });
    });
}

/// The networks of tables of public measurements.
#[derive(Clone, Copy, PartialEq)]
enum Tables {
    Usual,
    All,
}

/// Reads public measurements and tells the page the names in them.
fn take_tables(scope: &DedicatedWorkerGlobalScope, bytes: &[u8], tables: Tables) {
    let data = public_data(bytes);
    let names = data.as_ref().map(|data| [data.networks(), data.gpus()]);
    say(scope, &PlanResponse::Names(names.unwrap_or_default()));
    PUBLIC.set((data, tables));
}

/// Serves the module `foreglow-reader`: imports, advice and the published scenarios.
pub fn serve_readings(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, file, clock| match parse(message) {
        Ok(Request::Import(added)) => {
            let files: Vec<JsValue> = Array::from(file).iter().collect();
            say(scope, &Response::Imported(import_files(opened(&files, &added), &added)));
        }
        Ok(Request::Advise(jobs, question)) => {
            say(scope, &Response::Advised(AdviceText::new(jobs, &question)));
        }
        Ok(Request::Evaluate(job, source)) => {
            say(scope, &Response::Evaluated(Box::new(evaluate(&job, clock))));
            say(scope, &Response::HeldOut(own_accuracy(&job)));
            let samples = match source {
                SampleSource::Unknown => return,
                SampleSource::Files(added) => {
                    let files: Vec<JsValue> = Array::from(file).iter().collect();
                    samples_of(opened(&files, &added), &added)
                }
                SampleSource::Collector => collected::samples(),
            };
            say(scope, &Response::WholeJobs(whole_jobs(&samples)));
        }
        Ok(Request::Network(name, px)) => {
            let Some(file) = file.dyn_ref::<File>() else { return };
            let read = || {
                let mut source = OpenFile::new(file).map_err(|error| error.to_string())?;
                NetworkHtml::read(&name, &mut source, px)
            };
            say(scope, &Response::Network(read()));
        }
        Ok(Request::Compare(_)) | Err(_) => {}
    });
}

/// Names and contents of files.
fn opened<'a>(
    files: &'a [JsValue],
    added: &'a Added,
) -> impl ExactSizeIterator<Item = (String, Result<Vec<u8>, String>)> + 'a {
    files.iter().map(|file| contents(file, &added.file))
}

/// Name and contents of a file, or of bytes, which have the name that was told.
fn contents(file: &JsValue, told: &str) -> (String, Result<Vec<u8>, String>) {
    let Some(file) = file.dyn_ref::<File>() else {
        return (told.to_owned(), Ok(file.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec).unwrap_or_default()));
    };
    let buffer = FileReaderSync::new().and_then(|reader| reader.read_as_array_buffer(file));
    let bytes = buffer.map(|buffer| Uint8Array::new(&buffer).to_vec());
    (file.name(), bytes.map_err(|_| "the browser cannot read it; check that it still exists".to_owned()))
}

/// Serves comparisons of all learners; needs the perceptrons of `web/comparison`.
pub fn serve_comparison(scope: &DedicatedWorkerGlobalScope) {
    serve(scope, |scope, message, _, clock| {
        let Ok(Request::Compare(job)) = parse(message) else { return };
        let mut told = 0;
        let watch = &mut |done: u64, total: u64| {
            // Reports whole percents only, to limit the messages to a hundred.
            if done * 100 / total.max(1) > told {
                told = done * 100 / total.max(1);
                say(scope, &Response::Progress(done, total));
            }
        };
        if let Some(rows) = compare(&job, clock, watch) {
            say(scope, &Response::Compared(rows));
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
    say(scope, &READY);
}

/// Parses a message.
///
/// # Errors
/// The message is of another version, or is the reason why the worker failed.
pub fn parse<T: DeserializeOwned>(data: &JsValue) -> Result<T, String> {
    match data.dyn_ref::<Uint8Array>() {
        Some(bytes) => decode(&bytes.to_vec()),
        None => Err(data.as_string().unwrap_or_default()),
    }
}

/// An encoded message as bytes that can be posted.
pub fn to_js(message: &[u8]) -> JsValue {
    Uint8Array::from(message).into()
}

/// Sends a message to the page.
fn say<T: Serialize>(scope: &DedicatedWorkerGlobalScope, message: &T) {
    match encode(message) {
        Ok(bytes) => post(scope, &to_js(&bytes)),
        Err(reason) => post(scope, &JsValue::from_str(&reason)),
    }
}

fn post(scope: &DedicatedWorkerGlobalScope, message: &JsValue) {
    // Strings and byte arrays can always be cloned to the page.
    let _ = scope.post_message(message);
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
        post(&scope, &JsValue::from_str(BROKEN));
    }
}
