//! The page's side of the fit worker.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use foreglow_shared::{Job, Question};
use leptos::prelude::set_timeout;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::worker::messages::{Fitted, FromFit, ToFit};
use crate::worker::serve::parse;

/// The script that starts the page's own module as a worker.
const WORKER: &str = "./fit-worker.js";

/// A handle on the fit worker.
pub struct FitWorker {
    worker: Worker,
    ready: Cell<bool>,
    /// The last request before the worker was ready; earlier ones are obsolete.
    waiting: RefCell<Option<String>>,
    latest: Cell<u64>,
}

impl FitWorker {
    /// Starts the worker. `answered` receives the answer to the latest request, or the reason for
    /// its failure. `foresee` receives each successful answer first, to precompute values for the
    /// page.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(
        foresee: impl Fn(&Arc<Fitted>) + 'static,
        answered: impl Fn(Result<Arc<Fitted>, String>) + 'static,
    ) -> Result<Rc<Self>, String> {
        let worker = spawn(WORKER)?;
        // Sends the compiled module, so that the worker neither fetches nor compiles it again. A
        // module can always be cloned to a worker of the same page.
        let _ = worker.post_message(&wasm_bindgen::module());
        let this = Rc::new(Self { worker, ready: Cell::new(false), waiting: RefCell::new(None), latest: Cell::new(0) });
        let (foresee, answered) = (Rc::new(foresee), Rc::new(answered));
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (this, answered) = (Rc::clone(&this), Rc::clone(&answered));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromFit::Ready) => this.send_waiting(),
                Ok(FromFit::Answer(number, Ok(fitted))) => {
                    let (this, foresee, answered) = (Rc::clone(&this), Rc::clone(&foresee), Rc::clone(&answered));
                    let fitted = Arc::new(*fitted);
                    // Parsing, deciding and showing are one task each, so that the page stays
                    // responsive.
                    this.clone().in_a_task(number, move || {
                        foresee(&fitted);
                        this.in_a_task(number, move || answered(Ok(fitted)));
                    });
                }
                Ok(FromFit::Answer(number, Err(reason))) if number == this.latest.get() => answered(Err(reason)),
                Ok(FromFit::Broken(reason)) | Err(reason) => answered(Err(reason)),
                // Ignores the failure of an obsolete request.
                Ok(_) => {}
            }
        });
        // The fit worker lives as long as the page.
        std::mem::forget(listen(this.worker.clone(), on_message, move |reason| answered(Err(reason))));
        Ok(this)
    }

    /// Requests a fit of a job with a question about it. An earlier open request gets no answer.
    pub fn request(self: Rc<Self>, job: Job, question: Question) {
        let number = self.latest.get() + 1;
        self.latest.set(number);
        // Serialises in a later task, because this task has just shown the job on the page.
        let this = Rc::clone(&self);
        self.in_a_task(number, move || {
            let Ok(message) = serde_json::to_string(&ToFit(number, job, question)) else { return };
            *this.waiting.borrow_mut() = Some(message);
            if this.ready.get() {
                this.send_waiting();
            }
        });
    }

    /// Runs `work` in a separate task, unless there is a newer request by then.
    fn in_a_task(self: Rc<Self>, number: u64, work: impl FnOnce() + 'static) {
        let in_turn = move || {
            if number == self.latest.get() {
                work();
            }
        };
        set_timeout(in_turn, Duration::ZERO);
    }

    fn send_waiting(&self) {
        self.ready.set(true);
        if let Some(message) = self.waiting.borrow_mut().take() {
            // A string can always be cloned to the worker.
            let _ = self.worker.post_message(&JsValue::from_str(&message));
        }
    }
}

/// Starts a worker from a script; it reports when it accepts requests.
///
/// # Errors
/// The browser does not support module workers.
pub fn spawn(script: &str) -> Result<Worker, String> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    Worker::new_with_options(script, &options)
        .map_err(|_| "this browser cannot run the fit in a worker; try a current one".to_owned())
}

/// A worker with the handlers of its messages and errors; dropping it ends the worker.
pub struct Heard {
    worker: Worker,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_error: Closure<dyn Fn(ErrorEvent)>,
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// Installs the handlers of a worker's messages and errors.
pub fn listen(worker: Worker, on_message: Closure<dyn Fn(MessageEvent)>, failed: impl Fn(String) + 'static) -> Heard {
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
        // A module that cannot be loaded raises a plain event without a message.
        let detail = js_sys::Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
        let detail = detail.map(|message| format!(" ({message})")).unwrap_or_default();
        failed(format!("the fit failed{detail}; reload the page"));
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    Heard { worker, _on_message: on_message, _on_error: on_error }
}
