//! The tables of public measurements, fetched when a question without samples needs them.

use js_sys::Uint8Array;

/// The tables of the usual networks, and those of all.
const USUAL: &str = "./public-measurements.bin";
const ALL: &str = "./public-networks.bin";

/// Fetches the tables of the usual networks, or of all.
///
/// # Errors
/// The server does not respond; one sentence.
pub async fn fetch(all: bool) -> Result<Uint8Array, String> {
    let response = gloo_net::http::Request::get(if all { ALL } else { USUAL }).send().await.ok();
    let bytes = match response.filter(gloo_net::http::Response::ok) {
        Some(response) => response.binary().await.ok(),
        None => None,
    };
    let bytes = bytes.ok_or("the public measurements cannot be loaded: the server of this page does not respond")?;
    Ok(Uint8Array::from(bytes.as_slice()))
}
