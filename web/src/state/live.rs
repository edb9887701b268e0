//! The collector's samples, and the connection to it.

use foreglow_shared::{Sample, Uuid};
use leptos::prelude::*;

/// State of the connection to the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// There is no collector.
    #[default]
    None,
    /// Connected: new samples arrive.
    Open,
    /// Unreachable; the page keeps its jobs.
    Away,
}

/// The collector's samples and connection.
#[derive(Clone, Copy)]
pub struct Live {
    /// State of the connection.
    pub connection: RwSignal<Connection>,
    /// Number of samples that arrived since the page was opened.
    pub arrived: RwSignal<usize>,
    /// Whether the page shows the collector's jobs, not a file or a link.
    pub follows: RwSignal<bool>,
    /// All samples of the collector.
    pub samples: StoredValue<Vec<Sample>>,
    /// Samples that arrived and are not yet fitted.
    pub waiting: StoredValue<Vec<Sample>>,
}

impl Live {
    /// No collector.
    pub fn new() -> Self {
        Self {
            connection: RwSignal::new(Connection::None),
            arrived: RwSignal::new(0),
            follows: RwSignal::new(false),
            samples: StoredValue::new(Vec::new()),
            waiting: StoredValue::new(Vec::new()),
        }
    }

    /// Id of the last known sample.
    pub fn last(&self) -> Option<Uuid> {
        self.samples.with_value(|samples| samples.last().map(|sample| sample.id))
    }
}
