//! The page's side of the planning worker.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use foreglow_shared::Job;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use web_sys::{MessageEvent, Worker};

use super::worker::{WorkerHandle, listen, spawn};
use crate::worker::messages::{PlanRequest, PlanResponse};
use crate::worker::plan::{PlanAnswer, PlanQuestion};
use crate::worker::serve::parse;

/// The script that starts the page's own module as a worker.
const WORKER: &str = "./fit-worker.js";

/// A handle on the planning worker.
pub struct PlanWorker {
    worker: Worker,
    _handle: WorkerHandle,
    /// Whether the worker loads or answers.
    is_busy: Cell<bool>,
    /// Number of the last fit.
    fit: Cell<u64>,
    /// Jobs that the worker has not received yet.
    jobs: RefCell<Option<Vec<Job>>>,
    /// The latest question while the worker is busy; earlier ones are obsolete.
    waiting: RefCell<Option<PlanQuestion>>,
}

impl PlanWorker {
    /// Starts the worker. `on_answer` receives every answer about the latest jobs, or the reason
    /// for its failure.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(on_answer: impl Fn(Result<PlanAnswer, String>) + 'static) -> Result<Rc<Self>, String> {
        let worker = spawn(WORKER)?;
        // Sends the compiled module, so that the worker neither fetches nor compiles it again. A
        // module can always be cloned to a worker of the same page.
        let _ = worker.post_message(&wasm_bindgen::module());
        let on_answer = Rc::new(on_answer);
        Ok(Rc::new_cyclic(|this: &Weak<Self>| {
            let on_message = Closure::<dyn Fn(MessageEvent)>::new({
                let (this, on_answer) = (Weak::clone(this), Rc::clone(&on_answer));
                move |event: MessageEvent| {
                    let Some(this) = Weak::upgrade(&this) else { return };
                    // The next question first: the worker answers it while the page draws.
                    this.is_busy.set(false);
                    this.send();
                    match parse(&event.data()) {
                        Ok(PlanResponse::Answer(fit, answer)) if fit == this.fit.get() => {
                            on_answer(answer.map(|answer| *answer));
                        }
                        Ok(PlanResponse::Broken(reason)) | Err(reason) => on_answer(Err(reason)),
                        // The worker is ready, or the answer is obsolete.
                        Ok(_) => {}
                    }
                }
            });
            Self {
                _handle: listen(worker.clone(), on_message, move |reason| on_answer(Err(reason))),
                worker,
                is_busy: Cell::new(true),
                fit: Cell::new(0),
                jobs: RefCell::new(None),
                waiting: RefCell::new(None),
            }
        }))
    }

    /// Replaces the jobs; answers about the earlier ones are dropped.
    pub fn take_jobs(&self, jobs: Vec<Job>) {
        self.fit.set(self.fit.get() + 1);
        *self.jobs.borrow_mut() = Some(jobs);
        *self.waiting.borrow_mut() = None;
    }

    /// Asks a question. An earlier question that the worker has not started gets no answer.
    pub fn ask(&self, question: PlanQuestion) {
        *self.waiting.borrow_mut() = Some(question);
        self.send();
    }

    fn send(&self) {
        if self.is_busy.get() {
            return;
        }
        let Some(question) = self.waiting.borrow_mut().take() else { return };
        let request = PlanRequest { fit: self.fit.get(), jobs: self.jobs.borrow_mut().take(), question };
        if let Ok(message) = serde_json::to_string(&request) {
            self.is_busy.set(true);
            // A string can always be cloned to the worker.
            let _ = self.worker.post_message(&JsValue::from_str(&message));
        }
    }
}
