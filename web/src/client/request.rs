//! A worker for a single long request. It never blocks the planning worker, and terminating it
//! cancels the request.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::MessageEvent;

use crate::client::worker::{WorkerHandle, listen, spawn};
use crate::worker::messages::{Request, Response};
use crate::worker::serve::{parse, to_js};
use crate::worker::wire::encode;

/// The module for files, advice and the published scenarios, fetched on first use.
pub const READER: &str = "./reader-worker.js";
/// The module with all learners of the published grid, fetched on first use.
pub const COMPARISON: &str = "./comparison-worker.js";

/// A running request; dropping it cancels it.
pub struct RunningRequest {
    _worker: WorkerHandle,
}

impl RunningRequest {
    /// Starts a request in a new worker, with a file or its bytes if it is about one. `on_response`
    /// receives every message of the worker, or the reason for its failure.
    ///
    /// # Errors
    /// The browser does not support module workers.
    pub fn start(
        script: &str,
        request: &Request,
        file: Option<JsValue>,
        on_response: impl Fn(Result<Response, String>) + 'static,
    ) -> Result<Self, String> {
        let worker = spawn(script)?;
        let on_response = Rc::new(on_response);
        let message = encode(request)?;
        // Sent once, because ownership moves to the worker.
        let request = Cell::new(Some((message, file)));
        let on_message = {
            let (worker, on_response) = (worker.clone(), Rc::clone(&on_response));
            move |event: MessageEvent| match parse(&event.data()) {
                Ok(Response::Ready) => {
                    let Some((message, file)) = request.take() else { return };
                    let message = to_js(&message);
                    // Files and byte arrays can always be cloned to a worker.
                    let _ = match &file {
                        None => worker.post_message(&message),
                        Some(file) => worker.post_message(&Array::of2(&message, file)),
                    };
                }
                Err(reason) => on_response(Err(reason)),
                Ok(message) => on_response(Ok(message)),
            }
        };
        Ok(Self { _worker: listen(worker, on_message, move |reason| on_response(Err(reason))) })
    }
}
