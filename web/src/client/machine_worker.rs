//! The page's side of the worker that compares machine types. The worker reuses its fit for further
//! questions.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use foreglow_shared::Job;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use web_sys::{MessageEvent, Worker};

use super::errand::READER;
use super::fit_worker::{Heard, listen, spawn};
use crate::worker::machines::{MachineHtml, MachineQuestion};
use crate::worker::messages::{FromErrand, ToErrand};
use crate::worker::serve::parse;

/// A worker for the questions about some jobs; dropping it cancels its work.
pub struct MachineWorker {
    worker: Worker,
    _heard: Heard,
    /// The jobs; sent to the worker with the first question.
    jobs: Cell<Option<Vec<Job>>>,
    /// Whether the worker loads or answers.
    is_busy: Cell<bool>,
    /// The latest question while the worker is busy; earlier ones are obsolete.
    waiting: RefCell<Option<MachineQuestion>>,
}

impl MachineWorker {
    /// Starts a worker. `told` receives every answer, or the reason for its failure.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(jobs: Vec<Job>, told: impl Fn(Result<MachineHtml, String>) + 'static) -> Result<Rc<Self>, String> {
        let worker = spawn(READER)?;
        let told = Rc::new(told);
        Ok(Rc::new_cyclic(|this: &Weak<Self>| {
            let on_message = Closure::<dyn Fn(MessageEvent)>::new({
                let (this, told) = (Weak::clone(this), Rc::clone(&told));
                move |event: MessageEvent| {
                    match parse(&event.data()) {
                        Ok(FromErrand::Machines(html)) => told(Ok(*html)),
                        Ok(FromErrand::Broken(reason)) | Err(reason) => told(Err(reason)),
                        Ok(_) => {}
                    }
                    if let Some(this) = Weak::upgrade(&this) {
                        this.is_busy.set(false);
                        this.send();
                    }
                }
            });
            Self {
                _heard: listen(worker.clone(), on_message, move |reason| told(Err(reason))),
                worker,
                jobs: Cell::new(Some(jobs)),
                is_busy: Cell::new(true),
                waiting: RefCell::new(None),
            }
        }))
    }

    /// Asks a question. An earlier question that the worker has not started gets no answer.
    pub fn ask(&self, question: MachineQuestion) {
        *self.waiting.borrow_mut() = Some(question);
        self.send();
    }

    fn send(&self) {
        if self.is_busy.get() {
            return;
        }
        let Some(question) = self.waiting.borrow_mut().take() else { return };
        let request = ToErrand::Machines(self.jobs.take(), Box::new(question));
        if let Ok(message) = serde_json::to_string(&request) {
            self.is_busy.set(true);
            // A string can always be cloned to the worker.
            let _ = self.worker.post_message(&JsValue::from_str(&message));
        }
    }
}
