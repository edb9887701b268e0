//! Fitting off the main thread: the page's end of the wire.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use foreglow_shared::{Job, Question};
use leptos::prelude::set_timeout;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::fit::{Fitted, FromFit, ToFit};
use crate::worker::parse;

/// The page's own module as a worker.
const WORKER: &str = "./fit-worker.js";

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
        let worker = spawn(WORKER)?;
        // Neither fetched nor compiled a second time. A module can always be cloned to a worker of its own page.
        let _ = worker.post_message(&wasm_bindgen::module());
        let this = Rc::new(Self { worker, ready: Cell::new(false), waiting: RefCell::new(None), latest: Cell::new(0) });
        let answered = Rc::new(answered);
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (this, answered) = (Rc::clone(&this), Rc::clone(&answered));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromFit::Ready) => this.send_waiting(),
                Ok(FromFit::Answer(number, answer)) if number == this.latest.get() => {
                    let answered = Rc::clone(&answered);
                    // To read it is a task, and to show it is another.
                    set_timeout(move || answered(answer.map(|fitted| *fitted)), Duration::ZERO);
                }
                Ok(FromFit::Broken(reason)) | Err(reason) => answered(Err(reason)),
                // An answer to an earlier request.
                Ok(_) => {}
            }
        });
        listen(&this.worker, on_message, move |reason| answered(Err(reason)));
        Ok(this)
    }

    /// Asks for a fit of a job, about which there is a question; an earlier request that is still open goes without an answer.
    pub fn request(&self, job: Job, question: Question) {
        let number = self.latest.get() + 1;
        self.latest.set(number);
        let Ok(message) = serde_json::to_string(&ToFit(number, job, question)) else { return };
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

/// The worker of a script, which says that it is ready once it takes requests.
///
/// # Errors
/// The browser has no module workers.
pub fn spawn(script: &str) -> Result<Worker, String> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    Worker::new_with_options(script, &options)
        .map_err(|_| "this browser cannot run the fit beside the page; try a current one".to_owned())
}

/// Listens to a worker until the page goes.
pub fn listen(worker: &Worker, on_message: Closure<dyn Fn(MessageEvent)>, failed: impl Fn(String) + 'static) {
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
