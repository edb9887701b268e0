//! Whether a sample could be stored now, by the latest write or probe. Requests only read it, so
//! that they take no lock of the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time within which the store must answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The latest answer of the store to a write.
#[derive(Clone, Debug, Default)]
pub(super) struct Readiness(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Why the latest write failed.
    problem: Option<String>,
    /// Begin of the probe that the store has not answered.
    asked_at: Option<Instant>,
}

impl Readiness {
    /// Notes that a probe begins.
    pub(super) fn ask(&self, now: Instant) {
        self.state().asked_at = Some(now);
    }

    /// Notes the outcome of a probe or a write.
    pub(super) fn note<T>(&self, outcome: &anyhow::Result<T>) {
        let problem = outcome.as_ref().err().map(|error| format!("{error:#}"));
        *self.state() = State { problem, asked_at: None };
    }

    /// Returns why no sample can be stored; `None` if one can.
    pub(super) fn problem(&self, now: Instant) -> Option<String> {
        let state = self.state();
        let is_late = state.asked_at.is_some_and(|at| now.saturating_duration_since(at) >= PATIENCE);
        let late = is_late.then(|| format!("the store has not answered within {} s", PATIENCE.as_secs()));
        state.problem.clone().or(late)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_answer_counts_and_none_is_a_problem_after_a_while() {
        let (readiness, start) = (Readiness::default(), Instant::now());
        assert_eq!(readiness.problem(start), None);
        readiness.ask(start);
        assert_eq!(readiness.problem(start + PATIENCE / 2), None);
        assert!(readiness.problem(start + PATIENCE).is_some_and(|problem| problem.contains("within 2 s")));
        readiness.note::<()>(&Err(anyhow::anyhow!("the disk is full")));
        assert_eq!(readiness.problem(start + PATIENCE).as_deref(), Some("the disk is full"));
        readiness.note(&Ok(()));
        assert_eq!(readiness.problem(start + PATIENCE), None);
    }
}
