//! The collector that serves the page, if one does: `GET api/v1/samples` beside it.

use std::collections::BTreeSet;

use foreglow_shared::{ReadError, Sample, read_samples};
use gloo_net::http::Request;
use web_sys::RequestCache;

const SAMPLES: &str = "./api/v1/samples";
/// Lines of one answer; a collector with more is asked again.
const PAGE: usize = 10_000;

/// What the collector says.
pub enum Collected {
    /// It has these.
    Samples(Vec<Sample>),
    /// There is none, or it has nothing yet. A page on a file host is in that place, and it is no mistake.
    Nothing,
    /// It answers something that cannot be used.
    Unusable(String),
}

/// Asks for every sample.
pub async fn samples() -> Collected {
    let mut samples: Vec<Sample> = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let after = samples.last().map(|sample| format!("&after={}", sample.id)).unwrap_or_default();
        let Some(body) = get(&format!("{SAMPLES}?limit={PAGE}{after}")).await else { break };
        // Some file hosts answer every address with a page.
        if body.trim_ascii_start().starts_with(b"<") {
            break;
        }
        let page = match read_samples(&body) {
            Ok(page) => page,
            Err(ReadError::Empty) => break,
            Err(error) => return Collected::Unusable(format!("The collector's samples cannot be read: {error}.")),
        };
        let lines = page.len();
        let new: Vec<Sample> = page.into_iter().filter(|sample| seen.insert(sample.id)).collect();
        let stuck = new.is_empty();
        samples.extend(new);
        if lines < PAGE || stuck {
            break;
        }
    }
    if samples.is_empty() { Collected::Nothing } else { Collected::Samples(samples) }
}

async fn get(address: &str) -> Option<Vec<u8>> {
    // Samples arrive while the page is open; yesterday's answer is no answer.
    let response = Request::get(address).cache(RequestCache::NoStore).send().await.ok()?;
    if !response.ok() {
        return None;
    }
    response.binary().await.ok()
}
