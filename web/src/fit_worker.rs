//! Fitting off the main thread: the page's end and the worker's end of the same wire, which carries JSON.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use foreglow_shared::Job;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::fit::{Fitted, FromWorker, ToWorker, compare, fit};

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
        let worker = spawn()?;
        let this = Rc::new(Self { worker, ready: Cell::new(false), waiting: RefCell::new(None), latest: Cell::new(0) });
        let answered = Rc::new(answered);
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (this, answered) = (Rc::clone(&this), Rc::clone(&answered));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromWorker::Ready) => this.send_waiting(),
                Ok(FromWorker::Answer(number, answer)) if number == this.latest.get() => {
                    answered(answer.map(|fitted| *fitted));
                }
                Ok(FromWorker::Answer(..) | FromWorker::Progress(..) | FromWorker::Compared(..)) => {}
                Ok(FromWorker::Broken(reason)) | Err(reason) => answered(Err(reason)),
            }
        });
        listen(&this.worker, on_message, move |reason| answered(Err(reason)));
        Ok(this)
    }

    /// Asks for a fit; an earlier request that is still open goes without an answer.
    pub fn request(&self, job: Job) {
        let number = self.latest.get() + 1;
        self.latest.set(number);
        let Ok(message) = serde_json::to_string(&ToWorker::Fit(number, job)) else { return };
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

/// A worker of its own for one comparison of all learners: a calculation that does not listen is broken off by ending
/// it, which dropping this does.
pub struct Comparison {
    worker: Worker,
}

impl Comparison {
    /// Starts to compare. `told` gets every step, then the table or the reason why there is none.
    ///
    /// # Errors
    /// The browser has no module workers.
    pub fn start(job: Job, told: impl Fn(Result<FromWorker, String>) + 'static) -> Result<Self, String> {
        let worker = spawn()?;
        let told = Rc::new(told);
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (worker, told) = (worker.clone(), Rc::clone(&told));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromWorker::Ready) => {
                    if let Ok(message) = serde_json::to_string(&ToWorker::Compare(job.clone())) {
                        // A string can always be cloned to the worker.
                        let _ = worker.post_message(&JsValue::from_str(&message));
                    }
                }
                Ok(FromWorker::Broken(reason)) | Err(reason) => told(Err(reason)),
                Ok(message) => told(Ok(message)),
            }
        });
        listen(&worker, on_message, move |reason| told(Err(reason)));
        Ok(Self { worker })
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

fn spawn() -> Result<Worker, String> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    Worker::new_with_options(SCRIPT, &options)
        .map_err(|_| "this browser cannot run the fit beside the page; try a current one".to_owned())
}

/// Listens to a worker until the page goes.
fn listen(worker: &Worker, on_message: Closure<dyn Fn(MessageEvent)>, failed: impl Fn(String) + 'static) {
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
        // A module that cannot be loaded gives a plain event without a message.
        let detail = js_sys::Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
        let detail = detail.map(|message| format!(" ({message})")).unwrap_or_default();
        failed(format!("the fit could not run{detail}; reload the page"));
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    on_message.forget();
    on_error.forget();
}

/// The worker's end: answers requests until the page goes.
pub fn serve(scope: &DedicatedWorkerGlobalScope) {
    let performance = scope.performance();
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let scope = scope.clone();
        move |event: MessageEvent| {
            let mut clock = || performance.as_ref().map_or(0.0, |clock| clock.now() / MILLIS_PER_SEC);
            match parse(&event.data()) {
                Ok(ToWorker::Fit(number, job)) => {
                    say(&scope, &FromWorker::Answer(number, fit(&job, &mut clock).map(Box::new)));
                }
                Ok(ToWorker::Compare(job)) => {
                    let mut told = 0;
                    let watch = &mut |done: u64, total: u64| {
                        // A hundred messages say as much as thousands.
                        if done * 100 / total.max(1) > told {
                            told = done * 100 / total.max(1);
                            say(&scope, &FromWorker::Progress(done, total));
                        }
                    };
                    if let Some(rows) = compare(&job, &mut clock, watch) {
                        say(&scope, &FromWorker::Compared(rows));
                    }
                }
                Err(_) => {}
            }
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
