//! The collector that serves the page, if any: its jobs, on the same origin.

use foreglow_shared::Job;
use gloo_net::http::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use web_sys::RequestCache;

use crate::state::Listed;

const JOBS: &str = "./api/v1/jobs";
/// Jobs that the page offers, those with the newest samples first.
const MOST_LISTED: usize = 200;

/// The collector's jobs.
#[derive(Deserialize)]
pub struct Listing {
    /// Id of the newest sample, after which the events continue.
    pub last_id: Option<String>,
    /// The jobs, those with the newest samples first.
    pub jobs: Vec<Listed>,
}

/// The runs of a job that are fitted.
#[derive(Deserialize)]
pub struct Runs {
    /// The job.
    pub job: Job,
    /// Number of all its runs.
    pub runs: usize,
}

/// Fetches the list of jobs.
///
/// # Errors
/// There is no collector, as on a file host, or it does not answer; one sentence if the user can
/// change that.
pub async fn jobs() -> Result<Listing, Option<String>> {
    get(&format!("{JOBS}?limit={MOST_LISTED}")).await.map_err(|status| {
        (status == 401).then(|| {
            "The collector shows its samples to those who have signed in: open its address without index.html, or open a \
             link or a file here."
                .into()
        })
    })
}

/// Fetches the runs of a job; `None` if the collector does not have it.
pub async fn runs(job: &str) -> Option<Runs> {
    get(&format!("{JOBS}/{job}")).await.ok()
}

/// Fetches JSON. An error has the status, or 0 without an answer or with one of a file host, which
/// may answer every request with a page.
async fn get<T: DeserializeOwned>(address: &str) -> Result<T, u16> {
    // Samples arrive while the page is open, so that a cached response is stale.
    let response = Request::get(address).cache(RequestCache::NoStore).send().await.map_err(|_| 0_u16)?;
    if !response.ok() {
        return Err(response.status());
    }
    let body = response.text().await.map_err(|_| 0_u16)?;
    serde_json::from_str(&body).map_err(|_| 0)
}
