//! The published scenarios on the runs of a job.

use std::ops::ControlFlow;

use foreglow_model::{Effects, Grid, scenario_table};
use foreglow_shared::Job;

use crate::worker::messages::{Published, Scenario};

/// Evaluates the published scenarios. `clock` returns seconds and times their training.
pub fn evaluate(job: &Job, clock: &mut dyn FnMut() -> f64) -> Published {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let rows = scenario_table(&job.context, &job.observations, Grid::Linear, clock, watch).unwrap_or_default();
    let effects = Effects::fit(&job.context, &job.observations).map_err(|error| error.to_string());
    Published { scenarios: rows.into_iter().map(Scenario::from).collect(), effects }
}

/// Compares the published scenarios with all of their learners, which takes seconds to minutes.
/// `watch` is called after each step with the steps done and in total.
pub fn compare(job: &Job, clock: &mut dyn FnMut() -> f64, watch: &mut dyn FnMut(u64, u64)) -> Option<Vec<Scenario>> {
    let watch = &mut |done, total| {
        watch(done, total);
        ControlFlow::Continue(())
    };
    let rows = scenario_table(&job.context, &job.observations, Grid::Published, clock, watch).ok()?;
    Some(rows.into_iter().map(Scenario::from).collect())
}

#[cfg(test)]
mod tests {
    use foreglow_shared::Observation;

    use super::*;
    use crate::worker::messages::Response;
    use crate::worker::wire::{decode, encode};

    fn job() -> Job {
        let context = serde_json::from_str(
            r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
                "engine":"local","host":{"cpu":"Some CPU"}}"#,
        )
        .unwrap();
        let mut observations = Vec::new();
        for (executors, cores_per_executor) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)] {
            for sampling_rate in [0.01, 0.1] {
                let slots = f64::from(executors) * f64::from(cores_per_executor);
                observations.push(Observation {
                    executors,
                    cores_per_executor,
                    total_cores: None,
                    memory_per_executor_mib: 1024,
                    partition_size: 8,
                    sampling_rate,
                    completion_time_secs: 97.3 * sampling_rate / slots + 0.011,
                    startup_secs: Some(0.5),
                    disturbed: false,
                    log_error: 0.0,
                });
            }
        }
        observations.push(Observation { sampling_rate: 1.0, completion_time_secs: 99.0, ..observations[0] });
        Job::of_runs(context, observations)
    }

    #[test]
    fn the_published_scenarios_sent_to_the_page_are_those_of_the_worker() {
        let published = evaluate(&job(), &mut || 0.0);
        assert_eq!(published.scenarios.len(), 7);
        let wire = encode(&Response::Evaluated(Box::new(published.clone()))).unwrap();
        let Ok(Response::Evaluated(arrived)) = decode(&wire) else { unreachable!() };
        assert_eq!(*arrived, published);
    }
}
