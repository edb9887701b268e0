//! The largest batch of a network that fits a bound on the memory.

use foreglow_console::output::Format;
use foreglow_console::table::{aligned, csv_of, table, wrapped};
use foreglow_model::{BatchMemory, Estimate, LargestBatch, MemoryRun, Work};
use foreglow_shared::{format_count, format_integer};
use serde::Serialize;

use crate::batch_memory::{MIB, mib};

/// Batches of the table.
const BATCHES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// A network with the memory of its batches.
pub struct Answer<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// Channels, height and width of the input.
    pub shape: [usize; 3],
    /// Work of an executor.
    pub work: Work,
    /// Memory of its batches.
    pub memory: BatchMemory,
    /// Runs that the memory is adjusted to.
    pub runs: Vec<MemoryRun>,
    /// Bound of an executor, MiB.
    pub bound_mib: u32,
}

/// The memory of a batch as JSON.
#[derive(Serialize)]
struct Need {
    batch_size: u64,
    lower_mib: u64,
    expected_mib: u64,
    upper_mib: u64,
    fits: &'static str,
}

impl Answer<'_> {
    /// Formats the answer.
    pub fn render(&self, format: Format) -> anyhow::Result<String> {
        Ok(match format {
            Format::Table => self.table(),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&self.json())?),
            Format::Csv => self.csv(),
        })
    }

    fn largest(&self) -> LargestBatch {
        self.memory.largest_batch(f64::from(self.bound_mib) * MIB)
    }

    fn needs(&self) -> Vec<Need> {
        let largest = self.largest();
        let mut batches = BATCHES.to_vec();
        batches.extend([largest.surely, largest.at_most].into_iter().filter(|batch| *batch > 0));
        batches.sort_unstable();
        batches.dedup();
        let need = |batch_size: u64| {
            let Estimate { lower, expected, upper } = self.memory.bytes(batch_size);
            let fits = match batch_size {
                batch if batch <= largest.surely => "yes",
                batch if batch > largest.at_most => "no",
                _ => "maybe",
            };
            Need { batch_size, lower_mib: mib(lower), expected_mib: mib(expected), upper_mib: mib(upper), fits }
        };
        batches.into_iter().map(need).collect()
    }

    /// Describes the work of an executor.
    fn what(&self) -> String {
        let threads = |count: u64| format_count(count as usize, "thread");
        match self.work {
            Work::Inference { threads: count } => format!("inference with {}", threads(count)),
            Work::Training { threads: count, share, moments } => {
                let share = match share {
                    Some(size) => format!("{size} images"),
                    None => "an eighth of the batch, at least 8 images,".to_owned(),
                };
                let optimizer = if moments == 2 { "Adam" } else { "SGD" };
                format!("training with {} and {optimizer}, {share} a thread at once", threads(count))
            }
        }
    }

    /// Describes the basis of the answer.
    fn basis(&self) -> String {
        let count = |is_of: fn(&MemoryRun) -> bool| self.runs.iter().filter(|run| is_of(run)).count();
        let completed = count(|run| matches!(run, MemoryRun::Completed { .. }));
        let refused = self.runs.len() - completed;
        match (completed, refused) {
            (0, 0) => "the graph and measured peaks of other networks; --samples adds runs of this one".to_owned(),
            (0, _) => format!("the graph, and {} of it that ran out of memory", format_count(refused, "run")),
            (_, 0) => format!("the peak memory of {} of it, and the graph", format_count(completed, "run")),
            _ => format!(
                "the peak memory of {} of it, {} that ran out of memory, and the graph",
                format_count(completed, "run"),
                format_count(refused, "run")
            ),
        }
    }

    fn table(&self) -> String {
        let [channels, height, width] = self.shape;
        let LargestBatch { surely, expected, at_most } = self.largest();
        let answer = match (surely, at_most) {
            (_, 0) => format!("no batch fits {} MiB", format_integer(u64::from(self.bound_mib))),
            (0, _) => format!("no batch is sure to fit; {expected} is expected to, and none above {at_most}"),
            _ if surely == at_most => format!("the largest batch that fits is {}", format_integer(surely)),
            _ => format!(
                "a batch of {} fits; {} is expected to, and none above {}",
                format_integer(surely),
                format_integer(expected),
                format_integer(at_most)
            ),
        };
        let columns = aligned(["batch", "memory, MiB: at least", "expected", "at most", "<fits"]);
        let rows = self.needs().into_iter().map(|need| {
            vec![
                format_integer(need.batch_size),
                format_integer(need.lower_mib),
                format_integer(need.expected_mib),
                format_integer(need.upper_mib),
                need.fits.to_owned(),
            ]
        });
        let head = format!(
            "{} on images of {height}×{width}×{channels}, {}, {} MiB for each executor\n\n{answer}\nbased on {}\n\n",
            self.name,
            self.what(),
            format_integer(u64::from(self.bound_mib)),
            self.basis(),
        );
        wrapped(&head) + &table(&columns, rows)
    }

    fn json(&self) -> serde_json::Value {
        let LargestBatch { surely, expected, at_most } = self.largest();
        let (mode, threads, share) = match self.work {
            Work::Inference { threads } => ("inference", threads, None),
            Work::Training { threads, share, .. } => ("training", threads, share),
        };
        let completed = self.runs.iter().filter(|run| matches!(run, MemoryRun::Completed { .. })).count();
        serde_json::json!({
            "schema": 1,
            "name": self.name,
            "input": self.shape,
            "mode": mode,
            "cores_per_executor": threads,
            "share_size": share,
            "memory_per_executor_mib": self.bound_mib,
            "largest_batch": { "surely": surely, "expected": expected, "at_most": at_most },
            "runs": { "completed": completed, "out_of_memory": self.runs.len() - completed },
            "batches": self.needs(),
        })
    }

    fn csv(&self) -> String {
        csv_of("batch_size,lower_mib,expected_mib,upper_mib,fits", self.needs())
    }
}
