//! Counts requests and unknown tokens, and refuses those above a limit.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::client::Client;
use crate::log::Entry;
use crate::{Shared, refusal};

/// Counts a request of a token.
///
/// # Errors
/// The refusal, if the token has sent too many.
pub(super) fn count(shared: &Shared, client: &Client) -> Result<(), Box<Response>> {
    let Client::Token { name, per_minute: Some(per_minute), .. } = client else { return Ok(()) };
    shared.gate.rates.take(name, *per_minute, Instant::now()).map_err(|delay| {
        let sentence = format!("the token {name} may send {per_minute} requests per minute; send it again later");
        Box::new(too_many(delay, sentence))
    })
}

/// Counts an unknown token of an address.
///
/// # Errors
/// The refusal, if the address has sent too many.
pub(super) fn count_unknown(shared: &Shared, entry: &Entry) -> Result<(), Box<Response>> {
    shared.metrics.unknown_tokens.fetch_add(1, Ordering::Relaxed);
    shared.gate.unknown.count(&entry.holder(), Instant::now()).map_err(|delay| {
        let sentence = format!("{} has sent too many unknown tokens; send a valid one later", entry.holder());
        Box::new(too_many(delay, sentence))
    })
}

fn too_many(delay: Duration, sentence: String) -> Response {
    let secs = delay.as_secs_f64().ceil().max(1.0).to_string();
    ([(header::RETRY_AFTER, secs)], refusal(StatusCode::TOO_MANY_REQUESTS, sentence)).into_response()
}
