//! What the runs of event logs used, beside what was asked for.

use foreglow_model::sufficient_memory_mib;
use foreglow_shared::{Engine, format_count, format_duration};
use foreglow_spark_log::Used;
use serde::Serialize;

use crate::table::{aligned, table};

/// Event logs from which times are simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogBasis {
    /// The runs, the latest last.
    pub runs: Vec<LoggedUse>,
}

/// A run of an event log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedUse {
    /// Name of the log.
    pub log: String,
    /// Amount of work.
    pub amount: f64,
    /// Plural noun of the work.
    pub unit: String,
    /// What it used.
    #[serde(flatten)]
    pub used: Used,
    /// The smallest `spark.executor.memory` that would have done by its peak heap, MiB; absent if
    /// the peak is unknown, data were spilled, or it needs as much as it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sufficient_memory_mib: Option<u32>,
    /// How it deviated from what was asked for; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// Most runs in the table; of more, the latest.
const MOST_LISTED: usize = 10;

impl LoggedUse {
    /// Describes a run with this amount of work.
    pub fn new(log: String, (amount, unit): (f64, String), used: Used, remark: Option<String>) -> Self {
        let sufficient_memory_mib =
            used.sufficient_memory_mib(|peak_mib| sufficient_memory_mib(peak_mib, Engine::Spark));
        Self { log, amount, unit, used, sufficient_memory_mib, remark }
    }
}

impl LogBasis {
    /// Creates the basis of runs, the latest last.
    pub fn new(runs: Vec<LoggedUse>) -> Self {
        Self { runs }
    }

    /// Describes the basis in a sentence.
    pub(super) fn describe(&self) -> String {
        let logs = format_count(self.runs.len(), "run");
        match self.runs.len() {
            1 => "Simulated from the event log of one run: more logs, of other nights and configurations, narrow the \
                  intervals."
                .to_owned(),
            _ => format!("Simulated from the event logs of {logs}, whose spread is in the intervals."),
        }
    }

    /// Returns the table of what the runs used, and what follows from it.
    pub(super) fn table(&self) -> String {
        let listed = &self.runs[self.runs.len().saturating_sub(MOST_LISTED)..];
        let has = |of: fn(&Used) -> bool| listed.iter().any(|run| of(&run.used));
        let (spills, heaps) = (has(|used| used.spilled_mib.is_some()), has(|used| used.peak_heap_mib.is_some()));
        let mut titles = vec!["<log", "work", "time", "<executors", "cores busy", "skew"];
        titles.extend(heaps.then_some("peak heap"));
        titles.extend(spills.then_some("spill"));
        let mib = |mib: Option<u64>| mib.map_or_else(String::new, |mib| format!("{mib} MiB"));
        let row = |run: &LoggedUse| {
            let used = &run.used;
            let mut cells = vec![
                run.log.clone(),
                format!("{} {}", run.amount, run.unit),
                format_duration(used.completion_time_secs),
                used.describe_executors(),
                format!("{:.0} %", used.busy_share * 100.0),
                used.longest_stage.as_ref().map_or_else(String::new, |stage| format!("{:.1}×", stage.skew)),
            ];
            cells.extend(heaps.then(|| mib(used.peak_heap_mib)));
            cells.extend(spills.then(|| mib(used.spilled_mib)));
            cells
        };
        let columns: Vec<_> = titles.into_iter().flat_map(|title| aligned([title])).collect();
        let left_out = self.runs.len() - listed.len();
        let more = if left_out == 0 { String::new() } else { format!("… and {left_out} earlier.\n") };
        format!("\nWhat the logs used:\n{}{more}{}", table(&columns, listed.iter().map(row)), self.remarks())
    }

    /// Returns a sentence for each way in which the latest run used less or more than it had.
    fn remarks(&self) -> String {
        let Some(run) = self.runs.last() else { return String::new() };
        let mut sentences: Vec<String> =
            run.remark.iter().map(|remark| format!("In the latest run {remark}")).collect();
        sentences.extend(run.used.remarks(run.sufficient_memory_mib));
        sentences.iter().map(|sentence| format!("Note: {sentence}.\n")).collect()
    }
}
