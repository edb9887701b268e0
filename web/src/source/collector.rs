//! The collector that serves the page, if any: its jobs, on the same origin.

use std::time::Duration;

use foreglow_shared::Job;
use gloo_net::http::Request;
use js_sys::Promise;
use leptos::prelude::window;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen_futures::JsFuture;
use web_sys::RequestCache;

use crate::state::JobSummary;

const JOBS: &str = "./api/v1/jobs";
const RUNNING: &str = "./api/v1/running?format=text";
/// Limit on the listed jobs, those with the newest samples first.
const MOST_LISTED: usize = 200;
/// Limit on the retries of a request for the runs of a job.
const MOST_RETRIES: u32 = 3;
/// The delay of the second request doubles up to 2 to the power of this, seconds.
const MOST_DOUBLINGS: u32 = 7;
/// Limit on the `Retry-After` delay, seconds.
const LONGEST_WAIT_SECS: u64 = 300;

/// The collector's jobs.
#[derive(Deserialize)]
pub struct Listing {
    /// Id of the newest sample, after which the events continue.
    pub last_id: Option<String>,
    /// The jobs, those with the newest samples first.
    pub jobs: Vec<JobSummary>,
}

/// The runs of a job for the fit.
#[derive(Deserialize)]
pub struct Runs {
    /// The job.
    pub job: Job,
    /// Number of all its runs.
    pub runs: usize,
}

/// Why a request failed.
#[derive(Clone, Copy, Default)]
pub struct Failure {
    /// The status of the answer; 0 without an answer, or with one of a file host, which may answer
    /// every request with a page.
    pub status: u16,
    /// The retry delay in the answer, seconds.
    retry_after_secs: Option<u64>,
}

impl Failure {
    /// Whether the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        self.status == 429 || self.status >= 500
    }

    /// The delay of the next request after `failures` earlier failures.
    pub fn delay(&self, failures: u32) -> Duration {
        let secs = self.retry_after_secs.unwrap_or(1 << failures.min(MOST_DOUBLINGS));
        Duration::from_secs(secs.min(LONGEST_WAIT_SECS))
    }

    /// The reason as a clause.
    pub fn reason(&self) -> String {
        match self.status {
            0 => "the collector does not answer".into(),
            401 => "the collector asks you to sign in; reload this page".into(),
            404 => "the collector no longer has them".into(),
            status => format!("the collector answers with status {status}"),
        }
    }
}

/// Fetches the list of jobs.
///
/// # Errors
/// There is no collector, as on a file host, or it refuses.
pub async fn jobs() -> Result<Listing, Failure> {
    read(&get(&format!("{JOBS}?limit={MOST_LISTED}")).await?)
}

/// Fetches the jobs that are followed while they run, as a line of text each.
///
/// # Errors
/// There is no collector, or it refuses.
pub async fn running() -> Result<String, Failure> {
    get(RUNNING).await
}

/// Fetches the runs of a job, after a delay if the collector is busy.
///
/// # Errors
/// The collector lacks the job, or refuses.
pub async fn runs(job: &str) -> Result<Runs, Failure> {
    let address = format!("{JOBS}/{job}");
    let mut failures = 0;
    loop {
        match get(&address).await {
            Err(failure) if failure.may_pass() && failures < MOST_RETRIES => {
                pause(failure.delay(failures)).await;
                failures += 1;
            }
            told => return read(&told?),
        }
    }
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, Failure> {
    serde_json::from_str(body).map_err(|_| Failure::default())
}

async fn get(address: &str) -> Result<String, Failure> {
    // Without the cache, because samples arrive while the page is open.
    let sent = Request::get(address).cache(RequestCache::NoStore).send().await;
    let response = sent.map_err(|_| Failure::default())?;
    if response.ok() {
        return response.text().await.map_err(|_| Failure::default());
    }
    let header = |name: &str| response.headers().get(name);
    let status = response.status();
    // Some file hosts answer 403 for missing files.
    if status == 403 && header("content-type").is_none_or(|kind| !kind.contains("json")) {
        return Err(Failure::default());
    }
    Err(Failure { status, retry_after_secs: header("retry-after").and_then(|secs| secs.parse().ok()) })
}

async fn pause(delay: Duration) {
    let mut later = |done: js_sys::Function, _| {
        // Fails only on a closing page.
        let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&done, delay.as_millis() as i32);
    };
    let _ = JsFuture::from(Promise::new(&mut later)).await;
}
