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

/// Multiple of the median task from which the longest task shows skew.
const SKEWED: f64 = 2.0;
/// Share of the slots' time below which cores are idle.
const IDLE: f64 = 0.5;
/// Share of the tasks' time from which garbage collection shows too little memory (Spark's
/// documentation, "Tuning": the interface marks 10 %).
const COLLECTING: f64 = 0.1;
/// Share of the executors below which the answer shows their average.
const FEW: f64 = 0.75;
/// Most runs in the table; of more, the latest.
const MOST_LISTED: usize = 10;

impl LoggedUse {
    /// Describes a run with this amount of work.
    pub fn new(log: String, (amount, unit): (f64, String), used: Used, remark: Option<String>) -> Self {
        let peak_mib = used.peak_heap_mib.filter(|_| used.spilled_mib.is_none());
        let sufficient = peak_mib.map(|peak_mib| sufficient_memory_mib(peak_mib as f64, Engine::Spark));
        let sufficient_memory_mib =
            sufficient.filter(|mib| used.memory_per_executor_mib.is_some_and(|had| u64::from(*mib) < had));
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
                executors(used),
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
        let used = &run.used;
        let mut sentences: Vec<String> =
            run.remark.iter().map(|remark| format!("In the latest run {remark}")).collect();
        if used.busy_share < IDLE {
            sentences
                .push(format!("Tasks ran in {:.0} % of the time of its cores; fewer may do", used.busy_share * 100.0));
        }
        if let Some(stage) = used.longest_stage.as_ref().filter(|stage| stage.skew >= SKEWED && stage.tasks > 1) {
            sentences.push(format!(
                "In its longest stage ({}: {}), the longest task takes {}, {:.1} times the median; more executors do not \
                 shorten it",
                stage.id,
                stage.name,
                format_duration(stage.longest_task_secs),
                stage.skew
            ));
        }
        if let Some(spilled) = used.spilled_mib {
            sentences.push(format!(
                "It wrote {spilled} MiB to disk because execution memory was full; more memory or smaller partitions avoid \
                 that"
            ));
        }
        if let Some(share) = used.gc_share.filter(|share| *share >= COLLECTING) {
            sentences
                .push(format!("Garbage collection takes {:.0} % of its tasks' time; it lacks memory", share * 100.0));
        }
        if let Some((mib, peak_mib)) = run.sufficient_memory_mib.zip(used.peak_heap_mib) {
            sentences.push(format!(
                "The heap of its executors peaked at {peak_mib} MiB, as far as Spark looked; spark.executor.memory={mib}m \
                 would do"
            ));
        }
        sentences.iter().map(|sentence| format!("Note: {sentence}.\n")).collect()
    }
}

/// Returns the executors of a run beside those asked for: `4 of 6 asked, 3.2 on average × 2`.
fn executors(used: &Used) -> String {
    let asked = used.executors_asked.filter(|asked| *asked != used.executors);
    let asked = asked.map_or_else(String::new, |asked| format!(" of {asked} asked"));
    // Executors that start a little after the first job are not worth a word.
    let is_constant = used.executors_removed == 0 && used.mean_executors > FEW * f64::from(used.executors);
    let mean = if is_constant { String::new() } else { format!(", {:.1} on average", used.mean_executors) };
    format!("{}{asked}{mean} × {}", used.executors, used.cores_per_executor)
}
