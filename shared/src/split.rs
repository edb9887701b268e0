//! Cores of a configuration and their division among executors.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest list of cores that is written out, executor by executor.
const LISTED_EXECUTORS: u32 = 8;

/// Executors and their cores. If the number of executors does not divide the total number of cores,
/// the first executors have one more core (the published study, Table 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CoreSplit {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C; in an uneven split, the largest number.
    pub cores_per_executor: u32,
    /// Task threads of all executors of an uneven split; `None` for E·C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cores: Option<u32>,
}

/// A total of cores that no uneven split of E executors with at most C cores has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("total_cores is {total}, which is no uneven split of the executors")]
pub struct SplitError {
    /// Executors and cores.
    pub split: CoreSplit,
    /// The total.
    pub total: u32,
}

impl CoreSplit {
    /// Returns the split of equal executors.
    pub const fn even(executors: u32, cores_per_executor: u32) -> Self {
        Self { executors, cores_per_executor, total_cores: None }
    }

    /// Divides a total number of cores among executors; `None` if an executor would get no core.
    ///
    /// ```
    /// # use foreglow_shared::CoreSplit;
    /// let split = CoreSplit::of_total(3, 8).unwrap();
    /// assert_eq!(split.to_string(), "3 executors, 8 cores (3+3+2)");
    /// assert_eq!(CoreSplit::of_total(4, 8), Some(CoreSplit::even(4, 2)));
    /// assert_eq!(CoreSplit::of_total(3, 2), None);
    /// ```
    pub fn of_total(executors: u32, total_cores: u32) -> Option<Self> {
        if executors == 0 || total_cores < executors {
            return None;
        }
        let is_even = total_cores.is_multiple_of(executors);
        let cores_per_executor = total_cores.div_ceil(executors);
        Some(Self { executors, cores_per_executor, total_cores: (!is_even).then_some(total_cores) })
    }

    /// Returns every split of these totals among these numbers of executors, without those that
    /// would leave an executor without a core.
    pub fn all(executors: &[u32], total_cores: &[u32]) -> Vec<Self> {
        let of = |executors: &u32| {
            let executors = *executors;
            total_cores.iter().filter_map(move |total| Self::of_total(executors, *total))
        };
        executors.iter().flat_map(of).collect()
    }

    /// Returns the split of fields that a file or a link gives. A total of E·C is an even split.
    pub(crate) fn of_fields(executors: u32, cores_per_executor: u32, total_cores: Option<u32>) -> Self {
        let even = Self::even(executors, cores_per_executor);
        Self { total_cores: total_cores.filter(|total| u64::from(*total) != even.product()), ..even }
    }

    /// Returns E and C if all executors have C cores; `None` for an uneven split.
    pub fn equal_counts(self) -> Option<(u32, u32)> {
        self.total_cores.is_none().then_some((self.executors, self.cores_per_executor))
    }

    /// Returns the task threads of all executors.
    pub fn slots(self) -> u32 {
        self.total_cores.unwrap_or_else(|| self.executors.saturating_mul(self.cores_per_executor))
    }

    /// Returns the mean number of cores of an executor.
    pub fn mean_cores(self) -> f64 {
        match self.total_cores {
            None => f64::from(self.cores_per_executor),
            Some(total) => f64::from(total) / f64::from(self.executors),
        }
    }

    /// Returns the number of executors with [`CoreSplit::cores_per_executor`] cores; the others
    /// have one less.
    pub fn larger_executors(self) -> u32 {
        match self.total_cores {
            None => self.executors,
            Some(total) => total % self.executors.max(1),
        }
    }

    /// Returns the cores of the executors with the fewest.
    pub fn fewest_cores(self) -> u32 {
        self.cores_of(self.executors.saturating_sub(1))
    }

    /// Returns the cores of an executor, counted from 0.
    pub fn cores_of(self, executor: u32) -> u32 {
        self.cores_per_executor.saturating_sub(u32::from(executor >= self.larger_executors()))
    }

    /// Checks the total, if there is one.
    ///
    /// # Errors
    /// No uneven split of E executors with at most C cores has this total.
    pub fn check(self) -> Result<(), SplitError> {
        let (executors, most) = (u64::from(self.executors), self.product());
        let is_between = |total: u64| total >= executors && total < most && total + executors > most;
        match self.total_cores {
            Some(total) if !is_between(total.into()) => Err(SplitError { split: self, total }),
            _ => Ok(()),
        }
    }

    /// Returns the cores of an executor, such as `2`, or of each in an uneven split: `3+3+2`.
    pub fn cores(self) -> String {
        if self.total_cores.is_none() {
            return self.cores_per_executor.to_string();
        }
        let (larger, cores) = (self.larger_executors(), self.cores_per_executor);
        if self.executors > LISTED_EXECUTORS {
            return format!("{larger}×{cores} + {}×{}", self.executors - larger, self.fewest_cores());
        }
        let of_each: Vec<String> = (0..self.executors).map(|executor| self.cores_of(executor).to_string()).collect();
        of_each.join("+")
    }

    /// Returns executors and cores in short form: `3 × 2`, or `3 (3+3+2)`.
    pub fn short(self) -> String {
        let (executors, cores) = (self.executors, self.cores());
        if self.total_cores.is_none() { format!("{executors} × {cores}") } else { format!("{executors} ({cores})") }
    }

    /// Describes the executors of each machine, of which a full one has `full`:
    /// `2 executors of 2 cores each`, or `2 executors of 2 cores, the last 1`.
    pub fn describe_per_machine(self, machines: u32, full: u32) -> String {
        if machines == 1 || self.total_cores.is_some() {
            return self.to_string();
        }
        let on_full = Self::even(full, self.cores_per_executor);
        match self.executors - (machines - 1) * full {
            last if last == full => format!("{on_full} each"),
            last => format!("{on_full}, the last {last}"),
        }
    }

    /// Returns the name and the value of the option of `foreglow collect` for the cores.
    pub(crate) fn cores_option(self) -> (&'static str, u32) {
        match self.total_cores {
            None => ("--cores", self.cores_per_executor),
            Some(total) => ("--total-cores", total),
        }
    }

    /// Returns the name of the column that a table of these splits needs after executors and cores;
    /// `None` if all are even. [`CoreSplit::total_cell`] has its cells.
    pub fn total_column(splits: impl IntoIterator<Item = Self>) -> Option<&'static str> {
        splits.into_iter().any(|split| split.total_cores.is_some()).then_some("total_cores")
    }

    /// Returns the cell of [`CoreSplit::total_column`]; empty for an even split.
    pub fn total_cell(self) -> String {
        self.total_cores.map_or_else(String::new, |total| total.to_string())
    }

    fn product(self) -> u64 {
        u64::from(self.executors) * u64::from(self.cores_per_executor)
    }
}

/// `3 executors of 2 cores`, or `3 executors, 8 cores (3+3+2)`.
impl fmt::Display for CoreSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u32| if count == 1 { "" } else { "s" };
        let Self { executors, cores_per_executor, total_cores } = *self;
        let (e, c) = (plural(executors), plural(cores_per_executor));
        match total_cores {
            None => write!(f, "{executors} executor{e} of {cores_per_executor} core{c}"),
            Some(total) => write!(f, "{executors} executor{e}, {total} cores ({})", self.cores()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_a_total_differ_by_at_most_one_and_add_up() {
        for executors in 1..=12 {
            for total in executors..=40 {
                let split = CoreSplit::of_total(executors, total).unwrap();
                let cores: Vec<u32> = (0..executors).map(|executor| split.cores_of(executor)).collect();
                assert_eq!(cores.iter().sum::<u32>(), total);
                assert_eq!((split.slots(), cores[0]), (total, split.cores_per_executor));
                assert!(cores[0] - cores[cores.len() - 1] <= 1 && cores.is_sorted_by(|a, b| a >= b), "{cores:?}");
                assert_eq!(split.total_cores.is_none(), total % executors == 0);
                assert_eq!(split.check(), Ok(()));
                assert_eq!(CoreSplit::of_fields(executors, cores[0], Some(total)), split);
            }
        }
        assert_eq!(CoreSplit::of_total(0, 8), None);
    }

    #[test]
    fn totals_that_no_split_has_are_inconsistent() {
        let split = |total_cores| CoreSplit { executors: 3, cores_per_executor: 3, total_cores };
        let is_consistent = |total| split(Some(total)).check().is_ok();
        assert_eq!([0, 6, 7, 8, 9, u32::MAX].map(is_consistent), [false, false, true, true, false, false]);
        assert!(CoreSplit { executors: 3, cores_per_executor: 1, total_cores: Some(2) }.check().is_err());
        assert!(CoreSplit { executors: 0, cores_per_executor: 0, total_cores: Some(1) }.check().is_err());
        assert_eq!(split(Some(7)).cores(), "3+2+2");
        assert_eq!(CoreSplit::of_total(100, 250).unwrap().cores(), "50×3 + 50×2");
        assert_eq!(CoreSplit::even(1, 1).to_string(), "1 executor of 1 core");
    }
}
