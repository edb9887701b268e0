//! The collector that serves the page, if any: `GET api/v1/samples` on the same origin.

use std::collections::BTreeSet;

use foreglow_shared::{ReadError, Sample, Uuid, read_json_lines};
use gloo_net::http::{Request, Response};
use web_sys::RequestCache;

const SAMPLES: &str = "./api/v1/samples";
/// Samples per response; the page requests more until a response is shorter.
const PAGE: usize = 10_000;
/// The collector's content type. It tells a collector from a file host that answers every request
/// with a page.
const JSON_LINES: &str = "application/jsonl";

/// The collector's response.
#[derive(Default)]
pub struct Collected {
    /// Whether a collector exists. A page on a file host has none, which is not an error.
    pub is_there: bool,
    /// The samples received.
    pub samples: Vec<Sample>,
    /// Why samples are missing, in one sentence.
    pub error: Option<String>,
}

/// Fetches all samples that arrived after the given one.
pub async fn samples(after: Option<Uuid>) -> Collected {
    let mut collected = Collected::default();
    let mut seen = BTreeSet::new();
    loop {
        let last = collected.samples.last().map(|sample| sample.id).or(after);
        let after = last.map(|id| format!("&after={id}")).unwrap_or_default();
        let Some(response) = get(&format!("{SAMPLES}?limit={PAGE}{after}")).await else { break };
        if response.status() == 401 {
            collected.error = Some(
                "The collector shows its samples to those who have signed in: open its address without index.html, or \
                 open a link or a file here."
                    .into(),
            );
            break;
        }
        let is_ours = response.headers().get("content-type").is_some_and(|kind| kind.starts_with(JSON_LINES));
        if !response.ok() || !is_ours {
            break;
        }
        collected.is_there = true;
        let Ok(body) = response.text().await else { break };
        let page = match read_json_lines(&body) {
            Ok(page) => page,
            Err(ReadError::Empty) => break,
            Err(error) => {
                collected.error = Some(format!("The collector's samples cannot be read: {error}."));
                break;
            }
        };
        let lines = page.len();
        let new: Vec<Sample> = page.into_iter().filter(|sample| seen.insert(sample.id)).collect();
        let stuck = new.is_empty();
        collected.samples.extend(new);
        if lines < PAGE || stuck {
            break;
        }
    }
    collected
}

async fn get(address: &str) -> Option<Response> {
    // Samples arrive while the page is open, so that a cached response is stale.
    Request::get(address).cache(RequestCache::NoStore).send().await.ok()
}
