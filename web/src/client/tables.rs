//! The tables of public measurements, fetched when the first question without samples is asked.

use js_sys::Uint8Array;

/// The compressed tables.
const TABLES: &str = "./public-measurements.bin";

/// Fetches the tables.
///
/// # Errors
/// The server does not respond; one sentence.
pub async fn fetch() -> Result<Uint8Array, String> {
    let response = gloo_net::http::Request::get(TABLES).send().await.ok().filter(gloo_net::http::Response::ok);
    let bytes = match response {
        Some(response) => response.binary().await.ok(),
        None => None,
    };
    let bytes = bytes.ok_or("the public measurements cannot be loaded: the server of this page does not respond")?;
    Ok(Uint8Array::from(bytes.as_slice()))
}
