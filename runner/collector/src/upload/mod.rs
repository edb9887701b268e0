//! Upload of samples to a collector. Samples that cannot be sent stay in the store until the next
//! upload; rejected ones stay there with the collector's reason.

mod background;
mod follower;
mod post;
mod receipt;
mod trust;

use anyhow::Context as _;
use foreglow_exit::{note, unusable};
use foreglow_shared::{Sample, format_count, write_jsonl};
use ureq::tls::RootCerts;

pub use self::background::Background;
pub use self::follower::Follower;
use self::post::Policy;
use crate::address;
use crate::{MAX_BODY_BYTES, Receipt};
use foreglow_store::Store;

/// A sample has about half a KiB, so this stays far below the size limit of a request.
const SAMPLES_PER_REQUEST: usize = 500;

/// A collector to send to.
#[derive(Clone, Debug)]
pub struct Target {
    url: String,
    token: Option<String>,
    policy: Policy,
    /// Authorities of `FOREGLOW_CA`; `None` for the public ones.
    authorities: Option<RootCerts>,
}

impl Target {
    /// Creates a target from a URL, such as `http://127.0.0.1:8787`, and an optional token.
    ///
    /// # Errors
    /// The URL is invalid, or the file `FOREGLOW_CA` has no certificate.
    pub fn new(url: &str, token: Option<String>) -> anyhow::Result<Self> {
        let url = address::url(url).map_err(unusable)?;
        let authorities = trust::authorities()?;
        let token = token.filter(|token| !token.is_empty());
        if token.is_some() && is_readable(&url) {
            note(&format!("warning: others in the network can read the token that is sent to {url}; use https://"));
        }
        Ok(Self { url, token, policy: Policy::PATIENT, authorities })
    }

    /// Sends these samples, even if the collector rejected them before, and those queued for this
    /// collector. They stay in the store until the collector has acknowledged them, so that no
    /// failure loses a sample.
    ///
    /// # Errors
    /// The collector is down or rejects the request; the message says that the samples are kept.
    pub fn send(&self, store: &mut Store, samples: &[Sample]) -> anyhow::Result<Receipt> {
        store.keep_in_place(&self.url, samples).context("the samples could not be kept before they are sent")?;
        self.send_waiting(store)
    }

    /// Sends the samples that wait for this collector.
    ///
    /// # Errors
    /// As for [`Target::send`].
    pub fn send_waiting(&self, store: &mut Store) -> anyhow::Result<Receipt> {
        let waiting = store.waiting_for(&self.url)?;
        let mut total = Receipt::default();
        let mut sent = 0;
        for batch in batches(&waiting) {
            let receipt = self.post(batch).with_context(|| self.kept(store, waiting.len() - sent, waiting.len()))?;
            let (accepted, rejected) = receipt::verdicts(&receipt, batch);
            store.settle(&self.url, &accepted, &rejected)?;
            receipt::add(&mut total, receipt, sent);
            sent += batch.len();
        }
        Ok(total)
    }

    /// Returns the address of the collector in its stored form.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn kept(&self, store: &Store, left: usize, all: usize) -> String {
        let (what, kept) = match all {
            1 => ("the sample was".to_owned(), "it is"),
            _ => (format!("{left} of {all} samples were"), "they are"),
        };
        format!(
            "{what} not sent; {kept} kept in {} and sent by the next `foreglow upload --to {}` (`foreglow upload \
             --waiting` lists such samples)",
            store.location(),
            self.url
        )
    }
}

/// Whether what is sent to a URL crosses a network unencrypted.
fn is_readable(url: &str) -> bool {
    url.starts_with("http://") && !address::is_loopback(url)
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

/// Returns a line with the result of an upload.
pub fn summary(receipt: &Receipt, url: &str) -> String {
    let rejected = receipt.not_stored();
    match receipt.new + receipt.known + rejected {
        0 => format!("nothing was sent: no samples wait for {url}"),
        _ => format!("{url} has the samples: {} new, {} known, {rejected} rejected", receipt.new, receipt.known),
    }
}

/// Fails if the collector rejected a sample.
///
/// # Errors
/// Samples were rejected; the message has their number and the first reason.
pub fn all_accepted(receipt: &Receipt, url: &str) -> anyhow::Result<()> {
    match receipt.rejected.iter().chain(&receipt.conflicts).next() {
        None => Ok(()),
        Some(first) => anyhow::bail!(
            "the collector rejected {}; the first: {}. They are kept: `foreglow upload --rejected` lists them, `foreglow \
             upload --to {url} --again` sends them once more, and `--discard-rejected {url}` discards them",
            format_count(receipt.not_stored(), "sample"),
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
            assert!(error.contains("is not an address"), "{url}: {error}");
        }
    }

    #[test]
    fn what_is_sent_is_readable_only_on_a_network_without_tls() {
        for url in
            ["http://team.example.org", "http://10.0.0.1:8787", "http://[2001:db8::1]", "http://localhost.example.org"]
        {
            assert!(is_readable(url), "{url}");
        }
        for url in ["https://team.example.org", "http://127.0.0.1:8787", "http://[::1]:1", "http://localhost:8787"] {
            assert!(!is_readable(url), "{url}");
        }
    }

    #[test]
    fn a_loopback_collector_is_reached_without_a_proxy() {
        use crate::address::is_loopback;
        assert!(is_loopback("http://127.0.0.1:1") && is_loopback("http://[::1]:1") && is_loopback("http://localhost"));
        assert!(!is_loopback("http://example.org"));
    }
}
