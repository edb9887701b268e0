//! The runs of a job as rows of a table: which are shown, in which order, and which of them are on the screen.

use std::cmp::Ordering;
use std::ops::Range;

use foreglow_shared::{IncompleteOutcome, Job, LeftOut, sort_by};

use crate::left_out::Run;

/// A column by which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Executor processes.
    Executors,
    /// Task threads of an executor.
    Cores,
    /// Upper bound on an executor's memory.
    Memory,
    /// Images of one task.
    PartitionSize,
    /// Share of the images.
    SamplingRate,
    /// Completion time; a run that did not complete has none.
    Secs,
}

/// A run and whether it is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The run.
    pub run: Run,
    /// Whether the answer is given without it.
    pub left_out: bool,
}

/// Which rows are shown, and in which order.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// The column that decides first; the order of the runs decides between equal ones.
    pub column: Column,
    /// The largest first.
    pub descending: bool,
    /// Words of which each must stand in a row's text.
    pub words: String,
}

impl Default for Arrangement {
    fn default() -> Self {
        Self { column: Column::Executors, descending: false, words: String::new() }
    }
}

/// Every run of a job, those that were left out among them.
pub fn rows(job: &Job, left_out: &LeftOut) -> Vec<Row> {
    let rows = |left_out: bool| move |run: Run| Row { run, left_out };
    let kept = job.observations.iter().copied().map(Run::Completed);
    let kept = kept.chain(job.incomplete.iter().copied().map(Run::Incomplete)).map(rows(false));
    let out = left_out.observations.iter().copied().map(Run::Completed);
    let out = out.chain(left_out.incomplete.iter().copied().map(Run::Incomplete)).map(rows(true));
    kept.chain(out).collect()
}

/// The places of the rows that are shown, in the order in which they are shown.
pub fn arrange(rows: &[Row], arrangement: &Arrangement) -> Vec<usize> {
    let words: Vec<String> = arrangement.words.split_whitespace().map(str::to_ascii_lowercase).collect();
    let is_shown = |row: &Row| {
        if words.is_empty() {
            return true;
        }
        let text = row.text();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let mut places: Vec<usize> = (0..rows.len()).filter(|place| is_shown(&rows[*place])).collect();
    let key = |place: &usize| rows[*place].value(arrangement.column);
    sort_by(&mut places, |a, b| {
        let order = match (key(a), key(b)) {
            // What is unknown comes last, whichever way the rest is sorted.
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) if arrangement.descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
        };
        order.then_with(|| rows[*a].features().cmp(&rows[*b].features()))
    });
    places
}

/// The rows that stand in a window of `height` pixels that was scrolled `top` pixels down, and some on either side.
pub fn window(count: usize, top: f64, height: f64, row_height: f64) -> Range<usize> {
    /// A fast hand sees no gap.
    const BESIDE: usize = 8;
    // A browser's pixels are far below 2^53 and not negative here.
    let first = ((top.max(0.0) / row_height) as usize).min(count).saturating_sub(BESIDE);
    let shown = (height.max(0.0) / row_height) as usize + 1 + 2 * BESIDE;
    first..(first + shown).min(count)
}

impl Row {
    /// Executors, cores, memory, partition size.
    pub fn features(&self) -> (u32, u32, u32, u32) {
        match self.run {
            Run::Completed(run) => {
                (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size)
            }
            Run::Incomplete(run) => {
                (run.executors, run.cores_per_executor, run.memory_per_executor_mib, run.partition_size)
            }
        }
    }

    /// Share of the images.
    pub fn sampling_rate(&self) -> f64 {
        match self.run {
            Run::Completed(run) => run.sampling_rate,
            Run::Incomplete(run) => run.sampling_rate,
        }
    }

    /// The completion time of a run that completed.
    pub fn secs(&self) -> Option<f64> {
        match self.run {
            Run::Completed(run) => Some(run.completion_time_secs),
            Run::Incomplete(_) => None,
        }
    }

    /// How the run ended, in the words of the sample format.
    pub fn outcome(&self) -> &'static str {
        match self.run {
            Run::Completed(_) => "completed",
            Run::Incomplete(run) => match run.outcome {
                IncompleteOutcome::OutOfMemory => "out_of_memory",
                IncompleteOutcome::TimedOut => "timed_out",
            },
        }
    }

    fn value(&self, column: Column) -> Option<f64> {
        let (executors, cores, memory, partition_size) = self.features();
        Some(match column {
            Column::Executors => executors.into(),
            Column::Cores => cores.into(),
            Column::Memory => memory.into(),
            Column::PartitionSize => partition_size.into(),
            Column::SamplingRate => self.sampling_rate(),
            Column::Secs => return self.secs(),
        })
    }

    /// What a filter is matched with: `2x4 10% completed left out`.
    fn text(&self) -> String {
        let (executors, cores, memory, _) = self.features();
        let rate = self.sampling_rate() * 100.0;
        let left_out = if self.left_out { " left out" } else { "" };
        format!("{executors}x{cores} {rate}% {memory}mib {}{left_out}", self.outcome())
    }
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{IncompleteRun, Observation};

    use super::*;

    fn completed(executors: u32, secs: f64) -> Run {
        Run::Completed(Observation {
            executors,
            cores_per_executor: 2,
            memory_per_executor_mib: 1024,
            partition_size: 8,
            sampling_rate: 0.1,
            completion_time_secs: secs,
            startup_secs: None,
            disturbed: false,
        })
    }

    fn rows() -> Vec<Row> {
        let incomplete = Run::Incomplete(IncompleteRun {
            executors: 1,
            cores_per_executor: 2,
            memory_per_executor_mib: 512,
            partition_size: 8,
            sampling_rate: 1.0,
            outcome: IncompleteOutcome::OutOfMemory,
            at_least_secs: None,
        });
        [(completed(3, 5.0), false), (incomplete, false), (completed(1, 9.0), true), (completed(2, 7.0), false)]
            .map(|(run, left_out)| Row { run, left_out })
            .to_vec()
    }

    fn arranged(column: Column, descending: bool, words: &str) -> Vec<usize> {
        arrange(&rows(), &Arrangement { column, descending, words: words.into() })
    }

    #[test]
    fn rows_are_sorted_either_way_and_what_has_no_time_comes_last() {
        assert_eq!(arranged(Column::Secs, false, ""), [0, 3, 2, 1]);
        assert_eq!(arranged(Column::Secs, true, ""), [2, 3, 0, 1]);
        assert_eq!(arranged(Column::Executors, false, ""), [1, 2, 3, 0]);
    }

    #[test]
    fn every_word_of_the_filter_must_stand_in_a_row() {
        assert_eq!(arranged(Column::Executors, false, "left OUT"), [2]);
        assert_eq!(arranged(Column::Executors, false, "2x2 10%"), [3]);
        assert_eq!(arranged(Column::Executors, false, "memory"), [1]);
        assert!(arranged(Column::Executors, false, "3x2 out").is_empty());
    }

    #[test]
    fn only_the_rows_on_the_screen_and_a_few_beside_them_are_drawn() {
        assert_eq!(window(100_000, 0.0, 320.0, 32.0), 0..27);
        assert_eq!(window(100_000, 32_000.0, 320.0, 32.0), 992..1019);
        assert_eq!(window(5, 0.0, 320.0, 32.0), 0..5);
        assert_eq!(window(0, 900.0, 320.0, 32.0), 0..0);
        assert_eq!(window(10, 1e9, 320.0, 32.0), 2..10);
    }
}
