//! Tells a collector the state of a job that is followed while it runs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::Context as _;
use foreglow_exit::note;

use super::Target;
use crate::FollowedJob;

/// Time limit for telling the last state.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A thread that sends the newest state, so that a slow collector does not delay the follower. A
/// state that cannot be sent is not sent again, because the next one replaces it.
pub struct Follower {
    states: Sender<FollowedJob>,
    ended: Receiver<()>,
}

impl Follower {
    /// Starts the thread for the collector at `url`, with the token of the environment.
    ///
    /// # Errors
    /// The URL or the token's file is invalid, or the thread cannot be started.
    pub fn start(url: &str) -> anyhow::Result<Self> {
        let target = Target::new(url, foreglow_store::token::from_environment()?)?.brief();
        let (states, waiting) = channel();
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("follower".into())
            .spawn(move || {
                send_all(&target, &waiting);
                // Without a receiver the command has already ended.
                let _ = end.send(());
            })
            .context("the thread that tells the collector cannot be started")?;
        Ok(Self { states, ended })
    }

    /// Tells a state.
    pub fn tell(&self, job: FollowedJob) {
        // Cannot fail, because the thread outlives this handle.
        let _ = self.states.send(job.shortened());
    }

    /// Waits a few seconds for the last state.
    pub fn finish(self) {
        let Self { states, ended } = self;
        drop(states);
        let _ = ended.recv_timeout(LAST_WAIT);
    }
}

/// Sends states until the last, and notes the first failure of several.
fn send_all(target: &Target, states: &Receiver<FollowedJob>) {
    let mut has_failed = false;
    while let Ok(job) = states.recv() {
        let newest = states.try_iter().last().unwrap_or(job);
        match target.tell(&newest) {
            Ok(()) => has_failed = false,
            Err(error) if !has_failed => {
                note(&format!("warning: the collector is not told the state of the job: {error:#}"));
                has_failed = true;
            }
            Err(_) => {}
        }
    }
}
