//! ONNX files that the user dropped or picked. A worker reads them; they never leave the browser.

use foreglow_model::NetworkSource;
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use web_sys::File;

use crate::client::{READER, RunningRequest};
use crate::data::unmeasured::costs;
use crate::state::Planner;
use crate::worker::messages::{Request, Response};

/// Whether a file is an ONNX file by its name.
pub fn is_network(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".onnx")
}

/// Reads a network and shows its costs; it replaces a network from a file of the same name. An
/// invalid file only sets the message.
pub fn read(planner: Planner, file: File) {
    let name = file.name();
    planner.networks.files.update_value(|files| {
        files.retain(|(known, _)| *known != name);
        files.push((name.clone(), file.clone()));
    });
    start(planner, name, file);
}

/// Reads the networks again with another side of the images where a file leaves it open, pixels.
pub fn with_px(planner: Planner, px: u32) {
    planner.networks.px.set(px);
    for (name, file) in planner.networks.files.get_value() {
        start(planner, name, file);
    }
}

fn start(planner: Planner, name: String, file: File) {
    let networks = planner.networks;
    let request = Request::Network(name.clone(), networks.px.get_untracked());
    let told = {
        let name = name.clone();
        move |told: Result<Response, String>| {
            let read = match told {
                Ok(Response::Network(read)) => read,
                Ok(_) => return,
                Err(reason) => Err(reason),
            };
            networks.requests.update_value(|requests| requests.retain(|(of, _)| *of != name));
            match read {
                Ok(html) => {
                    planner.alert.set(None);
                    let network = html.network.as_deref().and_then(|text| costs(&name, text));
                    if let Some(network) = network.filter(|_| untrack(|| planner.is_unmeasured())) {
                        planner.change(|state| {
                            state.unmeasured.network = NetworkSource::File(network);
                            state.unmeasured.image_px = None;
                        });
                    }
                    networks.shown.update(|shown| match shown.iter_mut().find(|(of, _)| *of == name) {
                        Some((_, earlier)) => *earlier = html,
                        None => shown.push((name.clone(), html)),
                    });
                }
                Err(error) => planner.alert.set(Some(format!("{name} cannot be used: {error}."))),
            }
        }
    };
    match RunningRequest::start(READER, &request, Some(JsValue::from(file)), told) {
        Ok(request) => networks.requests.update_value(|requests| {
            requests.retain(|(of, _)| *of != name);
            requests.push((name, request));
        }),
        Err(reason) => planner.alert.set(Some(format!("{name} cannot be read: {reason}."))),
    }
}
