//! Files that the user dropped or picked. They are read in a worker and never leave the browser.

use foreglow_shared::Mapping;
use js_sys::{Array, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::{File, FileList};

use crate::client::{READER, RunningRequest};
use crate::data::text::capitalised;
use crate::source::network;
use crate::state::{Lacked, OpenedFiles, Planner, Unmapped};
use crate::worker::import::{Added, Imported, Lacking};
use crate::worker::messages::{Request, Response};

/// Upper limit on the size of the files together: larger ones would not fit into the memory of the
/// worker several times over.
const MOST_BYTES: f64 = 400e6;

/// Reads files and replaces the page's jobs by their jobs, or adds their networks. Invalid files
/// only set the message.
pub fn read(planner: Planner, files: &FileList) {
    planner.import.give_up();
    let files = (0..files.length()).filter_map(|place| files.get(place));
    let (networks, files): (Vec<File>, Vec<File>) = files.partition(|file| network::is_network(&file.name()));
    networks.into_iter().for_each(|file| network::read(planner, file));
    let name = match files.as_slice() {
        [] => return,
        [file] => file.name(),
        several => format!("{} files", several.len()),
    };
    let size = files.iter().map(|file| file.size()).sum();
    take(planner, name, size, files.iter().collect());
}

/// Reads the contents of a file as [`read`] does.
pub fn read_bytes(planner: Planner, name: &str, bytes: &Uint8Array) {
    planner.import.give_up();
    take(planner, name.to_owned(), f64::from(bytes.length()), Array::of1(bytes));
}

/// Reads files of a size in bytes, unless they exceed the limit.
fn take(planner: Planner, name: String, size: f64, files: Array) {
    if size > MOST_BYTES {
        let (megabytes, most) = ((size / 1e6).round(), MOST_BYTES / 1e6);
        planner.alert.set(Some(format!(
            "{name}: {megabytes} MB, and the page reads at most {most} MB at once; choose the runs of one job, or run \
             `foreglow plan` on them."
        )));
        return;
    }
    planner.import.reading.set(Some(name.clone()));
    planner.import.files.set_value(Some(files));
    start(planner, Added { file: name, ..Added::default() });
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
    let files = planner.import.files.get_value().map(JsValue::from);
    let (is_mapped, is_labelled) = (added.mapping.is_some(), added.labels.is_some());
    let (name, file, of_jobs) = (added.file.clone(), added.file.clone(), added.clone());
    let told = move |told: Result<Response, String>| {
        planner.import.reading.set(None);
        let imported = match told {
            Ok(Response::Imported(imported)) => imported,
            Ok(_) => return,
            Err(reason) => Err(reason),
        };
        match imported {
            Ok(Imported::Jobs { jobs, notes, log_use }) => {
                let contexts = jobs.iter().map(|job| job.context.clone()).collect();
                let opened = |files| OpenedFiles { files, added: of_jobs.clone(), contexts };
                planner.import.opened.set_value(planner.import.files.get_value().map(opened));
                planner.import.give_up();
                planner.import.notes.set(notes);
                planner.import.log_use.set(log_use);
                planner.alert.set(None);
                planner.newer.set(None);
                planner.live.follows.set(false);
                planner.take_jobs(jobs, 0);
                planner.opened.update(|opened| *opened += 1);
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
            Ok(Imported::Lacking(Lacking { file, labels, needed })) => {
                planner.alert.set(None);
                planner.import.lacking.set(Some(Lacked { name: file, labels, needed, mistake: None }));
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
    match RunningRequest::start(READER, &Request::Import(added), files, told) {
        Ok(request) => planner.import.request.set_value(Some(request)),
        Err(reason) => {
            planner.import.give_up();
            planner.alert.set(Some(format!("{name} cannot be read: {reason}.")));
        }
    }
}
