//! The work of the workers: fits, and the published scenarios.

use std::hint::black_box;
use std::ops::ControlFlow;

use foreglow_model::{Effects, Grid, Limits, Plan, Predictor, Setting, scenario_table};
use foreglow_shared::{Job, Question, WhatIf};

use crate::data::job::{Space, most_counts};
use crate::plot::grid::{self, thinned};
use crate::plot::lines::{counts_of, line, lines, lines_for, measured, whole_job_secs};
use crate::worker::messages::{Fitted, FromFit, Published, Scenario};

/// Limit on the runs of a fit, whose time is cubic in them.
const MOST_RUNS: usize = 5_000;

/// Fits a job.
///
/// # Errors
/// No predictor can be fitted to these runs; one sentence with the reason.
pub fn fit(job: &Job) -> Result<Fitted, String> {
    let runs = job.observations.len();
    if runs > MOST_RUNS {
        return Err(format!(
            "there are {runs} runs, and the page fits at most {MOST_RUNS}; use the runs of one job with fewer repeats, or run \
             `foreglow plan` on them"
        ));
    }
    let predictor = Predictor::fit_job(job).map_err(|error| error.to_string())?;
    predictor.prepare(&settings(job));
    let whole_job_secs = whole_job_secs(&predictor, &job.observations);
    Ok(Fitted { predictor, whole_job_secs })
}

/// Evaluates the published scenarios. `clock` returns seconds and times their training.
pub fn evaluate(job: &Job, clock: &mut dyn FnMut() -> f64) -> Published {
    let watch = &mut |_, _| ControlFlow::Continue(());
    let rows = scenario_table(&job.context, &job.observations, Grid::Linear, clock, watch).unwrap_or_default();
    let effects = Effects::fit(&job.context, &job.observations).map_err(|error| error.to_string());
    Published { scenarios: rows.into_iter().map(Scenario::from).collect(), effects }
}

/// Runs the code that the page runs for a new answer. The page and the worker share one compiled
/// module, and browsers compile functions at the first call, so this moves the compilation off the
/// page's thread.
pub fn rehearse(answer: &str, job: &Job, question: &Question) {
    let Ok(FromFit::Answer(_, Ok(fitted))) = serde_json::from_str(answer) else { return };
    let predictor = &fitted.predictor;
    let WhatIf { executors, cores_per_executor } = question.what_if;
    black_box(predictor.predict(Setting::even(executors, cores_per_executor, 1.0)));
    // The second decision reuses the predictions of the first, as after a change of the deadline.
    if let Ok(plan) = Plan::from_context(predictor.clone(), job, question) {
        let limits = Limits::of(question);
        let later = Limits { deadline_secs: Some(1.0), ..limits };
        black_box((plan.decide(&limits).ok(), plan.decide(&later).ok()));
    }
    let grid = grid::Grid::of(predictor, &Space::of(question));
    let cores = lines_for(&grid.cores, &counts_of(&job.observations, |run| run.cores_per_executor));
    black_box((
        lines(predictor, &grid.executors, &cores),
        line(predictor, &thinned(&grid.executors, 2), cores_per_executor),
    ));
    black_box((measured(&fitted.whole_job_secs, &job.observations), predictor.held_out()));
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

/// One representative setting for each kind of question, so that the worker fits everything the
/// page can ask. Each count is the smallest or largest measured, the smallest or largest
/// selectable, or one beyond the measured range; the sampling rate is 1 or the smallest measured.
fn settings(job: &Job) -> Vec<Setting> {
    let counts = |of: fn(&Setting) -> u32| {
        let measured = || job.observations.iter().map(Setting::of).map(|setting| of(&setting));
        let (fewest, most) = (measured().min().unwrap_or(1), measured().max().unwrap_or(1));
        let mut counts = vec![1, fewest, most, most.saturating_add(1), most.max(most_counts(job))];
        counts.dedup();
        counts
    };
    let (executors, cores) = (counts(|setting| setting.executors), counts(|setting| setting.cores_per_executor));
    let least = job.observations.iter().map(|run| run.sampling_rate).fold(1.0, f64::min);
    let pairs = executors.iter().flat_map(|e| cores.iter().map(|c| (*e, *c)));
    let at = |executors: u32, cores_per_executor: u32| {
        [1.0, least].map(|sampling_rate| Setting::even(executors, cores_per_executor, sampling_rate))
    };
    pairs.flat_map(|(executors, cores)| at(executors, cores)).collect()
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Engine, Mode, Observation};

    use super::*;
    use crate::worker::messages::FromErrand;

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
                });
            }
        }
        observations.push(Observation { sampling_rate: 1.0, completion_time_secs: 99.0, ..observations[0] });
        Job::of_runs(context, observations)
    }

    #[test]
    fn a_predictor_sent_to_the_page_predicts_the_same_to_the_last_digit() {
        let fitted = fit(&job()).unwrap();
        let wire = serde_json::to_string(&FromFit::Answer(7, Ok(Box::new(fitted.clone())))).unwrap();
        let FromFit::Answer(7, Ok(arrived)) = serde_json::from_str(&wire).unwrap() else { unreachable!() };
        for executors in 1..9 {
            for cores_per_executor in 1..9 {
                let setting = Setting::even(executors, cores_per_executor, 1.0);
                assert_eq!(arrived.predictor.predict(setting), fitted.predictor.predict(setting));
            }
        }
    }

    #[test]
    fn the_published_scenarios_sent_to_the_page_are_those_of_the_worker() {
        let published = evaluate(&job(), &mut || 0.0);
        assert_eq!(published.scenarios.len(), 7);
        let wire = serde_json::to_string(&FromErrand::Evaluated(Box::new(published.clone()))).unwrap();
        let FromErrand::Evaluated(arrived) = serde_json::from_str(&wire).unwrap() else { unreachable!() };
        assert_eq!(*arrived, published);
    }

    /// A job with a run of every configuration that fits the processors of its machine; without
    /// processors it is a cluster's job.
    fn job_of(processors: Option<u32>, executors: &[u32], cores: &[u32]) -> Job {
        let mut job = job();
        job.context.host.processors = processors;
        job.context.engine = if processors.is_some() { Engine::Local } else { Engine::Spark };
        let run = job.observations[0];
        job.observations.clear();
        for (executors, cores_per_executor) in executors.iter().flat_map(|e| cores.iter().map(|c| (*e, *c))) {
            let slots = executors * cores_per_executor;
            for sampling_rate in [0.01, 0.1].into_iter().filter(|_| processors.is_none_or(|most| slots <= most)) {
                let completion_time_secs = 97.3 * sampling_rate / f64::from(slots) + 0.011 * f64::from(executors);
                let own = Observation { executors, cores_per_executor, sampling_rate, completion_time_secs, ..run };
                job.observations.push(own);
            }
        }
        job
    }

    fn decide(predictor: &Predictor, job: &Job, question: &Question) {
        let plan = Plan::from_context(predictor.clone(), job, question).unwrap();
        plan.decide(&Limits::of(question)).unwrap();
    }

    /// Asks all questions of the page, for counts up to 512, and returns whether that caused a fit.
    fn fits_on_demand(job: &Job) -> bool {
        let mut question = Question::about(&job.observations);
        question.executors = (1..=512).collect();
        question.cores_per_executor = (1..=200).collect();
        question.deadline_secs = Some(20.0);
        let wire = serde_json::to_string(&fit(job).unwrap()).unwrap();
        let arrived: Fitted = serde_json::from_str(&wire).unwrap();
        let predictor = &arrived.predictor;
        let grid = grid::Grid::of(predictor, &Space::of(&question));
        lines(predictor, &grid.executors, &lines_for(&grid.cores, &[]));
        decide(predictor, job, &question);
        question.cores_per_executor.truncate(7);
        decide(predictor, job, &question);
        for (executors, cores_per_executor) in grid.executors.iter().flat_map(|e| grid.cores.iter().map(|c| (*e, *c))) {
            for sampling_rate in [0.01, 0.04, 0.1, 0.6, 1.0] {
                predictor.predict(Setting::even(executors, cores_per_executor, sampling_rate));
            }
            predictor.factors(executors, cores_per_executor);
        }
        job.observations.iter().for_each(|run| drop(predictor.predict(Setting::of(run))));
        predictor.held_out();
        predictor.warnings();
        serde_json::to_string(&arrived).unwrap() != wire
    }

    #[test]
    fn the_page_never_fits_whatever_is_asked() {
        let mut jobs = vec![
            job(),
            job_of(None, &[2, 4, 8], &[2, 3, 5]),
            job_of(None, &[3], &[1, 2]),
            job_of(Some(2), &[1, 2], &[1, 2]),
            job_of(Some(100), &[2, 4, 8], &[2, 4, 8]),
            job_of(Some(12), &[1, 4], &[3, 6]),
        ];
        let mut other = jobs[1].clone();
        for (place, run) in other.observations.iter_mut().enumerate() {
            (run.memory_per_executor_mib, run.partition_size) =
                ([1024, 2048][place / 2 % 2], [8, 16, 24][place / 4 % 3]);
        }
        jobs[1].observations.extend(other.observations);
        let mut training = jobs[5].clone();
        training.context.workload.mode = Mode::Training;
        jobs.push(training);
        for (place, job) in jobs.iter().enumerate() {
            assert!(!fits_on_demand(job), "{place}");
        }
    }

    #[test]
    fn a_predictor_whose_runs_disagree_keeps_its_warnings_when_sent_to_the_page() {
        let mut job = job();
        let repeats = [1.0, 1.01, 0.99, 1.02, 4.0].map(|factor| Observation {
            completion_time_secs: job.observations[0].completion_time_secs * factor,
            ..job.observations[0]
        });
        job.observations.extend(repeats);
        let fitted = fit(&job).unwrap();
        assert!(!fitted.predictor.warnings().is_empty(), "one run took four times as long as its repeats");
        let wire = serde_json::to_string(&fitted).unwrap();
        let arrived: Fitted = serde_json::from_str(&wire).unwrap();
        assert_eq!(arrived.predictor.warnings(), fitted.predictor.warnings());
    }

    #[test]
    fn what_a_file_holds_reaches_the_page_unchanged() {
        let table = b"nodes,cores,fraction,runtime\n1,1,0.1,12.5\n2,1,0.1,7.25\n";
        let moments = concat!(
            r#"{"secs":1,"images_per_sec":2.5,"processors":1,"sample":"019aa6d1-0000-7000-8000-000000000001","#,
            r#""executors":2,"cores_per_executor":4,"sampling_rate":0.1}"#,
            "\n"
        );
        for file in [&table[..], moments.as_bytes(), b"{}"] {
            let imported = crate::worker::import::import(file, None);
            let wire = serde_json::to_string(&FromErrand::Imported(imported.clone())).unwrap();
            let FromErrand::Imported(arrived) = serde_json::from_str(&wire).unwrap() else { unreachable!() };
            assert_eq!(arrived, imported);
        }
    }

    #[test]
    fn a_job_without_runs_says_what_to_collect() {
        let empty = Job { observations: Vec::new(), ..job() };
        assert!(fit(&empty).unwrap_err().contains("collect"));
    }

    #[test]
    fn a_whole_run_keeps_its_own_time_and_a_sample_keeps_its_relative_error() {
        let job = job();
        let Fitted { predictor, whole_job_secs, .. } = fit(&job).unwrap();
        let points = measured(&whole_job_secs, &job.observations);
        let whole = points.iter().find(|point| point.run.sampling_rate == 1.0).unwrap();
        assert_eq!(whole.whole_job_secs, 99.0);
        for point in points.iter().filter(|point| point.run.sampling_rate < 1.0) {
            let own = predictor.predict(Setting::of(&point.run)).completion_time_secs.unwrap();
            let drawn = line(&predictor, &[point.run.executors], point.run.cores_per_executor).points[0].secs;
            let missed = point.run.completion_time_secs / own;
            assert!((point.whole_job_secs / drawn - missed).abs() < 1e-12);
        }
    }
}
