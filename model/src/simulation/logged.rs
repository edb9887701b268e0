//! One run of an application with its event log.

use foreglow_shared::Context;
use foreglow_spark_log::Run;

use super::{Simulation, SimulationError};

/// A run of an application with its event log.
#[derive(Clone, Debug)]
pub struct LoggedRun {
    pub(super) simulation: Simulation,
    /// What must be equal for its time to be comparable, with the amount of its work.
    pub context: Context,
    /// Amount of work that the run did: bytes, rows, tasks or images.
    pub amount: f64,
    /// Largest number of executors at one time.
    pub executors: u32,
    /// Executors of the configuration that its time is of: the largest number, or the average over
    /// the run if executors came and went.
    pub(super) own_executors: f64,
    /// Cores of an executor.
    pub cores_per_executor: u32,
    /// Measured time divided by the simulated one on the same configuration; 1 if executors came
    /// and went, because then the simulation has no such configuration.
    correction: f64,
}

/// Simulated time of a logged run on another configuration, with the amount of work that it had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// ln of the time, seconds.
    pub log_secs: f64,
    /// Share of the time in which only the driver works.
    pub driver_share: f64,
}

impl LoggedRun {
    /// Prepares a run of a context that did this amount of work; `None` if the log has no
    /// executors.
    ///
    /// # Errors
    /// [`SimulationError::NoTasks`]: the log contains no tasks of the run.
    pub fn new(run: &Run<'_>, context: Context, amount: f64) -> Result<Option<Self>, SimulationError> {
        let simulation = Simulation::of(run)?;
        let Some(used) = run.used() else { return Ok(None) };
        let own = simulation.at(used.executors, used.cores_per_executor);
        let is_constant = used.executors_removed == 0;
        let correction = own
            .filter(|own| is_constant && own.completion_time_secs > 0.0 && simulation.measured_secs() > 0.0)
            .map_or(1.0, |own| simulation.measured_secs() / own.completion_time_secs);
        Ok(Some(Self {
            simulation,
            context,
            amount,
            executors: used.executors,
            own_executors: if is_constant { f64::from(used.executors) } else { used.mean_executors.max(1.0) },
            cores_per_executor: used.cores_per_executor,
            correction,
        }))
    }

    /// Simulates the run on another configuration; `None` if it cannot run there.
    pub(super) fn moved(&self, executors: u32, cores_per_executor: u32) -> Option<Moved> {
        let there = self.simulation.at(executors, cores_per_executor)?;
        let secs = there.completion_time_secs * self.correction;
        let log_secs = libm::log(secs);
        log_secs.is_finite().then_some(Moved { log_secs, driver_share: there.driver_share })
    }
}
