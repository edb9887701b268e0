//! Simulates a Spark application on other numbers of executors and cores, from its event log.
//!
//! The measured tasks are scheduled in their order onto the slots of another cluster. Stages wait
//! for their parents, and time spent only in the driver is unchanged. Source of the method:
//! Qubole's Sparklens (its `PQParallelStageScheduler`, critical path and ideal time); the simulated
//! scheduler is Spark's FIFO.
//!
//! Task durations are assumed not to depend on the configuration. If the cores of an executor share
//! a bottleneck such as memory bandwidth, tasks slow down as cores are added, and the simulated
//! time is too short.

mod plan;
mod schedule;

use std::collections::BTreeSet;

use foreglow_shared::SlotTimes;
use serde::Serialize;

use self::plan::Plan;
use crate::run::Run;

/// Largest number of slots up to which each number is simulated for [`SlotTimes`].
const EACH_SLOT: u64 = 32;
/// Largest number of slots that is simulated for [`SlotTimes`].
const MOST_SLOTS: u64 = 1 << 20;
/// Most numbers of tasks in a stage, the largest, at whose rounds a run is simulated; and the most
/// rounds.
const MOST_WIDTHS: usize = 8;
const MOST_ROUNDS: u64 = 4;
/// About the most tasks that are simulated for [`SlotTimes`], over all numbers of slots, and the
/// fewest numbers of slots.
const MOST_TASKS: u64 = 10_000_000;
const LEAST_COUNTS: usize = 16;

/// A run that is ready to be simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    plan: Plan,
    measured_secs: f64,
    driver_ms: u64,
    work_ms: u64,
}

/// Why a run cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The log contains no tasks of the run.
    #[error("the log contains none of its tasks, so there is nothing to simulate; run it again")]
    NoTasks,
}

/// Simulated times of a run on one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SimulatedTime {
    /// Time from the submission of the first job to the end of the last, seconds.
    pub completion_time_secs: f64,
    /// Time with perfectly divisible tasks: driver time plus work divided by slots, seconds; at
    /// most the completion time.
    pub ideal_secs: f64,
    /// Share of the completion time in which only the driver works, which more executors cannot
    /// shorten.
    pub driver_share: f64,
    /// Share of the completion time above the ideal, caused by long tasks, too few tasks, or
    /// dependent stages.
    pub skew_share: f64,
    /// Share of the slots' time that tasks use.
    pub busy_share: f64,
}

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// [`SimulationError::NoTasks`]: the log contains no tasks of the run.
    pub fn of(run: &Run<'_>) -> Result<Self, SimulationError> {
        let plan = Plan::of(run);
        let work_ms = plan.work_ms();
        if work_ms == 0 {
            return Err(SimulationError::NoTasks);
        }
        let driver_ms = schedule::completion_ms(&plan.without_tasks(), None);
        Ok(Self { plan, measured_secs: run.completion_time_secs(), driver_ms, work_ms })
    }

    /// Returns the measured time of the run, seconds.
    pub fn measured_secs(&self) -> f64 {
        self.measured_secs
    }

    /// Returns the time with a slot for every task, seconds: the longest chain of driver time and
    /// dependent tasks.
    pub fn critical_path_secs(&self) -> f64 {
        secs(schedule::completion_ms(&self.plan, None))
    }

    /// Returns the time on one slot, seconds: driver time and all tasks in sequence.
    pub fn one_core_secs(&self) -> f64 {
        self.driver_secs() + self.work_secs()
    }

    /// Returns the time in which only the driver works, seconds.
    pub fn driver_secs(&self) -> f64 {
        secs(self.driver_ms)
    }

    /// Returns the total time of all tasks, seconds.
    pub fn work_secs(&self) -> f64 {
        secs(self.work_ms)
    }

    /// Returns the number of tasks, including those of unknown duration.
    pub fn tasks(&self) -> u64 {
        self.plan.tasks()
    }

    /// Returns the number of tasks without a duration in the log; the median of their stage is used
    /// for them.
    pub fn unknown_tasks(&self) -> u64 {
        self.plan.unknown_tasks
    }

    /// Simulates the run on another configuration. `None` if a barrier stage has more tasks than
    /// there are slots, or an executor has fewer cores than a task needs.
    pub fn at(&self, executors: u32, cores_per_executor: u32) -> Option<SimulatedTime> {
        let of_each = u64::from(cores_per_executor / self.plan.task_cpus);
        let slots = u64::from(executors).saturating_mul(of_each);
        if slots == 0 || slots < self.plan.widest_barrier() {
            return None;
        }
        let simulated = schedule::completion_ms(&self.plan, Some(schedule::Slots { slots, of_each }));
        let completion_time_secs = secs(simulated);
        let (driver, work) = (self.driver_secs(), self.work_secs());
        let ideal_secs = (driver + work / slots as f64).min(completion_time_secs);
        let share = |secs: f64| if simulated == 0 { 0.0 } else { secs / completion_time_secs };
        Some(SimulatedTime {
            completion_time_secs,
            ideal_secs,
            driver_share: share(driver.min(completion_time_secs)),
            skew_share: share(completion_time_secs - ideal_secs),
            busy_share: share(work / slots as f64).min(1.0),
        })
    }
}

impl Simulation {
    /// Returns the numbers of slots to simulate, ascending: those of the executors that a plan
    /// compares, each small number, doublings beyond, and those at which a stage needs a round of
    /// tasks less, because the time changes there at once. Of a run with very many tasks fewer.
    fn slot_counts(&self, executors: u32, of_each: u64) -> Vec<u64> {
        let of_executors = |count: u32| u64::from(count).saturating_mul(of_each);
        let mut counts: BTreeSet<u64> = SlotTimes::compared_executors(executors).map(of_executors).collect();
        let most = counts.last().copied().unwrap_or(1);
        let least = self.plan.widest_barrier().max(1);
        counts.extend(1..=most.min(EACH_SLOT));
        let doubled = std::iter::successors(Some(most.max(least)), |count| Some(count * 2));
        counts.extend(doubled.take_while(|count| *count <= MOST_SLOTS));
        let widths: BTreeSet<u64> = self.plan.widths().collect();
        for width in widths.into_iter().rev().take(MOST_WIDTHS) {
            let rounds = (1..=MOST_ROUNDS).map(|rounds| width.div_ceil(rounds));
            counts.extend(
                rounds
                    .flat_map(|slots| [slots, slots.saturating_sub(1)])
                    .filter(|slots| (1..=MOST_SLOTS).contains(slots)),
            );
        }
        let counts: Vec<u64> = counts.split_off(&least).into_iter().collect();
        let affordable = usize::try_from(MOST_TASKS / self.tasks().max(1)).unwrap_or(usize::MAX).max(LEAST_COUNTS);
        let step = counts.len().div_ceil(affordable);
        let is_kept = |place: usize, count: u64| place.is_multiple_of(step) || count == of_executors(executors);
        (0..).zip(counts).filter(|(place, count)| is_kept(*place, *count)).map(|(_, count)| count).collect()
    }
}

impl Run<'_> {
    /// Simulates the run on the numbers of slots that a plan compares, up to where more bring
    /// nothing; `None` if the log has no executors.
    ///
    /// # Errors
    /// [`SimulationError::NoTasks`]: the log contains no tasks of the run.
    pub fn slot_times(&self) -> Result<Option<SlotTimes>, SimulationError> {
        let simulation = Simulation::of(self)?;
        let plan = &simulation.plan;
        let Some(used) = self.used() else { return Ok(None) };
        let of_each = u64::from(used.cores_per_executor / plan.task_cpus).max(1);
        let shortest_ms = schedule::completion_ms(plan, None).max(1);
        let mut times: Vec<(u32, u64)> = Vec::new();
        for slots in simulation.slot_counts(used.executors, of_each) {
            let ms = schedule::completion_ms(plan, Some(schedule::Slots { slots, of_each })).max(1);
            times.push((u32::try_from(slots).unwrap_or(u32::MAX), ms));
            if ms <= shortest_ms {
                break;
            }
        }
        let is_constant = used.executors_removed == 0;
        Ok(Some(SlotTimes {
            cores_per_task: plan.task_cpus,
            mean_executors: (!is_constant).then_some(used.mean_executors),
            driver_ms: simulation.driver_ms,
            times,
        }))
    }
}

fn secs(ms: u64) -> f64 {
    // Exact below 2^53 milliseconds.
    ms as f64 / 1000.0
}
