//! The accuracy of trained CNNs: its aggregation, and a decision with a minimum accuracy.

use foreglow_model::{Accuracy, AccuracyUnknown, Decision, JointPredictor, Limits, Plan, Predictor, Space};
use foreglow_shared::{
    Context, Job, JobDefinition, JobGroup, Observation, PriceSheet, Question, TrainedAccuracy, group_jobs,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::decide;

const IMAGES: u64 = 12_000;
const EPOCHS: u32 = 3;

fn trained(executors: u32, seed: u64, accuracy: f64) -> TrainedAccuracy {
    let conditions = "on test images, learning rate 0.02, cosine".to_owned();
    TrainedAccuracy { executors, images: IMAGES, epochs: EPOCHS, accuracy, seed, conditions }
}

fn of(runs: &[TrainedAccuracy], executors: u32) -> Option<Accuracy> {
    let mut runs = runs.to_vec();
    runs.sort_by(TrainedAccuracy::order);
    let known = Accuracy::by_executors(&runs, IMAGES, EPOCHS);
    known.into_iter().find(|(measured, _)| *measured == executors).map(|(_, accuracy)| accuracy)
}

/// A job whose time is 120 s ÷ (E · C), with these accuracies.
fn job(average_every: u32, accuracies: Vec<TrainedAccuracy>) -> Job {
    let text = format!(
        r#"{{"workload":{{"model":"lenet5","mode":"training","image_px":32,"images":{IMAGES},"epochs":{EPOCHS},
            "batch_size":32,"average_every":{average_every}}},"engine":"local","host":{{"machine":"some machine"}}}}"#
    );
    let context: Context = serde_json::from_str(&text).unwrap();
    let mut runs = Vec::new();
    for (executors, cores) in [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)] {
        for rate in [0.1, 0.5, 1.0] {
            let secs = 120.0 * rate / f64::from(executors * cores);
            let row = serde_json::json!([executors, cores, 1024, 32, rate, secs, null]);
            runs.push(serde_json::from_value::<Observation>(row).unwrap());
        }
    }
    let mut job = Job { accuracies, ..Job::of_runs(context, runs) };
    job.sort_runs();
    job
}

/// E = 1 and E = 2 keep 97 %, E = 4 does not; E = 3 was not measured.
fn accuracies() -> Vec<TrainedAccuracy> {
    let of = |(executors, mean): (u32, f64)| [-0.001, 0.0, 0.001].map(|off| (executors, mean + off));
    let runs = [(1, 0.985), (2, 0.98), (4, 0.965)].into_iter().flat_map(of);
    runs.zip((0..3).cycle()).map(|((executors, accuracy), seed)| trained(executors, seed, accuracy)).collect()
}

fn decision(job: &Job, question: &Question) -> Decision {
    decide(&Predictor::fit_job(job).unwrap(), job, question).unwrap()
}

#[test]
fn the_interval_is_students_over_the_seeds() {
    let runs = [trained(2, 1, 0.97), trained(2, 2, 0.96), trained(2, 3, 0.98)];
    let accuracy = of(&runs, 2).unwrap();
    // 0.97 ± 4.302653 · 0.01 / √3.
    assert!((accuracy.mean - 0.97).abs() < 1e-12);
    assert!((accuracy.lower.unwrap() - (0.97 - 0.024841)).abs() < 1e-6, "{accuracy:?}");
    assert!((accuracy.upper.unwrap() - (0.97 + 0.024841)).abs() < 1e-6, "{accuracy:?}");
    assert_eq!((accuracy.runs, accuracy.to_string().as_str()), (3, "97.00 % (94.52–99.48 %)"));
    assert!(accuracy.keeps(0.945) && !accuracy.keeps(0.96));
    assert_eq!(of(&runs, 1), None);
}

#[test]
fn a_single_run_has_no_interval_and_counts_by_its_value() {
    let accuracy = of(&[trained(1, 1, 0.97)], 1).unwrap();
    assert_eq!((accuracy.lower, accuracy.runs, accuracy.to_string().as_str()), (None, 1, "97.00 % (1 run)"));
    assert!(accuracy.keeps(0.97) && !accuracy.keeps(0.9701));
}

#[test]
fn runs_with_one_seed_are_no_repetitions() {
    let accuracy = of(&[trained(1, 7, 0.97), trained(1, 7, 0.97)], 1).unwrap();
    assert_eq!((accuracy.runs, accuracy.lower), (1, None));
}

#[test]
fn runs_on_few_images_or_after_other_epochs_do_not_count() {
    let small = TrainedAccuracy { images: IMAGES / 10, ..trained(1, 1, 0.5) };
    let short = TrainedAccuracy { epochs: 1, ..trained(1, 2, 0.6) };
    let all = [small.clone(), short.clone(), trained(1, 3, 0.98)];
    assert_eq!(of(&all, 1).unwrap().mean, 0.98);
    assert_eq!(of(&[small.clone(), short.clone()], 1), None);
    assert_eq!(AccuracyUnknown::of(&all, IMAGES, EPOCHS), None);
    let why = |runs: &[TrainedAccuracy]| AccuracyUnknown::of(runs, IMAGES, EPOCHS).unwrap().to_string();
    assert!(why(&[small]).contains("at most 1,200 images, which do not tell that of the whole job with 12,000"));
    assert!(why(&[short]).contains("another number of epochs"));
    assert!(why(&[]).contains("no run measured the accuracy"));
}

#[test]
fn of_several_learning_rates_the_one_with_the_highest_lower_end_counts() {
    let other = |seed, accuracy| TrainedAccuracy {
        conditions: "on test images, learning rate 0.1".to_owned(),
        ..trained(1, seed, accuracy)
    };
    // The other learning rate has the higher mean and a wide interval.
    let runs = [trained(1, 1, 0.969), trained(1, 2, 0.97), other(1, 0.95), other(2, 0.995)];
    let accuracy = of(&runs, 1).unwrap();
    assert!(accuracy.conditions.contains("0.02"), "{accuracy:?}");
}

#[test]
fn the_order_of_the_runs_does_not_change_the_accuracy() {
    let mut runs = accuracies();
    let before = of(&runs, 2);
    runs.reverse();
    assert_eq!(of(&runs, 2), before);
}

#[test]
fn only_configurations_whose_accuracy_is_known_to_keep_the_minimum_are_recommended() {
    let job = job(1, accuracies());
    let ask = |min_accuracy, deadline_secs| {
        let prices = PriceSheet::example();
        let question = Question { deadline_secs, min_accuracy, ..Question::about(&job.observations) };
        let decision = decision(&job, &Question { prices, probability: 0.5, ..question });
        decision.recommended.map(|place| decision.candidates[place].placement.executors)
    };
    assert_eq!(ask(None, Some(16.0)), Some(4));
    assert_eq!(ask(Some(0.97), Some(16.0)), None, "4 executors are in time and too inaccurate");
    assert_eq!(ask(Some(0.97), Some(31.0)), Some(2));
    assert_eq!(ask(Some(0.98), Some(31.0)), None, "the mean keeps it, and its lower end does not");
    let unmeasured = decision(&job, &Question { min_accuracy: Some(0.5), ..Question::about(&job.observations) });
    let of_three = unmeasured.candidates.iter().find(|candidate| candidate.placement.executors == 3).unwrap();
    assert!(!of_three.keeps_accuracy);
}

#[test]
fn a_large_grid_is_reduced_without_losing_the_accurate_ones() {
    let job = job(1, accuracies());
    let question = Question {
        executors: (1..=80).collect(),
        cores_per_executor: (1..=80).collect(),
        min_accuracy: Some(0.97),
        ..Question::about(&job.observations)
    };
    let large = decision(&job, &question);
    let small = decision(&job, &Question { executors: vec![1, 2], ..question });
    let best = |decision: &Decision| {
        let candidate = &decision.candidates[decision.recommended.unwrap()];
        (candidate.placement.executors, candidate.placement.cores_per_executor)
    };
    assert_eq!(best(&large), best(&small));
}

fn group() -> JobGroup {
    let rare: Vec<TrainedAccuracy> =
        accuracies().into_iter().map(|run| TrainedAccuracy { accuracy: run.accuracy - 0.005, ..run }).collect();
    let mut jobs = vec![job(1, accuracies()), job(8, rare)];
    // Averaging every 8 mini-batches is faster.
    jobs[1].observations.iter_mut().for_each(|run| run.completion_time_secs *= 0.8);
    let definition = JobDefinition::of(&jobs[0].context);
    let mut groups = group_jobs(jobs);
    assert_eq!((groups.len(), &groups[0].definition), (1, &definition), "averaging intervals are one job");
    groups.remove(0)
}

#[test]
fn averaging_intervals_are_compared_and_the_minimum_accuracy_chooses_between_them() {
    let sheet = Some(PriceSheet::example());
    let plan = Plan::new(JointPredictor::fit(&group()).unwrap(), Space { sheet, ..Space::default() });
    let plan = plan.unwrap();
    let ask = |min_accuracy| {
        let question = Question { min_accuracy, probability: 0.5, ..Question::about(&[]) };
        let limits = Limits { deadline_secs: Some(31.0), ..Limits::of(&question) };
        let decision = plan.decide(&limits).unwrap();
        let best = decision.recommended.map(|place| decision.candidates[place].clone())?;
        let arm = &plan.predictor().arms()[best.placement.arm];
        Some((best.placement.executors, arm.average_every.unwrap(), best.accuracy))
    };
    assert_eq!(ask(None).unwrap().1, 8);
    let (executors, every, accuracy) = ask(Some(0.974)).unwrap();
    assert_eq!((executors, every), (2, 1), "averaged every 8 mini-batches, 2 executors are too inaccurate");
    assert!(accuracy.unwrap().keeps(0.974));
    assert_eq!(ask(Some(0.999)), None);
}

#[test]
fn every_measured_way_to_train_is_listed_beside_the_time_of_its_fastest_configuration() {
    let sheet = Some(PriceSheet::example());
    let plan = Plan::new(JointPredictor::fit(&group()).unwrap(), Space { sheet, ..Space::default() });
    let limits = Limits::of(&Question { min_accuracy: Some(0.974), ..Question::about(&[]) });
    let trained = plan.unwrap().trained(&limits);
    let shown: Vec<(u32, Option<u32>, bool)> =
        trained.iter().map(|row| (row.executors, row.average_every, row.is_accurate)).collect();
    let expected = [(1, 1, true), (1, 8, true), (2, 1, true), (2, 8, false), (4, 1, false), (4, 8, false)];
    let expected = expected.map(|(executors, every, is_accurate)| (executors, Some(every), is_accurate));
    let mut shown = shown;
    shown.sort_unstable();
    assert_eq!(shown, expected);
    assert!(trained.windows(2).all(|pair| pair[0].accuracy.mean >= pair[1].accuracy.mean));
    for row in &trained {
        let fastest = row.fastest.unwrap();
        assert_eq!((fastest.executors, fastest.cores_per_executor), (row.executors, 2));
        let law = 60.0 / f64::from(row.executors) * if row.average_every == Some(8) { 0.8 } else { 1.0 };
        assert!((row.secs.unwrap() / law - 1.0).abs() < 0.05, "{row:?}");
    }
}

#[test]
fn a_minimum_accuracy_that_is_no_share_is_refused() {
    let job = job(1, accuracies());
    for least in [0.0, 97.0, f64::NAN] {
        let question = Question { min_accuracy: Some(least), ..Question::about(&job.observations) };
        let refused = decide(&Predictor::fit_job(&job).unwrap(), &job, &question).unwrap_err().to_string();
        assert!(refused.contains("minimum accuracy"), "{refused}");
    }
}
