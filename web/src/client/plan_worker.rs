//! The page's side of the planning worker.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use js_sys::{Array, Uint8Array};
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use web_sys::{MessageEvent, Worker};

use super::tables;
use super::worker::{WorkerHandle, listen, spawn};
use crate::worker::messages::{PlanRequest, PlanResponse, Subject};
use crate::worker::plan::{PlanAnswer, PlanQuestion};
use crate::worker::serve::parse;

/// The script that starts the page's own module as a worker.
const WORKER: &str = "./fit-worker.js";

/// What the worker has of the tables of public measurements.
enum Tables {
    /// They were not needed yet, or could not be fetched.
    Missing,
    /// The page fetches them.
    Awaited,
    /// The page has them.
    Fetched(Uint8Array),
    /// The worker has them.
    Sent,
}

/// A handle on the planning worker.
pub struct PlanWorker {
    worker: Worker,
    _handle: WorkerHandle,
    /// Whether the worker loads or answers.
    is_busy: Cell<bool>,
    /// Number of the last fit.
    fit: Cell<u64>,
    /// The subject that the worker has not received yet.
    subject: RefCell<Option<Subject>>,
    /// The tables of public measurements.
    tables: RefCell<Tables>,
    /// Receives every answer.
    on_answer: Rc<dyn Fn(Result<PlanAnswer, String>)>,
    /// The latest question while the worker is busy; earlier ones are obsolete.
    waiting: RefCell<Option<PlanQuestion>>,
}

impl PlanWorker {
    /// Starts the worker. `on_answer` receives every answer about the latest subject, or the reason
    /// for its failure; `on_networks` the names of the networks of the public measurements.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(
        on_answer: impl Fn(Result<PlanAnswer, String>) + 'static,
        on_networks: impl Fn(Vec<String>) + 'static,
    ) -> Result<Rc<Self>, String> {
        let worker = spawn(WORKER)?;
        // Sends the compiled module, so that the worker neither fetches nor compiles it again. A
        // module can always be cloned to a worker of the same page.
        let _ = worker.post_message(&wasm_bindgen::module());
        let on_answer: Rc<dyn Fn(Result<PlanAnswer, String>)> = Rc::new(on_answer);
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
                        Ok(PlanResponse::Networks(names)) => on_networks(names),
                        Ok(PlanResponse::Broken(reason)) | Err(reason) => on_answer(Err(reason)),
                        // The worker is ready, or the answer is obsolete.
                        Ok(_) => {}
                    }
                }
            });
            let failed = Rc::clone(&on_answer);
            Self {
                _handle: listen(worker.clone(), on_message, move |reason| failed(Err(reason))),
                worker,
                is_busy: Cell::new(true),
                fit: Cell::new(0),
                subject: RefCell::new(None),
                tables: RefCell::new(Tables::Missing),
                on_answer,
                waiting: RefCell::new(None),
            }
        }))
    }

    /// Replaces the subject; answers about the earlier one are dropped.
    pub fn take(self: &Rc<Self>, subject: Subject) {
        if matches!(subject, Subject::Unmeasured(_)) {
            self.fetch_tables();
        }
        self.fit.set(self.fit.get() + 1);
        *self.subject.borrow_mut() = Some(subject);
        *self.waiting.borrow_mut() = None;
    }

    /// Fetches the tables of public measurements, unless this has happened.
    pub fn fetch_tables(self: &Rc<Self>) {
        if !matches!(*self.tables.borrow(), Tables::Missing) {
            return;
        }
        *self.tables.borrow_mut() = Tables::Awaited;
        let this = Rc::clone(self);
        spawn_local(async move {
            let fetched = tables::fetch().await;
            *this.tables.borrow_mut() = fetched.as_ref().map_or(Tables::Missing, |bytes| Tables::Fetched(bytes.clone()));
            match fetched {
                Ok(_) => this.send(),
                Err(reason) if this.is_about_tables() => (this.on_answer)(Err(reason)),
                Err(_) => {}
            }
        });
    }

    /// Whether the next subject needs the tables.
    fn is_about_tables(&self) -> bool {
        matches!(*self.subject.borrow(), Some(Subject::Unmeasured(_)))
    }

    /// Asks a question. An earlier question that the worker has not started gets no answer.
    pub fn ask(&self, question: PlanQuestion) {
        *self.waiting.borrow_mut() = Some(question);
        self.send();
    }

    fn send(&self) {
        let lacks_tables = matches!(*self.tables.borrow(), Tables::Missing | Tables::Awaited);
        if self.is_busy.get() || (lacks_tables && self.is_about_tables()) {
            return;
        }
        let Some(question) = self.waiting.borrow_mut().take() else { return };
        let tables = match &mut *self.tables.borrow_mut() {
            known if self.is_about_tables() => match std::mem::replace(known, Tables::Sent) {
                Tables::Fetched(bytes) => Some(bytes),
                _ => None,
            },
            _ => None,
        };
        let request = PlanRequest { fit: self.fit.get(), subject: self.subject.borrow_mut().take(), question };
        if let Ok(message) = serde_json::to_string(&request) {
            self.is_busy.set(true);
            let message = JsValue::from_str(&message);
            // Strings and byte arrays can always be cloned to the worker.
            let _ = match tables {
                Some(bytes) => self.worker.post_message(&Array::of2(&message, &bytes)),
                None => self.worker.post_message(&message),
            };
        }
    }
}
