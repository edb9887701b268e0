//! The samples of the collector that serves the page, read by a worker, which may wait for them.

use foreglow_shared::{Sample, parse_line};
use wasm_bindgen::JsValue;
use web_sys::XmlHttpRequest;

/// Samples of a request.
const PAGE: usize = 10_000;
/// Most samples that are read: more would not fit into the memory of the worker beside the fits.
pub const MOST: usize = 50_000;

/// Returns the samples of the collector, at most those of them that arrived first. Those that it
/// refuses to send are left out.
pub fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut after = String::new();
    while samples.len() < MOST {
        let text = get(&format!("./api/v1/samples?limit={PAGE}{after}")).unwrap_or_default();
        let known = samples.len();
        // A line outside of the limits of this version is left out.
        samples.extend(text.lines().filter_map(|line| parse_line(line).ok()));
        match samples.last() {
            Some(last) if samples.len() > known && text.lines().count() == PAGE => {
                after = format!("&after={}", last.id)
            }
            _ => break,
        }
    }
    samples.truncate(MOST);
    samples
}

fn get(address: &str) -> Result<String, JsValue> {
    let request = XmlHttpRequest::new()?;
    request.open_with_async("GET", address, false)?;
    request.send()?;
    if request.status()? != 200 {
        return Err(JsValue::NULL);
    }
    Ok(request.response_text()?.unwrap_or_default())
}
