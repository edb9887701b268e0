//! The time of an application on other numbers of slots, from the event log of a run.

use serde::{Deserialize, Serialize};

use crate::{Observation, Sample};

/// Most numbers of slots of a [`SlotTimes`].
pub const MOST_SLOT_COUNTS: usize = 256;
/// About the most numbers of executors that are compared by default.
const MOST_COUNTS: u32 = 64;
/// Longest simulated time, milliseconds: a run of 30 years.
const MOST_MS: u64 = 1_000_000_000_000;

/// Simulated times of a run on other numbers of slots. A slot runs one task at a time.
///
/// ```
/// use foreglow_shared::SlotTimes;
///
/// let times: SlotTimes = serde_json::from_str(
///     r#"{"cores_per_task":1,"driver_ms":1000,"times":[[1,9000],[2,5000],[4,3000]]}"#,
/// )?;
/// assert_eq!(times.at(2, 1), Some(5.0));
/// // The same slots, on one executor.
/// assert_eq!(times.at(1, 2), Some(5.0));
/// // More slots than were simulated bring nothing.
/// assert_eq!(times.at(8, 1), Some(3.0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotTimes {
    /// Cores that a task needs, from 1.
    pub cores_per_task: u32,
    /// Average number of executors; `None` unless executors came and went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_executors: Option<f64>,
    /// Time in which only the driver works, milliseconds.
    pub driver_ms: u64,
    /// Numbers of slots, ascending, each with its time, milliseconds. The run needs the first
    /// number, and more slots than the last bring nothing.
    pub times: Vec<(u32, u64)>,
}

impl SlotTimes {
    /// Returns the time on a configuration, seconds; between two simulated numbers of slots as a
    /// constant and work that is divided among them. `None` if the run cannot be scheduled there.
    pub fn at(&self, executors: u32, cores_per_executor: u32) -> Option<f64> {
        let of_each = cores_per_executor.checked_div(self.cores_per_task)?;
        let slots = u64::from(executors) * u64::from(of_each);
        let after = self.times.partition_point(|(count, _)| u64::from(*count) < slots);
        let (&(first, _), &(_, last_ms)) = (self.times.first()?, self.times.last()?);
        let secs = |ms: u64| ms as f64 / 1000.0;
        if slots == 0 || slots < u64::from(first) {
            return None;
        }
        let Some(&(to, to_ms)) = self.times.get(after) else { return Some(secs(last_ms)) };
        if u64::from(to) == slots || after == 0 {
            return Some(secs(to_ms));
        }
        let (from, from_ms) = self.times[after - 1];
        let inverse = [from.into(), f64::from(to), slots as f64].map(|count| 1.0 / count);
        let share = (inverse[0] - inverse[2]) / (inverse[0] - inverse[1]);
        Some(secs(from_ms) + share * (secs(to_ms) - secs(from_ms)))
    }

    /// Returns the share of a time, in seconds, in which only the driver works.
    pub fn driver_share(&self, secs: f64) -> f64 {
        (self.driver_ms as f64 / 1000.0).min(secs) / secs
    }

    /// Whether the numbers of slots ascend and all numbers are in their ranges.
    pub fn is_valid(&self) -> bool {
        (1..=MOST_SLOT_COUNTS).contains(&self.times.len())
            && self.cores_per_task > 0
            && self.mean_executors.is_none_or(|mean| (0.0..=1e6).contains(&mean))
            && self.driver_ms <= MOST_MS
            && self.times[0].0 > 0
            && self.times.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && self.times.iter().all(|(_, ms)| (1..=MOST_MS).contains(ms))
    }

    /// Returns the numbers of executors that are compared by default with a run on `executors`: 1
    /// to twice as many, in equal steps.
    pub fn compared_executors(executors: u32) -> impl Iterator<Item = u32> {
        let most = executors.saturating_mul(2);
        let step = most.div_ceil(MOST_COUNTS).max(1);
        (1..=most).filter(move |count| count.is_multiple_of(step) || [1, executors].contains(count))
    }
}

/// A completed run with the times that its event log gives on other configurations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedRun {
    /// Largest number of executors at one time.
    pub executors: u32,
    /// Cores of an executor.
    pub cores_per_executor: u32,
    /// Measured completion time, seconds.
    pub completion_time_secs: f64,
    /// Amount of work that the run did: bytes, rows, tasks or images.
    pub amount: f64,
    /// When the run started, milliseconds since 1970.
    pub started_ms: i64,
    /// Simulated times.
    pub simulated: SlotTimes,
}

impl LoggedRun {
    /// Converts a sample; `None` unless its run completed and has simulated times.
    pub fn of(sample: &Sample) -> Option<Self> {
        let (executors, cores_per_executor) = sample.configuration.split().equal_counts()?;
        Some(Self {
            executors,
            cores_per_executor,
            completion_time_secs: sample.completed_secs()?,
            amount: sample.workload.images_processed() * sample.sampling_rate,
            started_ms: sample.started_at.as_millisecond(),
            simulated: sample.simulated.clone()?,
        })
    }

    /// Whether this is the log of an observation.
    pub fn is_of(&self, run: &Observation) -> bool {
        run.split().equal_counts() == Some((self.executors, self.cores_per_executor))
            && run.completion_time_secs.to_bits() == self.completion_time_secs.to_bits()
    }

    /// Returns the time that the run would have taken on another configuration, seconds: simulated,
    /// and corrected by how the simulation of its own configuration deviates. `None` if it cannot
    /// be scheduled there.
    pub fn secs_at(&self, executors: u32, cores_per_executor: u32) -> Option<f64> {
        let there = self.simulated.at(executors, cores_per_executor)?;
        // If executors came and went, the simulation has no such configuration.
        let is_constant = self.simulated.mean_executors.is_none();
        let own = self.simulated.at(self.executors, self.cores_per_executor).filter(|_| is_constant);
        Some(own.map_or(there, |own| there * (self.completion_time_secs / own)))
    }

    /// Returns the executors of the configuration that its time is of.
    pub fn own_executors(&self) -> f64 {
        self.simulated.mean_executors.map_or_else(|| self.executors.into(), |mean| mean.max(1.0))
    }

    /// Whether all numbers are in their ranges.
    pub fn is_valid(&self) -> bool {
        let is_amount = self.amount.is_finite() && self.amount > 0.0;
        let is_time = self.completion_time_secs.is_finite() && self.completion_time_secs > 0.0;
        is_amount && is_time && self.executors > 0 && self.cores_per_executor > 0 && self.simulated.is_valid()
    }
}

#[cfg(test)]
mod tests {
    use super::{LoggedRun, SlotTimes};

    fn times(times: &[(u32, u64)]) -> SlotTimes {
        SlotTimes { cores_per_task: 1, mean_executors: None, driver_ms: 500, times: times.to_vec() }
    }

    #[test]
    fn times_between_two_numbers_of_slots_are_interpolated() {
        let times = times(&[(2, 8_000), (8, 2_000)]);
        // Time × slots is constant, and so it is between.
        assert!((times.at(4, 1).unwrap() - 4.0).abs() < 1e-12, "{:?}", times.at(4, 1));
        assert_eq!([times.at(1, 1), times.at(1, 2), times.at(100, 1)], [None, Some(8.0), Some(2.0)]);
    }

    #[test]
    fn a_task_of_several_cores_takes_a_slot_of_them() {
        let times = SlotTimes { cores_per_task: 2, ..times(&[(1, 9_000), (2, 5_000)]) };
        assert_eq!([times.at(1, 5), times.at(2, 1), times.at(1, 3)], [Some(5.0), None, Some(9.0)]);
    }

    #[test]
    fn a_run_is_corrected_by_its_own_time_unless_its_executors_came_and_went() {
        let simulated = times(&[(2, 8_000), (4, 4_000)]);
        let run = |simulated| LoggedRun {
            executors: 2,
            cores_per_executor: 1,
            completion_time_secs: 10.0,
            amount: 1.0,
            started_ms: 0,
            simulated,
        };
        let constant = run(simulated.clone());
        assert_eq!((constant.secs_at(4, 1), constant.own_executors()), (Some(5.0), 2.0));
        let changing = run(SlotTimes { mean_executors: Some(1.5), ..simulated });
        assert_eq!((changing.secs_at(4, 1), changing.own_executors()), (Some(4.0), 1.5));
    }

    #[test]
    fn numbers_out_of_order_or_range_are_refused() {
        assert!(times(&[(1, 9_000), (2, 5_000)]).is_valid());
        for wrong in [&[][..], &[(0, 1)], &[(2, 1), (1, 1)], &[(1, 0)], &[(1, u64::MAX)]] {
            assert!(!times(wrong).is_valid(), "{wrong:?}");
        }
        assert!(!SlotTimes { cores_per_task: 0, ..times(&[(1, 1)]) }.is_valid());
        assert!(!SlotTimes { mean_executors: Some(f64::NAN), ..times(&[(1, 1)]) }.is_valid());
    }

    #[test]
    fn compared_executors_include_the_logged_number() {
        assert_eq!(SlotTimes::compared_executors(2).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let many: Vec<u32> = SlotTimes::compared_executors(1_001).collect();
        assert!(many.len() <= 66 && many.contains(&1_001) && many.contains(&1), "{many:?}");
    }
}
