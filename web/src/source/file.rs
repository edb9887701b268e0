//! A file that the user dropped or picked. It is read in a worker and never leaves the browser.

use foreglow_shared::Mapping;
use js_sys::Uint8Array;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

use crate::client::{READER, RunningRequest};
use crate::data::text::capitalised;
use crate::source::network;
use crate::state::{Lacked, Planner, Unmapped};
use crate::worker::import::{Added, Imported, Lacking};
use crate::worker::messages::{Request, Response};

/// Upper limit on a file's size: a larger one would fill the browser's memory several times over.
/// 64 MB are about 100,000 samples.
const MOST_BYTES: f64 = 64e6;

/// Reads a file and replaces the page's jobs by its jobs, or adds its network. An invalid file only
/// sets the message.
pub fn read(planner: Planner, file: File) {
    let name = file.name();
    planner.import.give_up();
    if network::is_network(&name) {
        network::read(planner, file);
        return;
    }
    if is_too_large(planner, &name, file.size()) {
        return;
    }
    planner.import.reading.set(Some(name.clone()));
    spawn_local(async move {
        let Ok(buffer) = JsFuture::from(file.array_buffer()).await else {
            planner.import.give_up();
            planner.alert.set(Some(format!("{name} cannot be read by the browser; check that it still exists.")));
            return;
        };
        planner.import.bytes.set_value(Some(Uint8Array::new(&buffer)));
        start(planner, named(&name));
    });
}

/// Reads the contents of a file as [`read`] does.
pub fn read_bytes(planner: Planner, name: &str, bytes: Uint8Array) {
    planner.import.give_up();
    if !is_too_large(planner, name, f64::from(bytes.length())) {
        planner.import.reading.set(Some(name.to_owned()));
        planner.import.bytes.set_value(Some(bytes));
        start(planner, named(name));
    }
}

/// Whether a file exceeds the limit; shows a message if so.
fn is_too_large(planner: Planner, name: &str, size: f64) -> bool {
    let is_too_large = size > MOST_BYTES;
    if is_too_large {
        let megabytes = (size / 1e6).round();
        planner.alert.set(Some(format!(
            "{name} has {megabytes} MB, and the page reads files up to 64 MB; choose the runs of one job, or run `foreglow \
             plan` on it."
        )));
    }
    is_too_large
}

/// Reads the table again with the mapping that the user chose.
pub fn read_mapped(planner: Planner, mapping: Mapping) {
    planner.import.unmapped.update(|unmapped| {
        if let Some(unmapped) = unmapped {
            unmapped.columns.mapping = mapping.clone();
            unmapped.mistake = None;
        }
    });
    let name = planner.import.unmapped.with_untracked(|unmapped| unmapped.as_ref().map(|table| table.name.clone()));
    if let Some(name) = name {
        start(planner, Added { mapping: Some(mapping), ..named(&name) });
    }
}

/// Reads the file again with the labels that the user told.
pub fn read_labelled(planner: Planner, labels: Vec<(String, String)>) {
    let name = planner.import.lacking.with_untracked(|lacked| lacked.as_ref().map(|lacked| lacked.name.clone()));
    if let Some(name) = name {
        planner.import.lacking.update(|lacked| {
            if let Some(lacked) = lacked {
                lacked.labels.clone_from(&labels);
                lacked.mistake = None;
            }
        });
        start(planner, Added { labels: Some(labels), ..named(&name) });
    }
}

fn named(file: &str) -> Added {
    Added { file: file.to_owned(), ..Added::default() }
}

fn start(planner: Planner, added: Added) {
    let bytes = planner.import.bytes.get_value().map(JsValue::from);
    let (is_mapped, is_labelled) = (added.mapping.is_some(), added.labels.is_some());
    let (name, file) = (added.file.clone(), added.file.clone());
    let told = move |told: Result<Response, String>| {
        planner.import.reading.set(None);
        let imported = match told {
            Ok(Response::Imported(imported)) => imported,
            Ok(_) => return,
            Err(reason) => Err(reason),
        };
        match imported {
            Ok(Imported::Jobs(jobs)) => {
                planner.import.give_up();
                planner.alert.set(None);
                planner.newer.set(None);
                planner.live.follows.set(false);
                planner.take_jobs(jobs, 0);
            }
            // The jobs of the page stay.
            Ok(Imported::Monitored(runs)) => {
                planner.import.give_up();
                planner.alert.set(None);
                planner.monitored.set(runs);
            }
            Ok(Imported::Columns(columns)) => {
                planner.alert.set(None);
                planner.import.unmapped.set(Some(Unmapped { name: file.clone(), columns, mistake: None }));
            }
            Ok(Imported::Lacking(Lacking { labels, needed })) => {
                planner.alert.set(None);
                planner.import.lacking.set(Some(Lacked { name: file.clone(), labels, needed, mistake: None }));
            }
            Err(error) if is_labelled => planner.import.lacking.update(|lacked| {
                if let Some(lacked) = lacked {
                    lacked.mistake = Some(format!("{}.", capitalised(&error)));
                }
            }),
            Err(error) if is_mapped => planner.import.unmapped.update(|unmapped| {
                if let Some(unmapped) = unmapped {
                    unmapped.mistake = Some(format!("{error}."));
                }
            }),
            Err(error) => {
                planner.import.give_up();
                planner.alert.set(Some(format!("{file} cannot be used: {error}.")));
            }
        }
    };
    match RunningRequest::start(READER, &Request::Import(added), bytes, told) {
        Ok(request) => planner.import.request.set_value(Some(request)),
        Err(reason) => {
            planner.import.give_up();
            planner.alert.set(Some(format!("{name} cannot be read: {reason}.")));
        }
    }
}
