//! One request to a collector, with retries and increasing delays after temporary failures.

use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use foreglow_shared::{Sample, write_jsonl};
use rustls::CertificateError;
use ureq::http::{HeaderMap, StatusCode, header};
use ureq::tls::TlsConfig;
use ureq::typestate::WithBody;

use super::Target;
use super::receipt::accounts_for;
use crate::address::is_loopback;
use crate::{FollowedJob, Receipt};

const PATH: &str = "/api/v1/samples";
const RUNNING: &str = "/api/v1/running";
/// Size from which a body is sent only after the collector has accepted the head, so that a
/// refusal, such as of a wrong token, can be read.
const ANNOUNCED_BYTES: usize = 32 << 10;
/// Limit on the `Retry-After` delay for a waiting user.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Limit on the `Retry-After` delay; longer ones are reduced to it.
const LONGEST_DELAY: Duration = Duration::from_secs(600);

/// Retry policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    connect_timeout: Duration,
    answer_timeout: Duration,
    attempts: u32,
    /// Delay before the second attempt; each further one is twice as long.
    first_delay: Duration,
}

impl Policy {
    /// Policy for a waiting user.
    pub(super) const PATIENT: Self = Self {
        connect_timeout: Duration::from_secs(5),
        answer_timeout: Duration::from_secs(30),
        attempts: 3,
        first_delay: Duration::from_millis(500),
    };
    /// Policy for the background thread, which retries by itself.
    pub(super) const BRIEF: Self = Self {
        connect_timeout: Duration::from_secs(3),
        answer_timeout: Duration::from_secs(10),
        attempts: 1,
        first_delay: Duration::ZERO,
    };
}

/// A failure of a request.
struct Failure {
    error: anyhow::Error,
    /// Whether the same request may succeed later.
    may_pass: bool,
}

/// A refusal with the collector's retry delay.
#[derive(Debug)]
struct Delayed {
    sentence: String,
    retry_after: Duration,
}

impl fmt::Display for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Delayed {}

/// Returns the retry delay in an error of [`Target::post`].
pub(super) fn retry_after(error: &anyhow::Error) -> Option<Duration> {
    error.downcast_ref::<Delayed>().map(|delayed| delayed.retry_after)
}

impl Target {
    /// Returns this target with short timeouts and a single attempt.
    pub(super) fn brief(self) -> Self {
        Self { policy: Policy::BRIEF, ..self }
    }

    /// Posts samples, with retries after temporary failures.
    ///
    /// # Errors
    /// The last failure.
    pub(super) fn post(&self, samples: &[Sample]) -> anyhow::Result<Receipt> {
        let mut delay = self.policy.first_delay;
        for _ in 1..self.policy.attempts {
            match self.post_once(samples) {
                Ok(receipt) => return Ok(receipt),
                Err(failure) if failure.may_pass => {
                    std::thread::sleep(retry_after(&failure.error).map_or(delay, |asked| asked.min(LONGEST_WAIT)));
                    delay *= 2;
                }
                Err(failure) => return Err(failure.error),
            }
        }
        self.post_once(samples).map_err(|failure| failure.error)
    }

    /// Tells the state of a job, once.
    ///
    /// # Errors
    /// The collector is down or refuses.
    pub(super) fn tell(&self, job: &FollowedJob) -> anyhow::Result<()> {
        let request = self.request(RUNNING).content_type("application/json");
        let sent = request.send(serde_json::to_string(job)?);
        let mut response = sent.map_err(|error| unreached(&self.url, &error).error)?;
        let text = response.body_mut().read_to_string().unwrap_or_default();
        anyhow::ensure!(response.status().is_success(), self.refused(response.status(), &text));
        Ok(())
    }

    fn request(&self, path: &str) -> ureq::RequestBuilder<WithBody> {
        let request = self.agent().post(format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    /// Returns the sentence about an answer that is no success.
    fn refused(&self, status: StatusCode, text: &str) -> String {
        let url = &self.url;
        let refusal = serde_json::from_str::<serde_json::Value>(text).ok();
        match refusal.as_ref().and_then(|refusal| refusal["error"].as_str()) {
            Some(sentence) => format!("the collector at {url} refused ({status}): {sentence}"),
            None => format!("{url} does not answer as a collector ({status}); check the address"),
        }
    }

    fn post_once(&self, samples: &[Sample]) -> Result<Receipt, Failure> {
        let body = write_jsonl(samples);
        let mut request = self.request(PATH).content_type("application/jsonl");
        if body.len() >= ANNOUNCED_BYTES {
            request = request.header(header::EXPECT, "100-continue");
        }
        let url = &self.url;
        let mut response = request.send(body).map_err(|error| unreached(url, &error))?;
        let status = response.status();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        let lasting = |error: anyhow::Error| Failure { error, may_pass: false };
        if matches!(status.as_u16(), 200 | 400)
            && let Ok(receipt) = serde_json::from_str::<Receipt>(&text)
        {
            return match accounts_for(&receipt, samples.len()) {
                true => Ok(receipt),
                false => Err(lasting(anyhow::anyhow!(
                    "{url} answered with a receipt that does not match the samples that were sent; check the address"
                ))),
            };
        }
        let sentence = self.refused(status, &text);
        let may_pass = matches!(status.as_u16(), 408 | 429 | 500 | 502..=504);
        let error = match asked_delay(response.headers()).filter(|_| may_pass) {
            Some(retry_after) => anyhow::Error::new(Delayed { sentence, retry_after }),
            None => anyhow::Error::msg(sentence),
        };
        Err(Failure { error, may_pass })
    }

    fn agent(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(self.policy.connect_timeout))
            .timeout_global(Some(self.policy.answer_timeout));
        // For a proxy, a loopback address would be the proxy's machine.
        let config = if is_loopback(&self.url) { config.proxy(None) } else { config };
        let config = match &self.authorities {
            Some(authorities) => config.tls_config(TlsConfig::builder().root_certs(authorities.clone()).build()),
            None => config,
        };
        config.build().new_agent()
    }
}

/// Returns the failure of a request without an answer, with advice.
fn unreached(url: &str, error: &ureq::Error) -> Failure {
    let io = match error {
        ureq::Error::Io(error) => Some(error),
        _ => None,
    };
    let tls = match error {
        ureq::Error::Rustls(error) => Some(error),
        _ => io.and_then(|error| error.get_ref()?.downcast_ref::<rustls::Error>()),
    };
    let is_cut = io.is_some_and(|error| matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof));
    let (sentence, may_pass) = match tls {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => (
            format!(
                "the certificate of the collector at {url} is from an authority that is not trusted; set FOREGLOW_CA to \
                 the file with the certificate of its authority"
            ),
            false,
        ),
        Some(rustls::Error::InvalidCertificate(_)) => (
            format!(
                "the certificate of the collector at {url} is not valid ({error}); check its host name and its dates"
            ),
            false,
        ),
        _ if url.starts_with("http://") && (is_cut || matches!(error, ureq::Error::Protocol(_))) => (
            format!("the collector at {url} does not answer in HTTP ({error}); if it has a certificate, use https://"),
            true,
        ),
        _ => (format!("the collector at {url} cannot be reached ({error}); start it with `foreglow serve`"), true),
    };
    Failure { error: anyhow::Error::msg(sentence), may_pass }
}

/// Returns the retry delay of an answer, if it is in seconds; a date is ignored.
fn asked_delay(headers: &HeaderMap) -> Option<Duration> {
    let secs = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(secs).min(LONGEST_DELAY))
}
