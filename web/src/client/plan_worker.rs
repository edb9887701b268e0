//! The page's side of the planning worker.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use js_sys::{Array, Uint8Array};
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use web_sys::{MessageEvent, Worker};

use super::tables;
use super::worker::{WorkerHandle, listen, spawn};
use crate::worker::messages::{PlanRequest, PlanResponse, Subject};
use crate::worker::plan::{PlanAnswer, PlanQuestion};
use crate::worker::serve::{parse, to_js};
use crate::worker::wire::encode;

/// The script that starts the page's own module as a worker.
const WORKER: &str = "./fit-worker.js";

/// The state of the tables of public measurements: of the usual networks, or of all.
#[derive(Default)]
struct Tables {
    /// Whether the usual ones, and all, were requested.
    requested: Cell<[bool; 2]>,
    /// Fetched ones that the worker has not received yet, and whether these are all.
    fetched: RefCell<Option<(Uint8Array, bool)>>,
    /// Whether the page has all.
    has_all: Cell<bool>,
    /// Whether the worker has those that the question needs.
    is_ready: Cell<bool>,
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
    /// The last subject and question, which are repeated if they need other tables.
    last: RefCell<Option<(Subject, PlanQuestion)>>,
    /// The tables of public measurements.
    tables: Tables,
    /// Receives every answer.
    on_answer: Rc<dyn Fn(Result<PlanAnswer, String>)>,
    /// The latest question while the worker is busy; earlier ones are obsolete.
    waiting: RefCell<Option<PlanQuestion>>,
}

impl PlanWorker {
    /// Starts the worker. `on_answer` receives every answer about the latest subject, or the reason
    /// for its failure; `on_names` the names of the networks and GPUs of
    /// the public measurements.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(
        on_answer: impl Fn(Result<PlanAnswer, String>) + 'static,
        on_names: impl Fn([Vec<String>; 2]) + 'static,
    ) -> Result<Rc<Self>, String> {
        let worker = spawn(WORKER)?;
        // Sends the compiled module, so that the worker neither fetches nor compiles it again. A
        // module can always be cloned to a worker of the same page.
        let _ = worker.post_message(&wasm_bindgen::module());
        let on_answer: Rc<dyn Fn(Result<PlanAnswer, String>)> = Rc::new(on_answer);
        Ok(Rc::new_cyclic(|this: &Weak<Self>| {
            let on_message = {
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
                        Ok(PlanResponse::Names(names)) => on_names(names),
                        Ok(PlanResponse::NeedsAll(fit)) if fit == this.fit.get() => this.repeat_with_all(),
                        Err(reason) => on_answer(Err(reason)),
                        // The worker is ready, or the answer is obsolete.
                        Ok(_) => {}
                    }
                }
            };
            let failed = Rc::clone(&on_answer);
            Self {
                _handle: listen(worker.clone(), on_message, move |reason| failed(Err(reason))),
                worker,
                is_busy: Cell::new(true),
                fit: Cell::new(0),
                subject: RefCell::new(None),
                last: RefCell::new(None),
                tables: Tables::default(),
                on_answer,
                waiting: RefCell::new(None),
            }
        }))
    }

    /// Replaces the subject; answers about the earlier one are dropped.
    pub fn take(self: &Rc<Self>, subject: Subject) {
        if matches!(subject, Subject::Unmeasured(_)) {
            self.fetch_tables(false);
        }
        self.fit.set(self.fit.get() + 1);
        *self.subject.borrow_mut() = Some(subject);
        *self.waiting.borrow_mut() = None;
    }

    /// Fetches the tables of public measurements of the usual networks or of all, unless this has
    /// happened.
    pub fn fetch_tables(self: &Rc<Self>, all: bool) {
        let mut requested = self.tables.requested.get();
        if std::mem::replace(&mut requested[usize::from(all)], true) {
            return;
        }
        self.tables.requested.set(requested);
        let this = Rc::clone(self);
        spawn_local(async move {
            let tables = &this.tables;
            match tables::fetch(all).await {
                Ok(_) if !all && tables.has_all.get() => {}
                Ok(bytes) => {
                    tables.has_all.set(all);
                    *tables.fetched.borrow_mut() = Some((bytes, all));
                    this.send();
                }
                Err(reason) => {
                    // The next question tries again.
                    tables.requested.set([tables.is_ready.get(), false]);
                    if this.is_about_tables() {
                        (this.on_answer)(Err(reason));
                    }
                }
            }
        });
    }

    /// Asks the last question again once the worker has the tables of all networks.
    fn repeat_with_all(self: &Rc<Self>) {
        if let Some((subject, question)) = self.last.borrow_mut().take() {
            *self.subject.borrow_mut() = Some(subject);
            self.waiting.borrow_mut().get_or_insert(question);
        }
        self.tables.is_ready.set(self.tables.has_all.get());
        self.fetch_tables(true);
        self.send();
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
        if self.is_busy.get() {
            return;
        }
        if let Some((bytes, all)) = self.tables.fetched.borrow_mut().take() {
            self.is_busy.set(true);
            self.tables.is_ready.set(true);
            // Booleans and byte arrays can always be cloned to the worker.
            let _ = self.worker.post_message(&Array::of2(&JsValue::from_bool(all), &bytes));
            return;
        }
        if !self.tables.is_ready.get() && self.is_about_tables() {
            return;
        }
        let Some(question) = self.waiting.borrow_mut().take() else { return };
        let subject = self.subject.borrow_mut().take();
        if let Some(subject @ Subject::Unmeasured(_)) = &subject {
            *self.last.borrow_mut() = Some((subject.clone(), question.clone()));
        }
        let request = PlanRequest { fit: self.fit.get(), subject, question };
        match encode(&request) {
            Ok(message) => {
                self.is_busy.set(true);
                // A byte array can always be cloned to the worker.
                let _ = self.worker.post_message(&to_js(&message));
            }
            Err(reason) => (self.on_answer)(Err(reason)),
        }
    }
}
