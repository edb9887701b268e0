//! The published scenarios on the runs of a job.

use std::ops::ControlFlow;

use foreglow_model::{Answer, Effects, Grid, Outcome, Predictor, Setting, median, scenario_table, score};
use foreglow_shared::{Job, Observation, sort_by};

use crate::worker::messages::{OwnAccuracy, Published, Scenario};

/// Limit on the settings that are held out, each of which costs a fit.
const MOST_HELD_OUT: usize = 12;

/// Evaluates the published scenarios. `clock` returns seconds and times their training.
pub fn evaluate(job: &Job, clock: &mut dyn FnMut() -> f64) -> Published {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let rows = scenario_table(&job.context, &job.observations, Grid::Linear, clock, watch).unwrap_or_default();
    let effects = Effects::fit(&job.context, &job.observations).map_err(|error| error.to_string());
    Published { scenarios: rows.into_iter().map(Scenario::from).collect(), effects }
}

/// Predicts measured settings, each by a fit of the job's predictor without its runs.
pub fn own_accuracy(job: &Job) -> OwnAccuracy {
    let mut settings: Vec<Setting> = job.observations.iter().map(Setting::of).collect();
    sort_by(&mut settings, Setting::order);
    settings.dedup();
    let stride = settings.len().div_ceil(MOST_HELD_OUT).max(1);
    let outcome = |held: &Setting| {
        let (own, others): (Vec<Observation>, Vec<Observation>) =
            job.observations.iter().partition(|run| Setting::of(run) == *held);
        let predictor = Predictor::fit_job(&Job { observations: others, ..job.clone() }).ok()?;
        let measured_secs = median(own.iter().map(|run| run.completion_time_secs));
        Some(Outcome { measured_secs, answer: Answer::of(&predictor.predict(*held), false) })
    };
    let outcomes: Vec<Outcome> = settings.iter().step_by(stride).filter_map(outcome).collect();
    let score = score(&outcomes);
    let intervals = score.coverage.unwrap_or_default().all();
    OwnAccuracy {
        settings: score.tested,
        median_error_percent: score.median_ape_percent,
        intervals: intervals.tested,
        held: intervals.held,
    }
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
        let own = own_accuracy(&job());
        assert_eq!((own.settings, own.intervals), (11, 11), "10 settings of samples and a whole job");
        assert!(own.held <= own.intervals && own.median_error_percent.is_some_and(|error| error < 10.0), "{own:?}");
        let wire = encode(&Response::Evaluated(Box::new(published.clone()))).unwrap();
        let Ok(Response::Evaluated(arrived)) = decode(&wire) else { unreachable!() };
        assert_eq!(*arrived, published);
    }
}
