//! The networks of ONNX files that the user dropped or picked.

use leptos::prelude::*;
use web_sys::File;

use crate::client::RunningRequest;
use crate::worker::network::NetworkHtml;

/// Side of the images of a network whose file leaves it open, until the user changes it, pixels.
const USUAL_PX: u32 = 224;

/// The networks of the page.
#[derive(Clone, Copy)]
pub struct Networks {
    /// The HTML of each network, by the name of its file.
    pub shown: RwSignal<Vec<(String, NetworkHtml)>>,
    /// Side of the images where a file leaves it open, pixels.
    pub px: RwSignal<u32>,
    /// The files, by their names.
    pub files: StoredValue<Vec<(String, File)>, LocalStorage>,
    /// The workers that read them, by the names of the files.
    pub requests: StoredValue<Vec<(String, RunningRequest)>, LocalStorage>,
}

impl Networks {
    /// No networks.
    pub fn new() -> Self {
        Self {
            shown: RwSignal::new(Vec::new()),
            px: RwSignal::new(USUAL_PX),
            files: StoredValue::new_local(Vec::new()),
            requests: StoredValue::new_local(Vec::new()),
        }
    }

    /// Removes all networks.
    pub fn clear(&self) {
        self.requests.set_value(Vec::new());
        self.files.set_value(Vec::new());
        self.shown.set(Vec::new());
    }
}
