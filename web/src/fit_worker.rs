//! Fitting off the main thread: the page's end and the worker's end of the same wire, which carries JSON.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use foreglow_shared::Job;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::fit::{FitRequest, Fitted, FromWorker, fit};

const SCRIPT: &str = "./fit-worker.js";
const MILLIS_PER_SEC: f64 = 1000.0;

/// The page's end.
pub struct FitWorker {
    worker: Worker,
    ready: Cell<bool>,
    /// The last request before the worker was ready; an earlier one is not worth fitting any more.
    waiting: RefCell<Option<String>>,
    latest: Cell<u64>,
}

impl FitWorker {
    /// Starts the worker. `answered` gets the answer to the latest request, and every reason why there is none.
    ///
    /// # Errors
    /// The browser has no module workers.
    pub fn start(answered: impl Fn(Result<Fitted, String>) + 'static) -> Result<Rc<Self>, String> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options(SCRIPT, &options)
            .map_err(|_| "this browser cannot run the fit beside the page; try a current one".to_owned())?;
        let this = Rc::new(Self { worker, ready: Cell::new(false), waiting: RefCell::new(None), latest: Cell::new(0) });
        let answered = Rc::new(answered);
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (this, answered) = (Rc::clone(&this), Rc::clone(&answered));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromWorker::Ready) => this.send_waiting(),
                Ok(FromWorker::Answer(number, answer)) if number == this.latest.get() => {
                    answered(answer.map(|fitted| *fitted));
                }
                Ok(FromWorker::Answer(..)) => {}
                Ok(FromWorker::Broken(reason)) | Err(reason) => answered(Err(reason)),
            }
        });
        let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
            // A module that cannot be loaded gives a plain event without a message.
            let detail = js_sys::Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
            let detail = detail.map(|message| format!(" ({message})")).unwrap_or_default();
            answered(Err(format!("the fit could not run{detail}; reload the page")));
        });
        this.worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        this.worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        // The worker lives as long as the page.
        on_message.forget();
        on_error.forget();
        Ok(this)
    }

    /// Asks for a fit; an earlier request that is still open goes without an answer.
    pub fn request(&self, job: Job) {
        let number = self.latest.get() + 1;
        self.latest.set(number);
        let Ok(message) = serde_json::to_string(&FitRequest { number, job }) else { return };
        *self.waiting.borrow_mut() = Some(message);
        if self.ready.get() {
            self.send_waiting();
        }
    }

    fn send_waiting(&self) {
        self.ready.set(true);
        if let Some(message) = self.waiting.borrow_mut().take() {
            // A string can always be cloned to the worker.
            let _ = self.worker.post_message(&JsValue::from_str(&message));
        }
    }
}

/// The worker's end: answers requests until the page goes.
pub fn serve(scope: &DedicatedWorkerGlobalScope) {
    let performance = scope.performance();
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let scope = scope.clone();
        move |event: MessageEvent| {
            let Ok(FitRequest { number, job }) = parse(&event.data()) else { return };
            let mut clock = || performance.as_ref().map_or(0.0, |clock| clock.now() / MILLIS_PER_SEC);
            say(&scope, &FromWorker::Answer(number, fit(&job, &mut clock).map(Box::new)));
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    say(scope, &FromWorker::Ready);
}

/// Says something to the page.
pub fn say(scope: &DedicatedWorkerGlobalScope, message: &FromWorker) {
    if let Ok(text) = serde_json::to_string(message) {
        // A string can always be cloned to the page.
        let _ = scope.post_message(&JsValue::from_str(&text));
    }
}

fn parse<T: serde::de::DeserializeOwned>(data: &JsValue) -> Result<T, String> {
    let text = data.as_string().ok_or("the fit spoke no text")?;
    serde_json::from_str(&text).map_err(|error| format!("the fit spoke another version ({error}); reload the page"))
}
