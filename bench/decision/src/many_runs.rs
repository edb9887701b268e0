//! Benchmark of answers about many runs: files of about 1 MB, which is the largest size that a link
//! may have, and a table with many names of CNNs. Times include the fits, which the other
//! benchmarks share among all decisions.

use foreglow_model::{
    Column, Dataset, Features, JointPredictor, Plan, Predictor, Scaling, Space, TablePredictor, advise,
};
use foreglow_shared::{Context, Job, JobDefinition, JobGroup, Observation, Question};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::LIMITS;

/// Runs of one machine type in a file of 1 MB.
const RUNS: usize = 1_899;
/// Numbers of machine types and of the runs of each. From the fourth on they fill a file of 1 MB;
/// the last has as many machine types as can be compared.
const TYPES: [(usize, usize); 7] = [(100, 4), (100, 6), (200, 6), (50, 38), (160, 12), (250, 8), (500, 4)];
/// The same for advice.
const ADVISED: [(usize, usize); 3] = [(1, RUNS), (160, 12), (500, 4)];
/// Machine types with all settings, and with a few of which one was slow.
const FULL_TYPES: usize = 8;
const SLOW_TYPES: usize = 40;
/// CNNs, each with one run on every device.
const CNNS: usize = 500;
const DEVICES: [&str; 3] = ["RTX 3090 NCHW", "RTX 3090 NHWC", "i9-10940X"];

/// Time of one answer with its fits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManyRunsFigure {
    /// The question.
    pub name: String,
    /// Processor time, milliseconds.
    pub millis: f64,
    /// Longest time that is acceptable, milliseconds.
    pub limit_millis: f64,
}

/// Runs the benchmarks whose name contains `only`. `clock` returns milliseconds since an arbitrary
/// epoch.
///
/// # Panics
/// The benchmark's own runs cannot be fitted, which is a bug in the benchmark.
pub fn many_runs_figures(clock: impl Fn() -> f64, only: &str) -> Vec<ManyRunsFigure> {
    let mut answers: Vec<(String, f64, Box<dyn Fn()>)> = vec![
        (format!("plan of {RUNS} runs"), 2_000.0, Box::new(|| plan(&[one_type(RUNS)]))),
        (format!("scaling of {RUNS} runs"), 2_000.0, Box::new(|| scaling(&one_type(RUNS)))),
        (
            format!("three questions about {} pairs of device and CNN", CNNS * DEVICES.len()),
            5_000.0,
            Box::new(many_names),
        ),
    ];
    answers.extend(TYPES.map(|(types, runs)| {
        let name = format!("plan of {types} machine types with {runs} runs each");
        (name, 2_000.0, Box::new(move || plan(&many_types(types, runs))) as Box<dyn Fn()>)
    }));
    answers.extend(ADVISED.map(|(types, runs)| {
        let name = format!("advice on {types} machine types with {runs} runs each");
        (name, 2_000.0, Box::new(move || advice(&many_types(types, runs))) as Box<dyn Fn()>)
    }));
    let slow = || plan(&slow_types());
    answers.push((
        format!("plan of {} machine types with slow runs", FULL_TYPES + SLOW_TYPES),
        2_000.0,
        Box::new(slow),
    ));
    let mut figures = Vec::new();
    for (name, limit_millis, answer) in answers {
        if name.contains(only) {
            let start = clock();
            answer();
            figures.push(ManyRunsFigure { name, millis: clock() - start, limit_millis });
        }
    }
    figures
}

/// A plan with the warnings about the runs.
fn plan(jobs: &[Job]) {
    let plan = fitted(&group(jobs));
    assert!(plan.decide(&LIMITS).expect("the question of the benchmark has an answer").compared > 1_000);
    plan.predictor().warnings();
}

/// A plan and the next runs.
fn advice(jobs: &[Job]) {
    let group = group(jobs);
    let advice = advise(&group, &fitted(&group), &LIMITS, &[]).expect("the question of the benchmark has an answer");
    assert!(advice.best.is_some());
}

fn group(jobs: &[Job]) -> JobGroup {
    JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs: jobs.to_vec(), lenders: Vec::new() }
}

fn fitted(group: &JobGroup) -> Plan {
    let predictor = JointPredictor::fit(group).expect("the runs of the benchmark can be fitted");
    Plan::new(predictor, Space::default()).expect("the configurations of the benchmark can be compared")
}

/// The tables of scaling with the warnings about the runs.
fn scaling(job: &Job) {
    let predictor = Arc::new(Predictor::fit_job(job).expect("the runs of the benchmark can be fitted"));
    let question = Question::about(&job.observations);
    let scaling = Scaling::of(&predictor, job, &question).expect("the question of the benchmark has an answer");
    assert!(scaling.is_some_and(|scaling| scaling.rows.len() > 1_000));
    predictor.warnings();
}

/// A device and a CNN that did not run there, a CNN that was never run, and more pixels than
/// measured.
fn many_names() {
    // A tenth of the pairs of a device and a CNN was never run.
    let is_measured = |(cnn, device): &(usize, usize)| !(cnn + 7 * device).is_multiple_of(10);
    let all = (0..CNNS).flat_map(|cnn| (0..DEVICES.len()).map(move |device| (cnn, device)));
    let rows: Vec<(usize, usize)> = all.filter(is_measured).collect();
    let pixels = |cnn: usize| [160.0, 224.0, 256.0, 384.0][cnn % 4];
    let gmacs = |cnn: usize| 0.1 * (1.0 + unit(cnn, 1) * 80.0) * pixels(cnn) / 224.0;
    let features = |rows: &[(usize, usize)], larger: f64| {
        Features::new(vec![
            Column::category("gpu", rows.iter().map(|(_, device)| DEVICES[*device])),
            Column::category("cnn", rows.iter().map(|(cnn, _)| format!("cnn {cnn}"))),
            Column::numeric("pixels", rows.iter().map(|(cnn, _)| larger * pixels(*cnn)).collect(), None),
            Column::numeric("gmacs", rows.iter().map(|(cnn, _)| gmacs(*cnn)).collect(), None),
        ])
        .expect("the columns of the benchmark are a table")
    };
    let secs = rows.iter().enumerate().map(|(row, (cnn, device))| {
        let own = 0.7 + 0.8 * unit(*cnn, 2);
        [0.004, 0.003, 0.09][*device] * own * gmacs(*cnn).powf(0.8) * (0.9 + 0.2 * unit(row, 3))
    });
    let dataset = Dataset::new(features(&rows, 1.0), secs.collect(), vec![false; rows.len()]);
    let dataset = dataset.expect("the runs of the benchmark are a table");
    let predictor = TablePredictor::fit(&dataset, &[]).expect("the runs of the benchmark can be fitted");
    for (row, larger) in [((10, 0), 1.0), ((CNNS, 0), 1.0), ((7, 0), 2.0)] {
        let answers = predictor.predict(&features(&[row], larger)).expect("the question has the columns of the runs");
        assert!(answers.iter().all(|answer| answer.completion_time_secs.is_some()));
    }
}

fn one_type(runs: usize) -> Job {
    let mut job = job(None);
    for run in 0..runs {
        let (executors, cores) = (1 + draw(run, 1, 43), 1 + draw(run, 2, 40));
        let rate = [0.01, 0.02, 0.03, 0.05, 0.1][draw(run, 3, 5) as usize];
        job.observations.push(observation((executors, cores, rate), 1.0, run));
    }
    job
}

fn many_types(count: usize, runs: usize) -> Vec<Job> {
    let of_type = |machine: usize| {
        let mut job = job(Some(format!("t{machine}.large")));
        for run in 0..runs {
            let seed = machine * runs + run;
            let (executors, cores) = ([1, 2, 8, 43][draw(seed, 1, 4) as usize], [1, 4, 40][draw(seed, 2, 3) as usize]);
            let configuration = (executors, cores, [0.01, 0.1][run % 2]);
            job.observations.push(observation(configuration, 1.0 + machine as f64 / 50.0, seed));
        }
        job
    };
    (0..count).map(of_type).collect()
}

fn slow_types() -> Vec<Job> {
    let of_type = |machine: usize| {
        let mut job = job(Some(format!("t{machine}.large")));
        let runs = if machine < FULL_TYPES { 16 } else { 4 };
        for run in 0..runs {
            let configuration = ([1, 2, 4, 8][run % 4], [1, 4][run / 4 % 2], [0.02, 0.1][run / 8]);
            let slower = if machine >= FULL_TYPES && run == 0 { 6.0 } else { 1.0 + machine as f64 / 50.0 };
            job.observations.push(observation(configuration, slower, machine * runs + run));
        }
        job
    };
    (0..FULL_TYPES + SLOW_TYPES).map(of_type).collect()
}

fn job(machine: Option<String>) -> Job {
    let context = r#"{"workload":{"model":"resnet50","mode":"inference","image_px":224,"images":200000,"epochs":1,
        "batch_size":32},"engine":"spark","host":{"processors":64}}"#;
    let mut context: Context = serde_json::from_str(context).expect("a context is written as this one is");
    context.host.machine = machine;
    Job::of_runs(context, Vec::new())
}

fn observation((executors, cores, sampling_rate): (u32, u32, f64), slower: f64, seed: usize) -> Observation {
    let secs = 5.0 + 9000.0 * sampling_rate / f64::from(executors * cores).powf(0.9);
    Observation {
        executors,
        cores_per_executor: cores,
        total_cores: None,
        memory_per_executor_mib: 2048,
        partition_size: 40,
        sampling_rate,
        completion_time_secs: slower * secs * (0.97 + 0.06 * unit(seed, 4)),
        startup_secs: None,
        disturbed: false,
        log_error: 0.0,
    }
}

/// A whole number below `most`, pseudo-random.
fn draw(seed: usize, column: usize, most: u32) -> u32 {
    (unit(seed, column) * f64::from(most)) as u32
}

/// A number in [0, 1), by the finaliser of SplitMix64.
fn unit(seed: usize, column: usize) -> f64 {
    let mut z = ((seed * 8 + column + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
