//! Web workers with handlers of their messages.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use leptos::prelude::{TimeoutHandle, set_timeout_with_handle};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

/// Time within which a worker reports that it accepts requests. Its module is then downloaded and
/// compiled.
const PATIENCE: Duration = Duration::from_secs(20);

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
    watch: Option<TimeoutHandle>,
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        if let Some(watch) = self.watch {
            watch.clear();
        }
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// Installs the handlers of a worker's messages and errors. A worker that sends no message for
/// [`PATIENCE`] has failed, but may still start.
pub fn listen(
    worker: Worker,
    on_message: impl Fn(MessageEvent) + 'static,
    failed: impl Fn(String) + 'static,
) -> WorkerHandle {
    let (is_heard, failed) = (Rc::new(Cell::new(false)), Rc::new(failed));
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let is_heard = Rc::clone(&is_heard);
        move |event| {
            is_heard.set(true);
            on_message(event);
        }
    });
    let watch = {
        let failed = Rc::clone(&failed);
        move || {
            if !is_heard.get() {
                let secs = PATIENCE.as_secs();
                failed(format!("the worker has not started within {secs} s; wait, or reload the page"));
            }
        }
    };
    let on_error = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
        // A module that cannot be loaded raises a plain event without a message.
        let detail = js_sys::Reflect::get(&event, &"message".into()).ok().and_then(|message| message.as_string());
        let detail = detail.map(|message| format!(" ({message})")).unwrap_or_default();
        failed(format!("the fit failed{detail}; reload the page"));
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    let watch = set_timeout_with_handle(watch, PATIENCE).ok();
    WorkerHandle { worker, _on_message: on_message, _on_error: on_error, watch }
}
