//! Times from event logs of several nights, with a known law: errors and coverage of the intervals.

use foreglow_model::{Basis, JointPredictor, Limits, Plan, Prediction, Predictor, Setting, Space, Verdict, advise};
use foreglow_shared::{Context, Job, JobDefinition, JobGroup, LoggedRun, Observation};
use foreglow_spark_log::{Application, EventLogReader};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::simulated::Random;
use crate::two_types::LIMITS;

/// Number of series of nights; fewer in the browser, where everything is slower.
const SERIES: u64 = if cfg!(target_arch = "wasm32") { 60 } else { 300 };

/// An application of two stages: tasks that read the data, and as many as there are partitions
/// after the shuffle, which take longer with more data.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// Time in which only the driver works, seconds.
    driver_secs: f64,
    /// Time of a task that reads one unit of data, seconds.
    task_secs: f64,
    /// Time of a task of the second stage that does not depend on the data, seconds.
    constant_secs: f64,
    /// Share by which each doubling of executors slows tasks down.
    contention: f64,
    /// Standard deviation of the log time of a night.
    night: f64,
}

const PARTITIONS: u32 = 20;

impl Law {
    /// Draws a law.
    fn draw(random: &mut Random) -> Self {
        Self {
            driver_secs: random.between(2.0, 22.0),
            task_secs: random.between(4.0, 8.0),
            constant_secs: random.between(0.0, 3.0),
            contention: random.between(-0.02, 0.1),
            night: random.between(0.02, 0.1),
        }
    }

    /// Writes the log of a run that reads `units` of data on executors of 2 cores.
    fn run(&self, executors: u32, units: u32, random: &mut Random) -> Application {
        let slow = 1.0 + self.contention * libm::log2(f64::from(executors));
        let night = libm::exp(self.night * random.normal()) * slow;
        let mut jitter = || libm::exp(0.1 * random.normal());
        let read: Vec<f64> = (0..units).map(|_| self.task_secs * night * jitter()).collect();
        let of_partition = self.constant_secs + 0.3 * self.task_secs * f64::from(units) / f64::from(PARTITIONS);
        let reduced: Vec<f64> = (0..PARTITIONS).map(|_| of_partition * night * jitter()).collect();
        write(executors, 2, self.driver_secs * night, &[read, reduced])
    }
}

/// Writes the log of stages in sequence, whose tasks are started in order on the first free slot.
fn write(executors: u32, cores: u32, driver_secs: f64, stages: &[Vec<f64>]) -> Application {
    let mut lines = vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"a","Timestamp":0}"#.to_owned(),
    ];
    for executor in 0..executors {
        lines.push(format!(
            r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":0,"Executor ID":"{executor}","Executor Info":{{"Host":"h","Total Cores":{cores}}}}}"#
        ));
    }
    let mut now_ms = 1000;
    let ids: Vec<usize> = (0..stages.len()).collect();
    lines.push(format!(
        r#"{{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":{now_ms},"Stage IDs":{ids:?}}}"#
    ));
    let ms = |secs: f64| (secs * 1e3) as i64;
    for (id, tasks) in stages.iter().enumerate() {
        now_ms += ms(driver_secs / stages.len() as f64);
        let submitted_ms = now_ms;
        let mut free_ms = vec![now_ms; (executors * cores) as usize];
        for (index, secs) in tasks.iter().enumerate() {
            let slot = (0..free_ms.len()).min_by_key(|slot| free_ms[*slot]).unwrap();
            let (from_ms, to_ms) = (free_ms[slot], free_ms[slot] + ms(*secs));
            free_ms[slot] = to_ms;
            lines.push(format!(
                r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{id},"Task End Reason":{{"Reason":"Success"}},"Task Info":{{"Index":{index},"Launch Time":{from_ms},"Executor ID":"0","Finish Time":{to_ms}}}}}"#
            ));
        }
        now_ms = free_ms.into_iter().max().unwrap();
        let parents: Vec<usize> = id.checked_sub(1).into_iter().collect();
        lines.push(format!(
            r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{{"Stage ID":{id},"Stage Name":"s","Number of Tasks":{},"Parent IDs":{parents:?},"Submission Time":{submitted_ms},"Completion Time":{now_ms}}}}}"#,
            tasks.len()
        ));
    }
    lines.push(format!(
        r#"{{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":{now_ms},"Job Result":{{"Result":"JobSucceeded"}}}}"#
    ));
    lines.push(format!(r#"{{"Event":"SparkListenerApplicationEnd","Timestamp":{now_ms}}}"#));
    let mut reader = EventLogReader::new();
    reader.push(lines.join("\n").as_bytes());
    reader.finish().unwrap()
}

fn context(units: u32) -> Context {
    let text = r#"{"workload":{"model":"nightly","mode":"inference","image_px":1,"images":1,"epochs":1,"batch_size":1,
        "unit":"bytes"},"engine":"spark","host":{}}"#;
    let mut context: Context = serde_json::from_str(text).unwrap();
    context.workload.images = units.into();
    context
}

fn logged(application: &Application, units: u32) -> LoggedRun {
    let runs = application.runs().unwrap();
    let used = runs[0].used().unwrap();
    LoggedRun {
        executors: used.executors,
        cores_per_executor: used.cores_per_executor,
        completion_time_secs: used.completion_time_secs,
        amount: units.into(),
        started_ms: 0,
        simulated: runs[0].slot_times().unwrap().unwrap(),
    }
}

/// Fits logged runs, for an amount of work.
fn fit(runs: &[LoggedRun], units: u32) -> Predictor {
    let parts: Vec<Job> = runs.iter().map(job).collect();
    Predictor::fit_job(&Job::joined(context(units), &parts.iter().collect::<Vec<_>>(), units.into())).unwrap()
}

/// Returns the job of a logged run.
fn job(run: &LoggedRun) -> Job {
    let observation = observation(run);
    Job { logged: vec![run.clone()], ..Job::of_runs(context(run.amount as u32), vec![observation]) }
}

fn secs(application: &Application) -> f64 {
    application.runs().unwrap()[0].completion_time_secs()
}

/// Answers about runs whose time is known: absolute log errors, and how many intervals held.
#[derive(Default)]
struct Answers {
    errors: Vec<f64>,
    held: usize,
}

impl Answers {
    fn add(&mut self, prediction: &Prediction, secs: f64) {
        let interval = prediction.interval.unwrap();
        self.held += usize::from((interval.lower_secs..=interval.upper_secs).contains(&secs));
        self.errors.push(libm::log(prediction.completion_time_secs.unwrap() / secs).abs());
    }

    fn median_error(&self) -> f64 {
        foreglow_model::median(&self.errors)
    }

    fn coverage(&self) -> f64 {
        self.held as f64 / self.errors.len() as f64
    }
}

/// Asks about one more run on these executors with this amount, after nights of (executors, units).
fn asked(seed: u64, nights: &[(u32, u32)], executors: u32, units: u32) -> Answers {
    let mut answers = Answers::default();
    for series in 0..SERIES {
        let mut random = Random(seed * 1_000_003 + series);
        let law = Law::draw(&mut random);
        let runs = nights.iter().map(|(executors, units)| logged(&law.run(*executors, *units, &mut random), *units));
        let predictor = fit(&runs.collect::<Vec<_>>(), units);
        let next = secs(&law.run(executors, units, &mut random));
        answers.add(&predictor.predict(Setting::even(executors, 2, 1.0)), next);
    }
    let (error, held) = (100.0 * answers.median_error(), 100.0 * answers.coverage());
    eprintln!("{} nights, then {executors} executors and {units}: {error:.1} % off, {held:.0} % held", nights.len());
    answers
}

#[test]
fn five_nights_predict_the_sixth_with_twice_the_data() {
    let nights = [(2, 60), (2, 64), (2, 57), (2, 70), (2, 62)];
    let answers = asked(1, &nights, 2, 124);
    let (error, coverage) = (answers.median_error(), answers.coverage());
    assert!(error < 0.08 && coverage > 0.85, "error {error}, coverage {coverage}");
}

#[test]
fn one_log_predicts_other_executors() {
    let answers = asked(2, &[(2, 80)], 8, 80);
    let (error, coverage) = (answers.median_error(), answers.coverage());
    assert!(error < 0.12 && coverage > 0.85, "error {error}, coverage {coverage}");
}

#[test]
fn logs_of_two_configurations_show_how_tasks_slow_down() {
    let one = asked(3, &[(2, 80), (2, 80), (2, 80), (2, 80)], 16, 80);
    let two = asked(3, &[(2, 80), (4, 80), (2, 80), (4, 80)], 16, 80);
    assert!(two.median_error() < 0.8 * one.median_error(), "{} {}", one.median_error(), two.median_error());
    assert!(one.coverage() > 0.85 && two.coverage() > 0.85, "{} {}", one.coverage(), two.coverage());
}

const QUIET: Law = Law { driver_secs: 10.0, task_secs: 5.0, constant_secs: 1.0, contention: 0.0, night: 0.0 };

/// Returns runs of a law without noise of the night, with these amounts.
fn quiet(units: &[u32]) -> Vec<(u32, Application)> {
    units.iter().map(|units| (*units, QUIET.run(2, *units, &mut Random(7)))).collect()
}

fn times(runs: &[(u32, Application)], amount: u32) -> Predictor {
    fit(&runs.iter().map(|(units, run)| logged(run, *units)).collect::<Vec<_>>(), amount)
}

fn width(prediction: &Prediction) -> f64 {
    let interval = prediction.interval.unwrap();
    interval.upper_secs / interval.lower_secs
}

#[test]
fn a_log_has_its_own_time_on_its_own_configuration_and_is_less_certain_further_away() {
    let runs = quiet(&[80]);
    let times = times(&runs, 320);
    let own = times.predict(Setting::even(2, 2, 0.25));
    assert!((own.completion_time_secs.unwrap() / secs(&runs[0].1) - 1.0).abs() < 1e-9, "{own:?}");
    let of = |executors, cores, share| width(&times.predict(Setting::even(executors, cores, share)));
    assert!(of(2, 2, 0.25) < of(4, 2, 0.25) && of(4, 2, 0.25) < of(16, 2, 0.25));
    assert!(of(2, 2, 0.25) < of(2, 4, 0.25) && of(2, 2, 0.25) < of(2, 2, 0.5) && of(2, 2, 0.5) < of(2, 2, 1.0));
}

#[test]
fn one_slow_night_moves_the_answer_little() {
    let mut runs = quiet(&[80, 80, 80, 80, 80, 80]);
    let without = times(&runs, 80).predict(Setting::even(4, 2, 1.0)).completion_time_secs.unwrap();
    runs[2] = (80, Law { task_secs: 10.0, constant_secs: 2.0, ..QUIET }.run(2, 80, &mut Random(7)));
    let with = times(&runs, 80).predict(Setting::even(4, 2, 1.0)).completion_time_secs.unwrap();
    assert!(libm::log(with / without).abs() < 0.03, "{with} {without}");
}

#[test]
fn the_spread_of_nights_of_one_configuration_widens_the_interval() {
    let mut random = Random(11);
    let noisy = Law { night: 0.2, ..QUIET };
    let noisy: Vec<(u32, Application)> = (0..8).map(|_| (80, noisy.run(2, 80, &mut random))).collect();
    let quiet = quiet(&[80; 8]);
    let of = |runs: &[(u32, Application)]| width(&times(runs, 80).predict(Setting::even(2, 2, 1.0)));
    assert!(of(&noisy) > 1.5 && of(&quiet) < 1.12, "{} {}", of(&noisy), of(&quiet));
}

#[test]
fn amounts_of_several_logs_show_the_constant_part() {
    let law = quiet(&[40, 60, 80, 100, 120, 240]);
    let (asked, known) = law.split_last().unwrap();
    let prediction = times(known, asked.0).predict(Setting::even(2, 2, 1.0));
    let error = libm::log(prediction.completion_time_secs.unwrap() / secs(&asked.1)).abs();
    assert!(error < 0.05, "{error}");
}

#[test]
fn a_plan_from_logs_compares_up_to_twice_the_logged_executors() {
    let runs = quiet(&[80, 80]);
    let logged: Vec<LoggedRun> = runs.iter().map(|(units, run)| logged(run, *units)).collect();
    let observations: Vec<Observation> = logged.iter().map(observation).collect();
    let group = alone(Job { logged, ..Job::of_runs(context(80), observations) });
    let joint = JointPredictor::fit(&group).unwrap();
    assert_eq!((joint.arms()[0].basis, joint.arms()[0].runs), (Basis::Simulated, 2));
    let limits = Limits { deadline_secs: Some(secs(&runs[0].1) * 0.75), probability: 0.5, ..LIMITS };
    let plan = Plan::new(joint.clone(), Space::default()).unwrap();
    let decision = plan.decide(&limits).unwrap();
    let splits: Vec<(u32, u32)> =
        decision.candidates.iter().map(|one| (one.placement.executors, one.placement.cores_per_executor)).collect();
    assert_eq!(splits, [(1, 2), (2, 2), (3, 2), (4, 2)]);
    // Without a price, the fewest executors that meet the deadline.
    assert_eq!(decision.candidates[decision.recommended.unwrap()].placement.executors, 3);
    let space = Space { executors: vec![6], cores_per_executor: vec![1, 4], ..Space::default() };
    assert_eq!(Plan::new(joint, space).unwrap().len(), 2);
}

#[test]
fn advice_on_one_log_compares_configurations() {
    let runs = quiet(&[80]);
    let group = alone(job(&logged(&runs[0].1, 80)));
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), Space::default()).unwrap();
    let advice = advise(&group, &plan, &LIMITS, &[]).unwrap();
    assert!(advice.best.is_some() && !matches!(advice.verdict, Verdict::First { .. }), "{advice:?}");
}

#[test]
fn a_run_that_the_user_excludes_counts_no_more_with_its_log() {
    let mut runs = quiet(&[80, 80]);
    runs[1] = (80, Law { task_secs: 10.0, ..QUIET }.run(2, 80, &mut Random(7)));
    let parts: Vec<Job> = runs.iter().map(|(units, run)| job(&logged(run, *units))).collect();
    let both = Job::joined(context(80), &parts.iter().collect::<Vec<_>>(), 80.0);
    let kept = Job { observations: parts[0].observations.clone(), ..both };
    let at = |job: &Job| Predictor::fit_job(job).unwrap().predict(Setting::even(3, 2, 1.0)).completion_time_secs;
    assert_eq!(at(&kept), at(&parts[0]));
}

fn observation(run: &LoggedRun) -> Observation {
    let LoggedRun { executors, cores_per_executor, completion_time_secs, .. } = run;
    serde_json::from_str(&format!("[{executors},{cores_per_executor},1024,1,1,{completion_time_secs:?},1]")).unwrap()
}

fn alone(job: Job) -> JobGroup {
    JobGroup { definition: JobDefinition::of(&job.context), jobs: vec![job], lenders: Vec::new() }
}
