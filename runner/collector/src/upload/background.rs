//! Upload on a background thread, so that a slow collector does not slow down runs.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_exit::note;
use foreglow_shared::Sample;

use super::post::retry_after;
use super::{Target, all_accepted, summary};
use crate::Receipt;
use foreglow_store::Store;

/// Delay after the first failure; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// Time limit for uploading the last samples after the last run.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A thread that sends samples while others are measured. Each sample is on disk before the thread
/// is notified, so that a killed process loses none.
pub struct Background {
    target: Target,
    store: Store,
    wake: Sender<()>,
    result: Receiver<Outcome>,
}

/// Result of the upload of all samples.
struct Outcome {
    receipt: Receipt,
    /// The failure of the last attempt.
    failure: Option<anyhow::Error>,
}

impl Background {
    /// Starts the thread for the collector at `url`, with the token of the environment.
    ///
    /// # Errors
    /// The URL or the token's file is invalid, or the store that keeps unsent samples cannot be
    /// opened.
    pub fn start(url: &str) -> anyhow::Result<Self> {
        let target = Target::new(url, foreglow_store::token::from_environment()?)?.brief();
        let (store, own) = (Store::open(None)?, Store::open(None)?);
        let (wake, woken) = channel();
        let (ended, result) = channel();
        let sender = target.clone();
        std::thread::Builder::new()
            .name("upload".into())
            .spawn(move || {
                // Without a receiver the command has already ended.
                let _ = ended.send(send_all(&sender, own, &woken));
            })
            .context("the thread that uploads samples cannot be started")?;
        Ok(Self { target, store, wake, result })
    }

    /// Queues a sample on disk and notifies the thread.
    ///
    /// # Errors
    /// The sample cannot be stored.
    pub fn send(&mut self, sample: &Sample) -> anyhow::Result<()> {
        self.store
            .keep_for(self.target.url(), std::slice::from_ref(sample))
            .context("the sample could not be kept before it is sent")?;
        // Cannot fail, because the thread outlives this handle.
        let _ = self.wake.send(());
        Ok(())
    }

    /// Waits a few seconds for the last samples, and reports the result.
    pub fn finish(self) {
        let Self { target, store, wake, result } = self;
        drop(wake);
        match result.recv_timeout(LAST_WAIT) {
            Ok(Outcome { receipt, failure: None }) => {
                note(&summary(&receipt, target.url()));
                if let Err(error) = all_accepted(&receipt, target.url()) {
                    note(&format!("warning: {error:#}"));
                }
            }
            Ok(Outcome { failure: Some(error), .. }) => note(&format!("warning: {error:#}")),
            Err(_) => {
                let waiting = store.waiting_for(target.url()).map_or(0, |samples| samples.len());
                note(&format!("warning: the collector is slow; {}", target.kept(&store, waiting, waiting)));
            }
        }
    }
}

/// Sends the queued samples whenever one arrives, and once more at the end, but never before the
/// delay that the collector requested.
fn send_all(target: &Target, mut store: Store, woken: &Receiver<()>) -> Outcome {
    let mut outcome = Outcome { receipt: Receipt::default(), failure: None };
    let mut delay = FIRST_DELAY;
    let mut not_before: Option<Instant> = None;
    let mut asked_until: Option<Instant> = None;
    loop {
        let has_ended = wait(woken, not_before);
        let asked = asked_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if asked > LAST_WAIT {
            return outcome;
        }
        std::thread::sleep(asked);
        match target.send_waiting(&mut store) {
            Ok(receipt) => {
                let sent = outcome.receipt.new + outcome.receipt.known + outcome.receipt.not_stored();
                super::receipt::add(&mut outcome.receipt, receipt, sent);
                (outcome.failure, not_before, delay) = (None, None, FIRST_DELAY);
                asked_until = None;
            }
            Err(error) => {
                let asked = retry_after(&error);
                outcome.failure = Some(error);
                asked_until = asked.map(|asked| Instant::now() + asked);
                not_before = Some(Instant::now() + asked.map_or(delay, |asked| asked.max(delay)));
                delay = (delay * 2).min(LONGEST_DELAY);
            }
        }
        if has_ended {
            return outcome;
        }
    }
}

/// Waits for a sample, or until the next attempt after a failure; returns whether there will be no
/// more samples.
fn wait(woken: &Receiver<()>, not_before: Option<Instant>) -> bool {
    let Some(not_before) = not_before else {
        let has_ended = woken.recv().is_err();
        while woken.try_recv().is_ok() {}
        return has_ended;
    };
    loop {
        match woken.recv_timeout(not_before.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::fixture::sample;

    /// Answers the first request with 503 and this delay, and the others with a receipt; sends the
    /// time of each.
    fn busy_at_first(retry_after_secs: u64) -> (String, Receiver<Instant>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (times, asked) = channel();
        let receipt = r#"{"new":1,"known":0,"rejected":[]}"#;
        let answers = [
            format!("503 Service Unavailable\r\nretry-after: {retry_after_secs}\r\ncontent-length: 2\r\n\r\n{{}}"),
            format!("200 OK\r\ncontent-length: {}\r\n\r\n{receipt}", receipt.len()),
        ];
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                times.send(Instant::now()).unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"}\n") {
                    let mut part = [0; 1 << 12];
                    let read = stream.read(&mut part).unwrap();
                    request.extend_from_slice(&part[..read]);
                }
                stream
                    .write_all(format!("HTTP/1.1 {answer}").replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes())
                    .unwrap();
            }
        });
        (url, asked)
    }

    /// Sends a sample in the background, and ends after this time.
    fn send(url: &str, ends_after: Duration) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("samples.sqlite").into();
        let target = Target::new(url, None).unwrap().brief();
        let (mut store, own) = (Store::open(Some(&location)).unwrap(), Store::open(Some(&location)).unwrap());
        let (wake, woken) = channel();
        let sender = std::thread::spawn({
            let target = target.clone();
            move || send_all(&target, own, &woken)
        });
        store.keep_for(target.url(), &[sample(1)]).unwrap();
        wake.send(()).unwrap();
        std::thread::sleep(ends_after);
        drop(wake);
        sender.join().unwrap()
    }

    #[test]
    fn the_background_waits_for_as_long_as_a_busy_collector_asks() {
        let (url, asked) = busy_at_first(2);
        let outcome = send(&url, Duration::from_secs(4));
        let (first, second) = (asked.recv().unwrap(), asked.recv().unwrap());
        assert!(second - first >= Duration::from_secs(2), "{:?}", second - first);
        assert_eq!((outcome.receipt.new, outcome.failure.is_none()), (1, true));
    }

    #[test]
    fn the_end_of_the_runs_does_not_shorten_the_delay_that_a_collector_asks_for() {
        let (url, asked) = busy_at_first(60);
        let outcome = send(&url, Duration::from_millis(500));
        asked.recv().unwrap();
        assert!(asked.try_recv().is_err(), "the collector was asked again");
        let failure = format!("{:#}", outcome.failure.unwrap());
        assert!(failure.contains("the sample was not sent; it is kept"), "{failure}");
    }
}
