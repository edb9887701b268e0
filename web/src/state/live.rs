//! The collector's jobs, and the connection to it.

use foreglow_shared::Context;
use leptos::prelude::*;
use serde::Deserialize;

/// State of the connection to the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// There is no collector.
    #[default]
    None,
    /// Connected: new samples arrive.
    Open,
    /// Disconnected; the page retries. Holds the status of the last answer, 0 without one.
    Away(u16),
    /// The collector asks the user to sign in.
    SignedOut,
}

/// A job of the collector, whose runs the page may not have.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct JobSummary {
    /// Fingerprint of its context.
    pub job: String,
    /// Context of its runs.
    pub context: Context,
}

/// The collector's jobs and connection.
#[derive(Clone, Copy)]
pub struct Live {
    /// State of the connection.
    pub connection: RwSignal<Connection>,
    /// Number of samples that arrived since the page was opened.
    pub arrived: RwSignal<usize>,
    /// Whether the page shows the collector's jobs, not a file or a link.
    pub follows: RwSignal<bool>,
    /// The jobs, those with the newest samples first.
    pub listed: RwSignal<Vec<JobSummary>>,
    /// The jobs that are followed while they run, a line each.
    pub running: RwSignal<String>,
    /// Jobs with more runs than the fit uses, and the numbers of their runs.
    pub larger: RwSignal<Vec<(Context, usize)>>,
    /// Id of the newest sample when the jobs were listed.
    pub last_id: StoredValue<Option<String>>,
    /// Fingerprints of jobs with new samples.
    pub waiting: StoredValue<Vec<String>>,
    /// Whether the runs of such jobs are being fetched.
    pub is_renewing: StoredValue<bool>,
    /// Failed attempts to connect since the last successful one.
    pub failures: StoredValue<u32>,
}

impl Live {
    /// No collector.
    pub fn new() -> Self {
        Self {
            connection: RwSignal::new(Connection::None),
            arrived: RwSignal::new(0),
            follows: RwSignal::new(false),
            listed: RwSignal::new(Vec::new()),
            running: RwSignal::new(String::new()),
            larger: RwSignal::new(Vec::new()),
            last_id: StoredValue::new(None),
            waiting: StoredValue::new(Vec::new()),
            is_renewing: StoredValue::new(false),
            failures: StoredValue::new(0),
        }
    }

    /// The number of all runs of a measured job, if the collector has more than the fit uses;
    /// reactive.
    pub fn all_runs(&self, context: &Context) -> Option<usize> {
        self.larger.with(|larger| larger.iter().find(|(known, _)| known == context).map(|(_, runs)| *runs))
    }
}
