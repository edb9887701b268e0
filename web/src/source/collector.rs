//! The collector that serves the page, if one does: `GET api/v1/samples` beside it.

use std::collections::BTreeSet;

use foreglow_shared::{ReadError, Sample, Uuid, read_json_lines};
use gloo_net::http::{Request, Response};
use web_sys::RequestCache;

const SAMPLES: &str = "./api/v1/samples";
/// Lines of one answer; a collector with more is asked again.
const PAGE: usize = 10_000;
/// What a collector says its samples are; a file host that answers every address with a page says something else.
const JSON_LINES: &str = "application/jsonl";

/// What the collector says.
#[derive(Default)]
pub struct Collected {
    /// Whether there is one. A page on a file host has none, and it is no mistake.
    pub is_there: bool,
    /// What it has.
    pub samples: Vec<Sample>,
    /// Why there is not more, in one sentence.
    pub error: Option<String>,
}

/// Asks for every sample that arrived after one.
pub async fn samples(after: Option<Uuid>) -> Collected {
    let mut collected = Collected::default();
    let mut seen = BTreeSet::new();
    loop {
        let last = collected.samples.last().map(|sample| sample.id).or(after);
        let after = last.map(|id| format!("&after={id}")).unwrap_or_default();
        let Some(response) = get(&format!("{SAMPLES}?limit={PAGE}{after}")).await else { break };
        if response.status() == 401 {
            collected.error = Some(
                "The collector asks for its token, which this page cannot send: open a link or a file, or start the \
                 collector on this machine without one."
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
    // Samples arrive while the page is open; yesterday's answer is no answer.
    Request::get(address).cache(RequestCache::NoStore).send().await.ok()
}
