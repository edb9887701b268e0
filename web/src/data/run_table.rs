//! The runs of a job as table rows: filtering, sorting and virtual scrolling.

use std::cmp::Ordering;
use std::ops::Range;

use foreglow_shared::{CoreSplit, IncompleteOutcome, Job, LeftOut, format_rate, sort_by};

use crate::data::left_out::Run;

/// A sortable column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Executor processes.
    Executors,
    /// Task threads per executor.
    Cores,
    /// Upper bound on an executor's memory.
    Memory,
    /// Images per task.
    PartitionSize,
    /// Sampling rate.
    SamplingRate,
    /// Completion time; missing for a run that did not complete.
    Secs,
}

/// A run and whether it is excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedRun {
    /// The run.
    pub run: Run,
    /// Whether the fit ignores it.
    pub left_out: bool,
}

/// The filter and the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// The sort key. Ties are sorted by the runs' features, sampling rates and times, independent
    /// of excluded runs.
    pub column: Column,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Filter words, all of which a row's text must contain.
    pub words: String,
}

impl Default for Arrangement {
    fn default() -> Self {
        Self { column: Column::Executors, descending: false, words: String::new() }
    }
}

/// Every run of a job, excluded ones included.
pub fn rows(job: &Job, left_out: &LeftOut) -> Vec<ListedRun> {
    let rows = |left_out: bool| move |run: Run| ListedRun { run, left_out };
    let kept = job.observations.iter().copied().map(Run::Completed);
    let kept = kept.chain(job.incomplete.iter().copied().map(Run::Incomplete)).map(rows(false));
    let out = left_out.observations.iter().copied().map(Run::Completed);
    let out = out.chain(left_out.incomplete.iter().copied().map(Run::Incomplete)).map(rows(true));
    kept.chain(out).collect()
}

/// The indices of the rows that pass the filter, in display order.
pub fn arrange(rows: &[ListedRun], arrangement: &Arrangement) -> Vec<usize> {
    let words: Vec<String> = arrangement.words.split_whitespace().map(str::to_ascii_lowercase).collect();
    let is_shown = |row: &ListedRun| {
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
            // Unknown values come last in either direction.
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) if arrangement.descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
        };
        let [a, b] = [a, b].map(|place| &rows[*place]);
        let secs = |row: &ListedRun| row.secs().unwrap_or(f64::INFINITY);
        order
            .then_with(|| a.features().cmp(&b.features()))
            .then_with(|| a.sampling_rate().total_cmp(&b.sampling_rate()))
            .then_with(|| secs(a).total_cmp(&secs(b)))
    });
    places
}

/// The range of rows visible in a viewport of `height` pixels scrolled down by `top` pixels, with a
/// margin on either side.
pub fn window(count: usize, top: f64, height: f64, row_height: f64) -> Range<usize> {
    /// Extra rows on either side, so that fast scrolling shows no gap.
    const BESIDE: usize = 8;
    // Pixel values are far below 2^53 and not negative here, so that the cast is exact.
    let first = ((top.max(0.0) / row_height) as usize).min(count).saturating_sub(BESIDE);
    let shown = (height.max(0.0) / row_height) as usize + 1 + 2 * BESIDE;
    first..(first + shown).min(count)
}

impl ListedRun {
    /// Executors and cores, memory, partition size.
    pub fn features(&self) -> (CoreSplit, u32, u32) {
        match self.run {
            Run::Completed(run) => (run.split(), run.memory_per_executor_mib, run.partition_size),
            Run::Incomplete(run) => (run.split(), run.memory_per_executor_mib, run.partition_size),
        }
    }

    /// Sampling rate.
    pub fn sampling_rate(&self) -> f64 {
        match self.run {
            Run::Completed(run) => run.sampling_rate,
            Run::Incomplete(run) => run.sampling_rate,
        }
    }

    /// Completion time, seconds, if the run completed.
    pub fn secs(&self) -> Option<f64> {
        match self.run {
            Run::Completed(run) => Some(run.completion_time_secs),
            Run::Incomplete(_) => None,
        }
    }

    /// The outcome, in the words of the sample format.
    pub fn outcome(&self) -> &'static str {
        match self.run {
            Run::Completed(_) => "completed",
            Run::Incomplete(run) => match run.outcome {
                IncompleteOutcome::OutOfMemory | IncompleteOutcome::OutOfAcceleratorMemory => "out_of_memory",
                IncompleteOutcome::TimedOut => "timed_out",
            },
        }
    }

    fn value(&self, column: Column) -> Option<f64> {
        let (split, memory, partition_size) = self.features();
        Some(match column {
            Column::Executors => split.executors.into(),
            Column::Cores => split.mean_cores(),
            Column::Memory => memory.into(),
            Column::PartitionSize => partition_size.into(),
            Column::SamplingRate => self.sampling_rate(),
            Column::Secs => return self.secs(),
        })
    }

    /// The text that the filter matches: `2x4 10% completed excluded`.
    fn text(&self) -> String {
        let (split, memory, _) = self.features();
        let (executors, cores) = (split.executors, split.cores());
        let rate = format_rate(self.sampling_rate()).replace(' ', "");
        let left_out = if self.left_out { " excluded" } else { "" };
        format!("{executors}x{cores} {rate} {memory}mib {}{left_out}", self.outcome())
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
            total_cores: None,
            memory_per_executor_mib: 1024,
            partition_size: 8,
            sampling_rate: 0.1,
            completion_time_secs: secs,
            startup_secs: None,
            disturbed: false,
            log_error: 0.0,
        })
    }

    fn rows() -> Vec<ListedRun> {
        let incomplete = Run::Incomplete(IncompleteRun {
            executors: 1,
            cores_per_executor: 2,
            total_cores: None,
            memory_per_executor_mib: 512,
            partition_size: 8,
            sampling_rate: 1.0,
            outcome: IncompleteOutcome::OutOfMemory,
            at_least_secs: None,
        });
        [(completed(3, 5.0), false), (incomplete, false), (completed(1, 9.0), true), (completed(2, 7.0), false)]
            .map(|(run, left_out)| ListedRun { run, left_out })
            .to_vec()
    }

    fn arranged(column: Column, descending: bool, words: &str) -> Vec<usize> {
        arrange(&rows(), &Arrangement { column, descending, words: words.into() })
    }

    #[test]
    fn rows_sort_either_way_and_unknown_times_come_last() {
        assert_eq!(arranged(Column::Secs, false, ""), [0, 3, 2, 1]);
        assert_eq!(arranged(Column::Secs, true, ""), [2, 3, 0, 1]);
        assert_eq!(arranged(Column::Executors, false, ""), [1, 2, 3, 0]);
    }

    #[test]
    fn a_row_must_contain_every_word_of_the_filter() {
        assert_eq!(arranged(Column::Executors, false, "Excluded"), [2]);
        assert_eq!(arranged(Column::Executors, false, "2x2 10%"), [3]);
        assert_eq!(arranged(Column::Executors, false, "memory"), [1]);
        assert!(arranged(Column::Executors, false, "3x2 excluded").is_empty());
    }

    #[test]
    fn an_uneven_split_is_found_by_its_cores_and_sorts_by_their_mean() {
        let Run::Completed(run) = completed(3, 6.0) else { return };
        let uneven = Run::Completed(Observation { cores_per_executor: 2, total_cores: Some(5), ..run });
        let rows = [rows(), vec![ListedRun { run: uneven, left_out: false }]].concat();
        let arranged =
            |column, words: &str| arrange(&rows, &Arrangement { column, descending: false, words: words.into() });
        assert_eq!(arranged(Column::Executors, "3x2+2+1"), [4]);
        assert_eq!(arranged(Column::Cores, "")[0], 4, "five cores on three executors are fewer than two each");
    }

    #[test]
    fn only_the_visible_rows_and_a_margin_are_drawn() {
        assert_eq!(window(100_000, 0.0, 320.0, 32.0), 0..27);
        assert_eq!(window(100_000, 32_000.0, 320.0, 32.0), 992..1019);
        assert_eq!(window(5, 0.0, 320.0, 32.0), 0..5);
        assert_eq!(window(0, 900.0, 320.0, 32.0), 0..0);
        assert_eq!(window(10, 1e9, 320.0, 32.0), 2..10);
    }
}
