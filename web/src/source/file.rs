//! A file of samples that the person dropped or picked. It is read here and goes nowhere.

use foreglow_shared::read_samples;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use crate::state::Planner;

/// A larger file would hold the page up for seconds; 64 MB are some 100,000 samples.
const MOST_BYTES: f64 = 64e6;

/// Reads a file in place of what is on the page; a bad one changes nothing but the message.
pub fn read(planner: Planner, file: File) {
    let name = file.name();
    if file.size() > MOST_BYTES {
        let megabytes = (file.size() / 1e6).round();
        planner.alert.set(Some(format!(
            "{name} has {megabytes} MB, and the page reads files up to 64 MB; choose the runs of one job, or run `foreglow \
             plan` on it."
        )));
        return;
    }
    spawn_local(async move {
        let Ok(buffer) = JsFuture::from(file.array_buffer()).await else {
            planner.alert.set(Some(format!("{name} cannot be read by the browser; check that it still exists.")));
            return;
        };
        match read_samples(&js_sys::Uint8Array::new(&buffer).to_vec()) {
            Ok(samples) => {
                planner.alert.set(None);
                planner.newer.set(None);
                planner.take_samples(&samples);
            }
            Err(error) => planner.alert.set(Some(format!("{name} cannot be used: {error}."))),
        }
    });
}
