//! The import of a file.

use foreglow_shared::Context;
use js_sys::{Array, Uint8Array};
use leptos::prelude::*;

use crate::client::RunningRequest;
use crate::worker::import::{Added, Columns};

/// State of the import.
#[derive(Clone, Copy)]
pub struct Import {
    /// Name of the file, while it is being read.
    pub reading: RwSignal<Option<String>>,
    /// A table of another tool whose columns the user must map.
    pub unmapped: RwSignal<Option<Unmapped>>,
    /// A log or a training run that does not tell all of its job.
    pub lacking: RwSignal<Option<Lacked>>,
    /// Samples of another page that the user has not decided about.
    pub offered: RwSignal<Option<Offered>, LocalStorage>,
    /// The files, or the bytes of one.
    pub files: StoredValue<Option<Array>, LocalStorage>,
    /// The files that the page's jobs are from.
    pub opened: StoredValue<Option<OpenedFiles>, LocalStorage>,
    /// Remarks on the files that were read last.
    pub notes: RwSignal<Vec<String>>,
    /// What the runs of event logs used, as HTML; empty without any.
    pub log_use: RwSignal<String>,
    /// The worker that reads it.
    pub request: StoredValue<Option<RunningRequest>, LocalStorage>,
}

/// Files whose jobs the page has taken.
#[derive(Clone, Debug)]
pub struct OpenedFiles {
    /// The files, or the bytes of one.
    pub files: Array,
    /// What the user added to them.
    pub added: Added,
    /// Contexts of their jobs.
    pub contexts: Vec<Context>,
}

/// A table of another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmapped {
    /// Name of the file.
    pub name: String,
    /// The columns, the first rows and the current mapping.
    pub columns: Columns,
    /// Why the current mapping does not work.
    pub mistake: Option<String>,
}

/// A log or a training run that does not tell all of its job.
#[derive(Clone, Debug, PartialEq)]
pub struct Lacked {
    /// Name of the file.
    pub name: String,
    /// Names and values of the labels that the user may tell.
    pub labels: Vec<(String, String)>,
    /// Names of those without which it cannot be used.
    pub needed: Vec<String>,
    /// Why the file cannot be used with these values.
    pub mistake: Option<String>,
}

/// Samples that another page sends.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Origin of the page; `null` for one without, such as a local file.
    pub origin: String,
    /// Name of the samples, as the page gives it.
    pub name: String,
    /// The contents.
    pub bytes: Uint8Array,
}

impl Import {
    /// No import in progress.
    pub fn new() -> Self {
        Self {
            reading: RwSignal::new(None),
            unmapped: RwSignal::new(None),
            lacking: RwSignal::new(None),
            offered: RwSignal::new_local(None),
            files: StoredValue::new_local(None),
            opened: StoredValue::new_local(None),
            notes: RwSignal::new(Vec::new()),
            log_use: RwSignal::new(String::new()),
            request: StoredValue::new_local(None),
        }
    }

    /// Offers samples to the user. Those offered before stay until the user decides, so that a
    /// click accepts what the user read.
    pub fn offer(&self, offered: Offered) {
        self.offered.update(|waiting| {
            waiting.get_or_insert(offered);
        });
    }

    /// Cancels the import; the page keeps its jobs.
    pub fn give_up(&self) {
        self.request.set_value(None);
        self.files.set_value(None);
        self.notes.set(Vec::new());
        self.reading.set(None);
        self.unmapped.set(None);
        self.lacking.set(None);
    }
}
