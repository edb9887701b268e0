//! What a Spark application would have taken on other executors and cores, from its event log alone.
//!
//! The measured tasks are put in their order onto the slots of another cluster, stages after those that they depend on,
//! and the time that only the driver worked is kept as it was. Source of the method: Qubole's Sparklens (its
//! `PQParallelStageScheduler`, critical path and ideal time); the scheduler imitated is Spark's own, first in, first out.
//!
//! A task is taken to last as long on every configuration. Where cores of one executor share a bound, as memory bandwidth,
//! more of them make every task slower, and the real time is above the simulated one.

mod plan;
mod schedule;

use foreglow_shared::event_log::Run;
use serde::Serialize;

use self::plan::Plan;

/// A run, ready to be simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    plan: Plan,
    measured_secs: f64,
    driver_ms: u64,
    work_ms: u64,
}

/// What a simulation cannot be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// No task.
    #[error("none of its tasks is in the log, so that there is nothing to simulate; run it again")]
    NoTasks,
}

/// A run on one configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SimulatedTime {
    /// From the submission of the first job to the end of the last, seconds.
    pub completion_time_secs: f64,
    /// The same if the tasks' time could be divided evenly over all slots at every moment that the driver leaves them,
    /// seconds; never above the completion time.
    pub ideal_secs: f64,
    /// Share of the completion time in which only the driver works: no number of executors makes it shorter.
    pub driver_share: f64,
    /// Share of the completion time by which it is above the ideal: long tasks, too few tasks, stages that wait for others.
    pub skew_share: f64,
    /// Share of the slots' time in which tasks run.
    pub busy_share: f64,
}

impl Simulation {
    /// Prepares a run.
    ///
    /// # Errors
    /// The log holds none of its tasks.
    pub fn of(run: &Run<'_>) -> Result<Self, SimulationError> {
        let plan = Plan::of(run);
        let work_ms = plan.work_ms();
        if work_ms == 0 {
            return Err(SimulationError::NoTasks);
        }
        let driver_ms = schedule::completion_ms(&plan.without_tasks(), None);
        Ok(Self { plan, measured_secs: run.completion_time_secs(), driver_ms, work_ms })
    }

    /// What the log says it took, seconds.
    pub fn measured_secs(&self) -> f64 {
        self.measured_secs
    }

    /// Time with a slot for every task, seconds: the longest chain of driver time and tasks that wait for each other.
    pub fn critical_path_secs(&self) -> f64 {
        secs(schedule::completion_ms(&self.plan, None))
    }

    /// Time on one slot, seconds: one task after the other, and the driver between them.
    pub fn one_core_secs(&self) -> f64 {
        self.driver_secs() + self.work_secs()
    }

    /// Time in which only the driver works, seconds.
    pub fn driver_secs(&self) -> f64 {
        secs(self.driver_ms)
    }

    /// Time of all tasks, seconds.
    pub fn work_secs(&self) -> f64 {
        secs(self.work_ms)
    }

    /// Tasks, those of unknown time included.
    pub fn tasks(&self) -> u64 {
        self.plan.tasks()
    }

    /// Tasks whose time is not in the log: the median of their stage stands for it.
    pub fn unknown_tasks(&self) -> u64 {
        self.plan.unknown_tasks
    }

    /// The run on `executors` of `cores_per_executor`; `None` where a stage whose tasks must all run at the same time has
    /// more of them than there are slots, or where an executor has fewer cores than one task takes.
    pub fn at(&self, executors: u32, cores_per_executor: u32) -> Option<SimulatedTime> {
        let of_each = u64::from(cores_per_executor / self.plan.task_cpus);
        let slots = u64::from(executors).saturating_mul(of_each);
        if slots == 0 || slots < self.plan.widest_barrier() {
            return None;
        }
        let simulated = schedule::completion_ms(&self.plan, Some(schedule::Slots { executors, of_each }));
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

fn secs(ms: u64) -> f64 {
    // Exact below 2^53 milliseconds.
    ms as f64 / 1000.0
}
