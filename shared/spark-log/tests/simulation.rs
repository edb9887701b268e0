//! Simulation of Spark applications: known schedules, and bounds of list scheduling.

#![allow(clippy::unwrap_used, reason = "what serves tests may panic as tests do")]

use foreglow_spark_log::{Application, EventLogReader, Simulation, SimulationError};
use proptest::prelude::*;

/// A real log of Spark 3.5.9: a warm-up and two measured jobs on two executors of two cores.
const REAL: &[u8] = include_bytes!("event-logs/3.5-measured");

fn read(log: &[u8]) -> Option<Application> {
    let mut reader = EventLogReader::new();
    reader.push(log);
    reader.finish().ok()
}

/// A stage of a synthetic log, with its tasks as (launch, finish).
struct Stage {
    id: u32,
    parents: Vec<u32>,
    submitted_ms: i64,
    tasks: Vec<(i64, i64)>,
    is_barrier: bool,
}

/// A job of a synthetic log.
struct Job {
    submitted_ms: i64,
    ended_ms: i64,
    stages: Vec<Stage>,
}

fn stage(id: u32, parents: &[u32], submitted_ms: i64, tasks: &[(i64, i64)]) -> Stage {
    Stage { id, parents: parents.to_vec(), submitted_ms, tasks: tasks.to_vec(), is_barrier: false }
}

/// Writes the events of an application on `executors` of `cores` in Spark's format, and reads them.
fn log(executors: u32, cores: u32, jobs: &[Job]) -> Application {
    let mut lines =
        vec![r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":0}"#.to_owned()];
    for executor in 0..executors {
        lines.push(format!(
            r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":0,"Executor ID":"{executor}","Executor Info":{{"Host":"h","Total Cores":{cores}}}}}"#
        ));
    }
    for (id, job) in jobs.iter().enumerate() {
        let info = |stage: &Stage, times: &str| {
            let Stage { id, parents, tasks, is_barrier, .. } = stage;
            let tasks = tasks.len();
            format!(
                r#"{{"Stage ID":{id},"Stage Name":"s","Number of Tasks":{tasks},"RDD Info":[{{"Barrier":{is_barrier}}}],"Parent IDs":{parents:?}{times}}}"#
            )
        };
        let infos: Vec<String> = job.stages.iter().map(|stage| info(stage, "")).collect();
        let ids: Vec<u32> = job.stages.iter().map(|stage| stage.id).collect();
        lines.push(format!(
            r#"{{"Event":"SparkListenerJobStart","Job ID":{id},"Submission Time":{},"Stage Infos":[{}],"Stage IDs":{ids:?}}}"#,
            job.submitted_ms,
            infos.join(",")
        ));
        for stage in &job.stages {
            for (index, (launched_ms, finished_ms)) in stage.tasks.iter().enumerate() {
                lines.push(format!(
                    r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{},"Task End Reason":{{"Reason":"Success"}},"Task Info":{{"Index":{index},"Launch Time":{launched_ms},"Executor ID":"0","Finish Time":{finished_ms}}}}}"#,
                    stage.id
                ));
            }
            let ended_ms = stage.tasks.iter().map(|(_, finished_ms)| *finished_ms).max().unwrap_or(stage.submitted_ms);
            let times = format!(r#","Submission Time":{},"Completion Time":{ended_ms}"#, stage.submitted_ms);
            lines.push(format!(r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{}}}"#, info(stage, &times)));
        }
        lines.push(format!(
            r#"{{"Event":"SparkListenerJobEnd","Job ID":{id},"Completion Time":{},"Job Result":{{"Result":"JobSucceeded"}}}}"#,
            job.ended_ms
        ));
    }
    read(lines.join("\n").as_bytes()).unwrap()
}

fn simulation(application: &Application) -> Simulation {
    Simulation::of(&application.runs().unwrap()[0]).unwrap()
}

fn secs(simulation: &Simulation, executors: u32, cores: u32) -> f64 {
    simulation.at(executors, cores).unwrap().completion_time_secs
}

/// Tasks of 1, 1, 1 and 5 s on two slots.
fn uneven() -> Application {
    let tasks = [(0, 1000), (0, 1000), (1000, 2000), (1000, 6000)];
    log(1, 2, &[Job { submitted_ms: 0, ended_ms: 6000, stages: vec![stage(0, &[], 0, &tasks)] }])
}

#[test]
fn tasks_are_scheduled_in_order_onto_the_first_free_slot() {
    let simulation = simulation(&uneven());
    let times: Vec<f64> = [1, 2, 3, 4, 100].map(|executors| secs(&simulation, executors, 1)).to_vec();
    assert_eq!(times, [8.0, 6.0, 6.0, 5.0, 5.0]);
    assert_eq!((secs(&simulation, 1, 2), simulation.measured_secs()), (6.0, 6.0));
    assert_eq!(
        (simulation.critical_path_secs(), simulation.one_core_secs(), simulation.driver_secs()),
        (5.0, 8.0, 0.0)
    );
    let two = simulation.at(1, 2).unwrap();
    assert_eq!((two.ideal_secs, two.driver_share), (4.0, 0.0));
    assert!((two.skew_share - 2.0 / 6.0).abs() < 1e-12 && (two.busy_share - 8.0 / 12.0).abs() < 1e-12, "{two:?}");
}

#[test]
fn a_stage_waits_for_its_parents_and_driver_time_is_unchanged() {
    // 100 ms of driver time; stages 0 and 1 in parallel; 50 ms; stage 2; 30 ms; then 470 ms of
    // driver time and a second job.
    let first = vec![
        stage(0, &[], 100, &[(100, 1100), (100, 2100)]),
        stage(1, &[], 100, &[(1100, 1600)]),
        stage(2, &[0, 1], 2150, &[(2150, 2650), (2150, 3150)]),
    ];
    let second = vec![stage(3, &[], 3650, &[(3650, 4650)])];
    let application = log(
        1,
        2,
        &[
            Job { submitted_ms: 0, ended_ms: 3180, stages: first },
            Job { submitted_ms: 3650, ended_ms: 4650, stages: second },
        ],
    );
    let simulation = simulation(&application);
    assert_eq!(secs(&simulation, 1, 2), 4.65);
    assert_eq!(simulation.driver_secs(), 0.1 + 0.05 + 0.03 + 0.47);
    // 0.1 + (1 + 2 + 0.5) + 0.05 + (0.5 + 1) + 0.03 + 0.47 + 1.
    assert!((secs(&simulation, 1, 1) - 6.65).abs() < 1e-12);
    assert_eq!((simulation.critical_path_secs(), simulation.work_secs()), (4.65, 6.0));
}

#[test]
fn concurrent_jobs_share_the_slots_first_in_first_out() {
    let jobs = [
        Job { submitted_ms: 0, ended_ms: 2000, stages: vec![stage(0, &[], 0, &[(0, 1000), (0, 1000), (1000, 2000)])] },
        Job { submitted_ms: 100, ended_ms: 3000, stages: vec![stage(1, &[], 100, &[(1000, 2000), (2000, 3000)])] },
    ];
    let simulation = simulation(&log(2, 1, &jobs));
    assert_eq!((secs(&simulation, 2, 1), secs(&simulation, 1, 1), secs(&simulation, 5, 1)), (3.0, 5.0, 1.1));
}

#[test]
fn a_barrier_stage_needs_a_slot_for_each_task() {
    let mut together = stage(0, &[], 0, &[(0, 1000), (0, 1000), (0, 1000)]);
    together.is_barrier = true;
    let application = log(3, 1, &[Job { submitted_ms: 0, ended_ms: 1000, stages: vec![together] }]);
    let simulation = simulation(&application);
    assert_eq!(simulation.at(2, 1), None);
    assert_eq!((secs(&simulation, 3, 1), secs(&simulation, 2, 2)), (1.0, 1.0));
}

#[test]
fn a_task_of_unknown_duration_takes_the_median_of_its_stage() {
    // The clock was set back during the second task, so its duration is unknown.
    let tasks = [(0, 1000), (0, -500), (1000, 2000), (1000, 4000)];
    let application = log(1, 2, &[Job { submitted_ms: 0, ended_ms: 4000, stages: vec![stage(0, &[], 0, &tasks)] }]);
    let simulation = simulation(&application);
    assert_eq!((simulation.unknown_tasks(), simulation.tasks(), simulation.work_secs()), (1, 4, 6.0));
}

#[test]
fn a_log_without_tasks_cannot_be_simulated() {
    let application = log(1, 1, &[Job { submitted_ms: 0, ended_ms: 10, stages: vec![stage(0, &[], 0, &[])] }]);
    let runs = application.runs().unwrap();
    assert_eq!(Simulation::of(&runs[0]).map(|_| ()), Err(SimulationError::NoTasks));
}

#[test]
fn a_real_run_is_simulated_within_5_percent_of_its_measured_time() {
    let application = read(REAL).unwrap();
    for run in application.runs().unwrap() {
        let simulation = Simulation::of(&run).unwrap();
        let (simulated, measured) = (secs(&simulation, 2, 2), simulation.measured_secs());
        assert!((simulated / measured - 1.0).abs() < 0.05, "{simulated}, {measured}");
        // The first run has 3 tasks, so 8 slots are no faster than 4.
        assert!(secs(&simulation, 4, 2) <= simulated && simulated < secs(&simulation, 1, 1));
    }
}

/// Consecutive jobs of dependent stages: for each stage the durations of its tasks and the gap
/// before it.
fn any_jobs() -> impl Strategy<Value = Vec<Vec<(Vec<u32>, i64)>>> {
    let stage = (prop::collection::vec(1_u32..5000, 1..8), 0_i64..300);
    prop::collection::vec(prop::collection::vec(stage, 1..4), 1..4)
}

/// The log of such jobs, one stage after the other, with a slot for each task.
fn sequential(jobs: &[Vec<(Vec<u32>, i64)>]) -> Application {
    let (mut now_ms, mut id) = (0, 0);
    let mut written = Vec::new();
    for stages in jobs {
        let submitted_ms = now_ms;
        let mut parents = Vec::new();
        let mut own = Vec::new();
        for (tasks, gap_ms) in stages {
            now_ms += gap_ms;
            let times: Vec<(i64, i64)> = tasks.iter().map(|ms| (now_ms, now_ms + i64::from(*ms))).collect();
            own.push(stage(id, &parents, now_ms, &times));
            now_ms = times.iter().map(|(_, finished_ms)| *finished_ms).max().unwrap_or(now_ms);
            parents = vec![id];
            id += 1;
        }
        written.push(Job { submitted_ms, ended_ms: now_ms, stages: own });
        now_ms += 10;
    }
    log(8, 1, &written)
}

proptest! {
    #[test]
    fn simulated_times_are_within_the_bounds_of_list_scheduling(jobs in any_jobs(), executors in 1_u32..10) {
        let simulation = simulation(&sequential(&jobs));
        let time = simulation.at(executors, 1).unwrap();
        let (critical, work) = (simulation.critical_path_secs(), simulation.work_secs() / f64::from(executors));
        // Graham, 1966: a list schedule takes at most the critical path plus the work divided by
        // the slots.
        prop_assert!(time.completion_time_secs >= critical.max(work) - 1e-9, "{time:?}, {critical}, {work}");
        prop_assert!(time.completion_time_secs <= critical + work + 1e-9, "{time:?}, {critical}, {work}");
        prop_assert!(time.ideal_secs <= time.completion_time_secs);
    }

    #[test]
    fn a_damaged_log_gives_only_valid_times(changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 1..40)) {
        let digits: Vec<usize> = (0..REAL.len()).filter(|at| REAL[*at].is_ascii_digit()).collect();
        let mut log = REAL.to_vec();
        changes.into_iter().for_each(|(at, digit)| log[digits[at.index(digits.len())]] = b'0' + digit);
        let application = read(&log);
        for run in application.iter().flat_map(|application| application.runs()).flatten() {
            if let Some(time) = Simulation::of(&run).ok().and_then(|simulation| simulation.at(3, 2)) {
                prop_assert!(time.completion_time_secs >= 0.0 && (0.0..=1.0).contains(&time.driver_share), "{time:?}");
            }
        }
    }

    #[test]
    fn one_slot_takes_the_sum_of_driver_time_and_tasks(jobs in any_jobs()) {
        let simulation = simulation(&sequential(&jobs));
        prop_assert!((secs(&simulation, 1, 1) - simulation.one_core_secs()).abs() < 1e-9);
    }

    #[test]
    fn the_measured_configuration_gives_the_measured_time(jobs in any_jobs()) {
        let simulation = simulation(&sequential(&jobs));
        prop_assert!((secs(&simulation, 8, 1) - simulation.measured_secs()).abs() < 1e-9);
    }

    #[test]
    fn the_times_of_a_sample_are_those_of_the_simulation(jobs in any_jobs(), executors in 1_u32..40, cores in 1_u32..5) {
        let application = sequential(&jobs);
        let times = application.runs().unwrap()[0].slot_times().unwrap().unwrap();
        prop_assert!(times.is_valid(), "{times:?}");
        let exact = simulation(&application).at(executors, cores).unwrap();
        let secs = times.at(executors, cores).unwrap();
        // The shortest time is a millisecond.
        prop_assert!((secs - exact.completion_time_secs.max(0.001)).abs() < 1e-9, "{secs} {exact:?} {times:?}");
        prop_assert!((times.driver_share(secs) - exact.driver_share).abs() < 1e-9 || exact.completion_time_secs == 0.0);
    }
}

#[test]
fn the_times_of_a_sample_begin_where_a_barrier_stage_fits() {
    let tasks = vec![(0, 1000); 40];
    let mut together = stage(0, &[], 0, &tasks);
    together.is_barrier = true;
    let application = log(40, 1, &[Job { submitted_ms: 0, ended_ms: 1000, stages: vec![together] }]);
    let times = application.runs().unwrap()[0].slot_times().unwrap().unwrap();
    assert_eq!(times.times, [(40, 1000)]);
    assert_eq!([times.at(39, 1), times.at(10, 4), times.at(100, 1)], [None, Some(1.0), Some(1.0)]);
}

#[test]
fn times_far_beyond_the_measured_slots_are_those_of_the_rounds_of_tasks() {
    let tasks: Vec<(i64, i64)> = (0..100).map(|task| (1000 * (task / 4), 1000 * (task / 4) + 1000)).collect();
    let application = log(2, 2, &[Job { submitted_ms: 0, ended_ms: 25_000, stages: vec![stage(0, &[], 0, &tasks)] }]);
    let times = application.runs().unwrap()[0].slot_times().unwrap().unwrap();
    let simulation = simulation(&application);
    // 100 tasks take one round on 100 slots and two on 99.
    for (executors, cores) in [(25, 4), (99, 1), (50, 1), (49, 1), (60, 1), (80, 1), (400, 1)] {
        assert_eq!(times.at(executors, cores), Some(secs(&simulation, executors, cores)), "{executors} × {cores}");
    }
}

#[test]
fn a_run_on_many_executors_has_few_times() {
    let tasks: Vec<(i64, i64)> = (0..200_000).map(|task| (0, 100 + task % 7)).collect();
    let application = log(900, 8, &[Job { submitted_ms: 0, ended_ms: 1000, stages: vec![stage(0, &[], 0, &tasks)] }]);
    let times = application.runs().unwrap()[0].slot_times().unwrap().unwrap();
    assert!(times.is_valid() && times.times.len() <= 51, "{}", times.times.len());
    // Its own number is among them, and others are near the simulation.
    assert!(times.times.iter().any(|(count, _)| *count == 7_200), "{times:?}");
    let doubled = times.at(900, 16).unwrap() / simulation(&application).at(900, 16).unwrap().completion_time_secs;
    assert!((doubled - 1.0).abs() < 0.03, "{doubled}");
}
