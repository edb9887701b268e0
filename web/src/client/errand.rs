//! A worker for a single long request. It never blocks the fit worker, and terminating it cancels
//! the request.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;
use web_sys::MessageEvent;

use crate::client::fit_worker::{Heard, listen, spawn};
use crate::worker::messages::{FromErrand, ToErrand};
use crate::worker::serve::parse;

/// The module for files, advice, the published scenarios and machine types, fetched on first use.
pub const READER: &str = "./reader-worker.js";
/// The module with all learners of the published grid, fetched on first use.
pub const COMPARISON: &str = "./comparison-worker.js";

/// A running request; dropping it cancels it.
pub struct Errand {
    _worker: Heard,
}

impl Errand {
    /// Starts a request in a new worker, with a file or its bytes if it is about one. `told`
    /// receives every message of the worker, or the reason for its failure.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(
        script: &str,
        request: &ToErrand,
        file: Option<JsValue>,
        told: impl Fn(Result<FromErrand, String>) + 'static,
    ) -> Result<Self, String> {
        let worker = spawn(script)?;
        let told = Rc::new(told);
        let message =
            serde_json::to_string(request).map_err(|error| format!("the request cannot be serialised: {error}"))?;
        // Sent once, because ownership moves to the worker.
        let request = Cell::new(Some((message, file)));
        let on_message = Closure::<dyn Fn(MessageEvent)>::new({
            let (worker, told) = (worker.clone(), Rc::clone(&told));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(FromErrand::Ready) => {
                    let Some((message, file)) = request.take() else { return };
                    let message = JsValue::from_str(&message);
                    // Strings, files and byte arrays can always be cloned to a worker.
                    let _ = match &file {
                        None => worker.post_message(&message),
                        Some(file) => worker.post_message(&Array::of2(&message, file)),
                    };
                }
                Ok(FromErrand::Broken(reason)) | Err(reason) => told(Err(reason)),
                Ok(message) => told(Ok(message)),
            }
        });
        Ok(Self { _worker: listen(worker, on_message, move |reason| told(Err(reason))) })
    }
}
