//! Web workers with handlers of their messages.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

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
pub struct WorkerHandle {
    worker: Worker,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_error: Closure<dyn Fn(ErrorEvent)>,
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// Installs the handlers of a worker's messages and errors.
pub fn listen(
    worker: Worker,
    on_message: Closure<dyn Fn(MessageEvent)>,
    failed: impl Fn(String) + 'static,
) -> WorkerHandle {
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
        // A module that cannot be loaded raises a plain event without a message.
        let detail = js_sys::Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
        let detail = detail.map(|message| format!(" ({message})")).unwrap_or_default();
        failed(format!("the fit failed{detail}; reload the page"));
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    WorkerHandle { worker, _on_message: on_message, _on_error: on_error }
}
