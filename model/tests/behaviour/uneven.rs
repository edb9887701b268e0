//! Uneven splits: a total number of cores that the executors do not divide.

use foreglow_model::{Decision, JointPredictor, Limits, Plan, Predictor, Setting, Space};
use foreglow_shared::{
    Catalog, Context, CoreSplit, IncompleteOutcome, IncompleteRun, Job, JobDefinition, JobGroup, Observation, Question,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{cluster, context, decide, full, job, run};
use crate::simulated::Random;

/// A job with serial work, parallel work on all slots, and communication between executors.
struct Law {
    serial_secs: f64,
    parallel_secs: f64,
    communication_secs: f64,
}

impl Law {
    fn draw(random: &mut Random) -> Self {
        Self {
            serial_secs: random.between(0.5, 10.0),
            parallel_secs: random.between(200.0, 2000.0),
            communication_secs: random.between(0.0, 2.0),
        }
    }

    fn secs(&self, setting: Setting) -> f64 {
        self.serial_secs
            + self.parallel_secs * setting.sampling_rate / f64::from(setting.slots())
            + self.communication_secs * libm::log(f64::from(setting.executors))
    }

    fn run(&self, split: CoreSplit, sampling_rate: f64, random: &mut Random) -> Observation {
        let noise = 1.0 + 0.02 * random.between(-1.0, 1.0);
        let secs = self.secs(Setting::at(split, sampling_rate)) * noise;
        let CoreSplit { executors, cores_per_executor, total_cores } = split;
        Observation { total_cores, ..run(executors, cores_per_executor, sampling_rate, secs) }
    }
}

fn split(executors: u32, total_cores: u32) -> CoreSplit {
    CoreSplit::of_total(executors, total_cores).unwrap()
}

/// Uneven splits within the measured range: 3+3+2, 2+2+1, 4+3+3 and so on.
fn uneven() -> Vec<CoreSplit> {
    CoreSplit::all(&[2, 3, 4], &[5, 7, 8, 10, 11]).into_iter().filter(|split| split.total_cores.is_some()).collect()
}

#[test]
fn an_uneven_split_is_predicted_within_its_interval_from_runs_on_equal_executors() {
    let mut random = Random(7);
    let (mut held, mut asked, mut errors) = (0, 0, 0.0);
    for _ in 0..40 {
        let law = Law::draw(&mut random);
        let even = [1, 2, 4].iter().flat_map(|e| [1, 2, 4].map(|c| CoreSplit::even(*e, c)));
        let runs: Vec<Observation> =
            even.flat_map(|split| [0.03, 0.1, 0.3].map(|rate| law.run(split, rate, &mut random))).collect();
        let predictor = Predictor::fit(&context(None), &runs).unwrap();
        for split in uneven() {
            let setting = Setting::at(split, 1.0);
            let (secs, prediction) = (law.secs(setting), predictor.predict(setting));
            let interval = prediction.interval.unwrap();
            asked += 1;
            held += u32::from((interval.lower_secs..=interval.upper_secs).contains(&secs));
            errors += (prediction.completion_time_secs.unwrap() / secs - 1.0).abs();
        }
    }
    let (asked, held) = (f64::from(asked), f64::from(held));
    assert!(held / asked >= 0.9, "{held} of {asked} are in the interval of 90 %");
    assert!(errors / asked <= 0.03, "{:.1} % mean error", 100.0 * errors / asked);
}

#[test]
fn runs_on_uneven_splits_predict_equal_executors() {
    let mut random = Random(3);
    let law = Law { serial_secs: 2.0, parallel_secs: 800.0, communication_secs: 0.5 };
    let splits = CoreSplit::all(&[1, 2, 3, 5], &[5, 7, 11]);
    let runs: Vec<Observation> =
        splits.iter().flat_map(|split| [0.03, 0.1].map(|rate| law.run(*split, rate, &mut random))).collect();
    let predictor = Predictor::fit(&context(None), &runs).unwrap();
    for setting in [Setting::even(2, 3, 1.0), Setting::even(3, 2, 1.0), Setting::at(split(3, 10), 1.0)] {
        let predicted = predictor.predict(setting).completion_time_secs.unwrap();
        let off = (predicted / law.secs(setting) - 1.0).abs();
        assert!(off < 0.06, "{}: {off}", setting.split());
    }
}

#[test]
fn more_cores_of_a_total_are_faster_in_between_equal_executors() {
    let runs = full(&[1, 2, 3, 4], &[1, 2, 3, 4], &[0.1, 1.0], |e, c, s| 1.0 + 300.0 * s / (e * c));
    let predictor = Predictor::fit(&cluster(), &runs).unwrap();
    let secs = |total: u32| predictor.predict(Setting::at(split(3, total), 1.0)).completion_time_secs.unwrap();
    let times: Vec<f64> = (3..=12).map(secs).collect();
    assert!(times.is_sorted_by(|slower, faster| slower > faster), "{times:?}");
}

fn question(runs: &[Observation]) -> Question {
    Question { probability: 0.5, ..Question::about(runs) }
}

/// Decides among totals of cores, each divided among every number of executors.
fn decide_among(
    predictor: &Predictor,
    job: &Job,
    question: &Question,
    (executors, totals): (&[u32], &[u32]),
) -> Decision {
    let space = Space {
        executors: executors.to_vec(),
        total_cores: totals.to_vec(),
        ..Space::from_question(question).unwrap()
    };
    let plan = Plan::new(JointPredictor::from_predictor(predictor.clone(), job), space).unwrap();
    plan.decide(&Limits::of(question)).unwrap()
}

#[test]
fn a_decision_among_splits_bills_their_cores_and_names_them() {
    let runs = full(&[1, 2, 4], &[1, 2, 4], &[0.1, 1.0], |e, c, s| 1.0 + 300.0 * s / (e * c));
    let predictor = Predictor::fit(&cluster(), &runs).unwrap();
    let question = question(&runs);
    let decision = decide_among(&predictor, &job(&runs), &question, (&[1, 2, 3, 4], &[8]));
    let names: Vec<String> = decision.candidates.iter().map(|candidate| candidate.split().to_string()).collect();
    let expected =
        ["1 executor of 8 cores", "2 executors of 4 cores", "3 executors, 8 cores (3+3+2)", "4 executors of 2 cores"];
    assert_eq!((decision.compared, names), (4, expected.map(str::to_owned).to_vec()));
    let third = &decision.candidates[2];
    let hours = third.prediction.completion_time_secs.unwrap() / 3600.0;
    let prices = &question.prices;
    let by_hand = hours * (8.0 * prices.core_hour + 3.0 * prices.gib_hour);
    assert!((third.cost.unwrap() / by_hand - 1.0).abs() < 1e-9);
    // Equal executors get the same answer with and without totals.
    let grid = Question { executors: vec![2], cores_per_executor: vec![4], ..question.clone() };
    assert_eq!(decide(&predictor, &job(&runs), &grid).unwrap().candidates[0], decision.candidates[1]);
}

#[test]
fn a_stopped_run_of_an_uneven_split_says_nothing_about_equal_executors() {
    let runs = full(&[1, 2, 3], &[1, 2, 3], &[0.1, 1.0], |e, c, s| 1.0 + 300.0 * s / (e * c));
    let predictor = Predictor::fit(&cluster(), &runs).unwrap();
    let stopped = IncompleteRun {
        executors: 3,
        cores_per_executor: 3,
        total_cores: Some(8),
        memory_per_executor_mib: 1024,
        partition_size: 8,
        sampling_rate: 1.0,
        outcome: IncompleteOutcome::TimedOut,
        at_least_secs: Some(500.0),
    };
    let job = Job { incomplete: vec![stopped], ..job(&runs) };
    let question = Question { deadline_secs: Some(400.0), ..question(&runs) };
    let decision = decide_among(&predictor, &job, &question, (&[3], &[8, 9]));
    let meets: Vec<bool> = decision.candidates.iter().map(|candidate| candidate.meets_deadline).collect();
    let uneven = decision.candidates.iter().position(|candidate| candidate.placement.total_cores.is_some()).unwrap();
    assert!(!meets[uneven] && meets[1 - uneven], "{meets:?}");
}

#[test]
fn a_plan_packs_and_bills_uneven_splits() {
    let mut context: Context = cluster();
    context.host.machine = Some("c5.xlarge".into());
    let observations = full(&[1, 2, 4], &[1, 2, 4], &[0.1, 1.0], |e, c, s| 10.0 + 3e4 * s / (e * c));
    let job = Job::of_runs(context, observations);
    let definition = JobDefinition::of(&job.context);
    let group = JobGroup { definition, jobs: vec![job], lenders: Vec::new() };
    let joint = JointPredictor::fit(&group).unwrap();
    let (executors, total_cores) = (vec![4], vec![9]);
    let space = Space { catalog: Some(Catalog::built_in()), executors, total_cores, ..Space::default() };
    let plan = Plan::new(joint, space.clone()).unwrap();
    let decision = plan.decide(&Limits::of(&Question::about(&[]))).unwrap();
    let placement = decision.candidates[0].placement;
    // 3+2+2+2 cores on machines of 4 processors.
    assert_eq!((placement.machines, placement.total_cores), (3, Some(9)));
    assert_eq!(plan.describe(placement), "3 × c5.xlarge, 4 executors, 9 cores (3+2+2+2)");
    let secs = decision.candidates[0].prediction.completion_time_secs.unwrap();
    let (by_hand, cost) = (3.0 * 0.17 * secs.ceil() / 3600.0, decision.candidates[0].cost.unwrap());
    assert!((cost / by_hand - 1.0).abs() < 1e-3, "{cost} and {by_hand}");
}
