//! Upload on a thread of its own, so that a slow collector slows no run down.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use foreglow_exit::note;
use foreglow_shared::Sample;

use super::{Target, all_accepted, summary};
use crate::Receipt;
use crate::store::Store;

/// Delay after the first failure; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// Time that the last samples have after the last run.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A thread that sends samples while others are measured. Each sample is on disk before the thread
/// hears of it, so that a killed process loses none.
pub struct Background {
    target: Target,
    store: Store,
    wake: Sender<()>,
    result: Receiver<Outcome>,
}

/// What has become of all samples.
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
        let target = Target::new(url, crate::token::from_environment()?)?.brief();
        let (store, own) = (Store::open(None)?, Store::open(None)?);
        let (wake, woken) = channel();
        let (ended, result) = channel();
        let sender = target.clone();
        std::thread::Builder::new()
            .name("upload".into())
            .spawn(move || {
                // Without a listener the command has ended.
                let _ = ended.send(send_all(&sender, own, &woken));
            })
            .context("the thread that uploads samples cannot be started")?;
        Ok(Self { target, store, wake, result })
    }

    /// Keeps a sample on disk and lets the thread send it.
    ///
    /// # Errors
    /// The sample cannot be kept.
    pub fn send(&mut self, sample: &Sample) -> anyhow::Result<()> {
        self.store
            .keep_for(self.target.url(), std::slice::from_ref(sample))
            .context("the sample could not be kept before it is sent")?;
        // The thread ends only after this handle.
        let _ = self.wake.send(());
        Ok(())
    }

    /// Waits a few seconds for the last samples, and says what has become of all.
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

/// Sends what waits each time that a sample arrives, and once more at the end.
fn send_all(target: &Target, mut store: Store, woken: &Receiver<()>) -> Outcome {
    let mut outcome = Outcome { receipt: Receipt::default(), failure: None };
    let mut delay = FIRST_DELAY;
    let mut not_before: Option<Instant> = None;
    loop {
        let has_ended = wait(woken, not_before);
        match target.send_waiting(&mut store) {
            Ok(receipt) => {
                let sent = outcome.receipt.new + outcome.receipt.known + outcome.receipt.not_stored();
                super::receipt::add(&mut outcome.receipt, receipt, sent);
                (outcome.failure, not_before, delay) = (None, None, FIRST_DELAY);
            }
            Err(error) => {
                outcome.failure = Some(error);
                not_before = Some(Instant::now() + delay);
                delay = (delay * 2).min(LONGEST_DELAY);
            }
        }
        if has_ended {
            return outcome;
        }
    }
}

/// Waits for a sample, or until the next attempt after a failure; returns whether no more follow.
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
