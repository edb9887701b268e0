//! Upload of samples to a collector. Samples that cannot be sent stay in the store until the next
//! upload.

use std::time::Duration;

use anyhow::Context as _;
use foreglow_exit::unusable;
use foreglow_shared::{Sample, write_jsonl};

use crate::address as grammar;
use crate::address::is_loopback;
use crate::store::Store;
use crate::{MAX_BODY_BYTES, Receipt};

/// A sample has about half a KiB, so this stays far below the size limit of a request.
const SAMPLES_PER_REQUEST: usize = 500;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const PATH: &str = "/api/v1/samples";

/// A collector to send to.
#[derive(Clone, Debug)]
pub struct Target {
    url: String,
    token: Option<String>,
}

impl Target {
    /// Creates a target from a URL, such as `http://127.0.0.1:8787`, and an optional token.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn new(url: &str, token: Option<String>) -> anyhow::Result<Self> {
        let url = grammar::url(url).map_err(unusable)?;
        Ok(Self { url, token: token.filter(|token| !token.is_empty()) })
    }

    /// Sends these samples and those still waiting for this collector. They stay in the store until
    /// the collector has acknowledged them, so that no failure loses a sample.
    ///
    /// # Errors
    /// The collector is down or rejects the request; the message says that the samples are kept.
    pub fn send(&self, store: &mut Store, samples: &[Sample]) -> anyhow::Result<Receipt> {
        store.keep_for(&self.url, samples).context("the samples could not be kept before they are sent")?;
        let waiting = store.waiting_for(&self.url)?;
        let mut total = Receipt::default();
        let mut sent = 0;
        for batch in batches(&waiting) {
            let receipt = self.post(batch).with_context(|| {
                format!(
                    "{} of {} samples were not sent; they are kept in {} and sent by the next `foreglow upload --to {}` \
                     (`foreglow upload --waiting` lists such samples)",
                    waiting.len() - sent,
                    waiting.len(),
                    store.path().display(),
                    self.url
                )
            })?;
            store.sent_to(&self.url, batch)?;
            total.new += receipt.new;
            total.known += receipt.known;
            let renumber = |mut rejection: crate::Rejection| {
                rejection.line += sent;
                rejection
            };
            total.rejected.extend(receipt.rejected.into_iter().map(renumber));
            total.rejected_more += receipt.rejected_more;
            sent += batch.len();
        }
        Ok(total)
    }

    /// Returns the address of the collector as stored.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn post(&self, samples: &[Sample]) -> anyhow::Result<Receipt> {
        let mut request = self.agent().post(format!("{}{PATH}", self.url)).content_type("application/jsonl");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut response = request.send(write_jsonl(samples)).map_err(|error| {
            anyhow::anyhow!("the collector at {} cannot be reached ({error}); start it with `foreglow serve`", self.url)
        })?;
        let status = response.status();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        if matches!(status.as_u16(), 200 | 400)
            && let Ok(receipt) = serde_json::from_str::<Receipt>(&text)
        {
            return Ok(receipt);
        }
        let refusal = serde_json::from_str::<serde_json::Value>(&text).ok();
        match refusal.as_ref().and_then(|refusal| refusal["error"].as_str()) {
            Some(sentence) => anyhow::bail!("the collector at {} refused ({status}): {sentence}", self.url),
            None => anyhow::bail!("{} does not answer as a collector ({status}); check the address", self.url),
        }
    }

    fn agent(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT));
        // A proxy would resolve a loopback address to its own machine.
        let config = if self.is_loopback() { config.proxy(None) } else { config };
        config.build().new_agent()
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.url)
    }
}

/// Divides the samples into requests below the size limit.
fn batches(samples: &[Sample]) -> Vec<&[Sample]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, sample) in samples.iter().enumerate() {
        let length = write_jsonl([sample]).len();
        if index > start && (index - start == SAMPLES_PER_REQUEST || bytes + length > MAX_BODY_BYTES) {
            batches.push(&samples[start..index]);
            (start, bytes) = (index, 0);
        }
        bytes += length;
    }
    if start < samples.len() {
        batches.push(&samples[start..]);
    }
    batches
}

/// Sends samples to the collector at `url` with the token in `FOREGLOW_TOKEN`, and prints the
/// result to standard error. Samples that cannot be sent stay in the default store until the next
/// upload.
///
/// # Errors
/// As for [`Target::send`], or the collector rejects samples.
pub fn send_or_keep(url: &str, samples: &[Sample]) -> anyhow::Result<()> {
    let target = Target::new(url, std::env::var("FOREGLOW_TOKEN").ok())?;
    let receipt = target.send(&mut Store::open(None)?, samples)?;
    eprintln!("{}", summary(&receipt, url));
    all_accepted(&receipt)
}

/// Returns a line with the result of an upload.
pub fn summary(receipt: &Receipt, url: &str) -> String {
    let rejected = receipt.rejected.len() + receipt.rejected_more;
    match receipt.new + receipt.known + rejected {
        0 => format!("nothing was sent: no samples wait for {url}"),
        _ => format!("{url} has the samples: {} new, {} known, {rejected} rejected", receipt.new, receipt.known),
    }
}

/// Fails if the collector rejected a sample.
///
/// # Errors
/// Samples were rejected; the message has their number and the first reason.
pub fn all_accepted(receipt: &Receipt) -> anyhow::Result<()> {
    match receipt.rejected.first() {
        None => Ok(()),
        Some(first) => anyhow::bail!(
            "the collector rejected {} of the samples; the first: {}",
            receipt.rejected.len() + receipt.rejected_more,
            first.error
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_normalised_and_invalid_ones_rejected() {
        for url in ["http://127.0.0.1:8787", "127.0.0.1:8787/", " http://127.0.0.1:8787/#v1.abc"] {
            assert_eq!(Target::new(url, None).unwrap().url, "http://127.0.0.1:8787");
        }
        for url in ["", "nonsense", "http://", "ftp://a", "http://a b"] {
            let error = Target::new(url, None).unwrap_err().to_string();
            assert!(error.contains("is not the address of a collector"), "{url}: {error}");
        }
    }

    #[test]
    fn a_loopback_collector_is_reached_without_a_proxy() {
        let is_loopback = |url| Target::new(url, None).unwrap().is_loopback();
        assert!(is_loopback("http://127.0.0.1:1") && is_loopback("http://[::1]:1") && is_loopback("http://localhost"));
        assert!(!is_loopback("http://example.org"));
    }
}
