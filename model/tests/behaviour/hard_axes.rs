//! Laws that few runs hardly determine: a start-up that depends on the configuration, work that is
//! a small part of every run, and the synchronisation of replicas.

use foreglow_model::{Column, Dataset, Features, Meaning, Prediction, Predictor, TablePredictor, Warning};
use foreglow_shared::{Mode, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, jitter, run, whole};

const COUNTS: [u32; 3] = [1, 2, 4];

/// Returns the time of a job by its executors, cores and sampling rate.
type Law = fn(f64, f64, f64) -> f64;

fn holds(prediction: &Prediction, secs: f64) -> bool {
    prediction.interval.is_some_and(|interval| (interval.lower_secs..=interval.upper_secs).contains(&secs))
}

/// Predicts three networks on 8 workers from some counts of them, with the true times.
fn on_eight(law: fn(f64, f64) -> f64, counts: &[f64], meaning: Meaning) -> Vec<(Prediction, f64)> {
    on_workers(law, counts, meaning, 1.0)
}

/// The same with a last run that took longer by a factor.
fn on_workers(law: fn(f64, f64) -> f64, counts: &[f64], meaning: Meaning, slower: f64) -> Vec<(Prediction, f64)> {
    let features = |rows: &[(f64, f64)]| {
        let names = rows.iter().map(|(share, _)| format!("network {share}"));
        let workers = Column::numeric("workers", rows.iter().map(|row| row.1).collect(), None);
        Features::new(vec![Column::category("network", names), workers]).unwrap()
    };
    let shares = [0.1, 0.3, 0.5];
    let rows: Vec<(f64, f64)> =
        shares.iter().flat_map(|share| counts.iter().map(move |workers| (*share, *workers))).collect();
    let mut secs: Vec<f64> = rows.iter().map(|(share, workers)| 100.0 * law(*share, *workers)).collect();
    *secs.last_mut().unwrap() *= slower;
    let dataset = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
    let predictor = TablePredictor::fit(&dataset, &[("workers", meaning)]).unwrap();
    let asked = shares.map(|share| (share, 8.0));
    let predictions = predictor.predict(&features(&asked)).unwrap();
    predictions.into_iter().zip(asked.map(|(share, workers)| 100.0 * law(share, workers))).collect()
}

fn ring(share: f64, replicas: f64) -> f64 {
    (1.0 + share * (replicas - 1.0) / replicas) / replicas
}

fn amdahl(share: f64, replicas: f64) -> f64 {
    0.5 * share + (1.0 - 0.5 * share) / replicas
}

/// Cores of which the last four are hardware threads of the first four.
fn hyper_threads(share: f64, cores: f64) -> f64 {
    let cores = cores.min(4.0) + 0.3 * (cores - 4.0).max(0.0);
    0.2 * share + (1.0 - 0.2 * share) / cores
}

#[test]
fn the_synchronisation_of_replicas_is_recovered_from_two_and_from_three_counts_of_them() {
    for (counts, most) in [(&[1.0, 2.0][..], 0.15), (&[1.0, 2.0, 4.0], 0.05)] {
        for (prediction, truth) in on_eight(ring, counts, Meaning::Replicas) {
            let ratio = prediction.completion_time_secs.unwrap() / truth;
            assert!((ratio - 1.0).abs() < most, "{ratio}");
            assert!(holds(&prediction, truth), "{prediction:?} for {truth}");
        }
    }
}

#[test]
fn both_laws_of_replicas_are_in_the_interval() {
    for law in [ring, amdahl] {
        for counts in [&[1.0, 2.0][..], &[1.0, 2.0, 4.0]] {
            for (prediction, truth) in on_eight(law, counts, Meaning::Replicas) {
                assert!(holds(&prediction, truth), "{prediction:?} for {truth}");
            }
        }
    }
}

#[test]
fn a_slow_run_on_the_most_replicas_is_no_property_of_its_network() {
    let [clean, slowed] = [1.0, 2.0].map(|slower| on_workers(ring, &[1.0, 2.0, 4.0], Meaning::Replicas, slower));
    for ((clean, _), (slowed, truth)) in clean.iter().zip(&slowed) {
        let [clean, slowed] = [clean, slowed].map(|prediction| prediction.completion_time_secs.unwrap());
        assert!((slowed / clean - 1.0).abs() < 0.25, "{slowed} and {clean} for {truth}");
    }
}

#[test]
fn a_slow_run_is_not_the_error_of_a_new_device() {
    let rows: Vec<(usize, f64)> =
        (0..4).flat_map(|device| (1..=12).map(move |size| (device, f64::from(size)))).collect();
    let features = |rows: &[(usize, f64)]| {
        let devices = rows.iter().map(|row| format!("device {}", row.0));
        let sizes = Column::numeric("size", rows.iter().map(|row| row.1).collect(), None);
        Features::new(vec![Column::category("device", devices), sizes]).unwrap()
    };
    let width = |slower: f64| {
        let mut secs: Vec<f64> = rows.iter().map(|(device, size)| (10.0 + 2.0 * *device as f64) * size).collect();
        secs[42] *= slower;
        let dataset = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
        let predictor = TablePredictor::fit(&dataset, &[]).unwrap();
        let prediction = predictor.predict(&features(&[(9, 6.0)])).unwrap().remove(0);
        let interval = prediction.interval.unwrap();
        libm::log(interval.upper_secs / interval.lower_secs)
    };
    let (clean, slowed) = (width(1.0), width(8.0));
    assert!(slowed < 1.5 * clean, "{slowed} and {clean}");
}

#[test]
fn more_cores_of_a_machine_may_give_no_speed_up() {
    for counts in [&[1.0, 2.0, 4.0][..], &[1.0, 2.0, 3.0, 4.0]] {
        let [cores, machines] =
            [Meaning::Cores, Meaning::Workers].map(|meaning| on_eight(hyper_threads, counts, meaning));
        let upper = |prediction: &Prediction| prediction.interval.unwrap().upper_secs;
        for ((prediction, truth), (other, _)) in cores.iter().zip(&machines) {
            assert!(holds(prediction, *truth), "{prediction:?} for {truth}");
            assert!(upper(prediction) > 1.2 * upper(other), "{prediction:?} and {other:?}");
        }
    }
}

#[test]
fn samples_of_training_on_few_gpus_show_the_whole_job_on_more() {
    let mut context = context(None);
    context.workload.mode = Mode::Training;
    context.accelerator = Some("a GPU".to_owned());
    for (counts, most) in [(&[1, 2][..], 0.2), (&[1, 2, 4], 0.1)] {
        for share in [0.1, 0.3, 0.5] {
            let law = |gpus: f64, rate: f64| 10.0 + 1000.0 * rate * ring(share, gpus);
            let samples = full(counts, &[1], &[0.01, 0.03, 0.1], |e, _, s| law(e, s));
            let prediction = Predictor::fit(&context, &samples).unwrap().predict(whole(8, 1));
            let (secs, truth) = (prediction.completion_time_secs.unwrap(), law(8.0, 1.0));
            assert!((secs / truth - 1.0).abs() < most, "{share}: {secs} for {truth}");
            assert!(holds(&prediction, truth), "{share}: {prediction:?} for {truth}");
        }
    }
}

/// Predicts the whole jobs of a 3 × 3 grid from samples: each relative error, and whether the time
/// is in the interval.
fn whole_jobs(law: Law, samples: &[Observation]) -> Vec<(f64, bool)> {
    let predictor = Predictor::fit(&context(None), samples).unwrap();
    let outcome = |(executors, cores): (u32, u32)| {
        let truth = law(f64::from(executors), f64::from(cores), 1.0);
        let prediction = predictor.predict(whole(executors, cores));
        ((prediction.completion_time_secs.unwrap() / truth - 1.0).abs(), holds(&prediction, truth))
    };
    COUNTS.into_iter().flat_map(|executors| COUNTS.map(|cores| (executors, cores))).map(outcome).collect()
}

/// Four draws of noise up to this share, each in another order of the runs.
fn draws(samples: &[Observation], share: f64) -> [Vec<Observation>; 4] {
    std::array::from_fn(|draw| {
        let mut samples = samples.to_vec();
        samples.rotate_left(5 * draw);
        jitter(&samples, share)
    })
}

/// Asserts the mean error and the share of the intervals that hold.
fn assert_recovered(outcomes: &[(f64, bool)], most_error: f64, least_held: f64) {
    let count = outcomes.len() as f64;
    let error = outcomes.iter().map(|(error, _)| error).sum::<f64>() / count;
    let held = outcomes.iter().filter(|(_, held)| *held).count() as f64 / count;
    assert!(error <= most_error && held >= least_held, "error {error}, held {held}");
}

#[test]
fn a_start_up_that_the_configuration_decides_is_recovered_from_small_samples() {
    let laws: [Law; 5] = [
        |e, c, s| 22.0 / e + 116.0 * s / (e * c),
        |e, c, s| 22.0 / c + 116.0 * s / (e * c),
        |e, c, s| 5.0 + 5.0 / e + 116.0 * s / (e * c),
        |e, c, s| 22.0 + 116.0 * s / (e * c),
        |e, c, s| 30.0 / (e * c).sqrt() + 80.0 * s / (e * c),
    ];
    for law in laws {
        let of = |rates: [f64; 3]| draws(&full(&COUNTS, &COUNTS, &rates, law), 0.01).map(|runs| whole_jobs(law, &runs));
        let outcomes = [of([0.01, 0.03, 0.1]), of([0.03, 0.05, 0.1])].concat().concat();
        assert_recovered(&outcomes, 0.05, 0.87);
    }
}

#[test]
fn where_samples_are_mostly_start_up_the_interval_knows_that_their_growth_is_uncertain() {
    let law: Law = |e, c, s| 60.0 + 116.0 * s / (e * c);
    let samples = full(&COUNTS, &COUNTS, &[0.01, 0.1], law);
    assert_recovered(&draws(&samples, 0.08).map(|runs| whole_jobs(law, &runs)).concat(), 0.25, 0.85);
}

#[test]
fn one_configuration_gets_an_interval_and_repeats_that_differ_widen_it() {
    let of = |repeats: &[f64]| {
        let runs = repeats.iter().flat_map(|noise| [0.01, 0.1].map(|s| run(2, 2, s, noise * (4.0 + 100.0 * s))));
        Predictor::fit(&context(None), &runs.collect::<Vec<Observation>>()).unwrap().predict(whole(2, 2))
    };
    let (one, repeated, noisy) = (of(&[1.0]), of(&[0.98, 1.0, 1.02]), of(&[0.7, 0.8, 1.0, 1.25, 1.4]));
    let width =
        |prediction: &Prediction| prediction.interval.unwrap().upper_secs / prediction.interval.unwrap().lower_secs;
    assert!([&one, &repeated, &noisy].into_iter().all(|prediction| holds(prediction, 104.0)), "{one:?}");
    assert!((one.completion_time_secs.unwrap() / 104.0 - 1.0).abs() < 0.1, "{one:?}");
    assert!(width(&repeated) < 2.0 && width(&noisy) > 1.1 * width(&repeated), "{repeated:?} and {noisy:?}");
}

#[test]
fn one_run_of_the_whole_job_tells_the_time_of_its_configuration() {
    let fit = |runs: &[Observation]| Predictor::fit(&context(None), runs).unwrap();
    let width = |prediction: &Prediction| {
        let interval = prediction.interval.unwrap();
        (interval.upper_secs / interval.lower_secs).sqrt() - 1.0
    };
    let one = fit(&[run(2, 2, 1.0, 100.0)]).predict(whole(2, 2));
    assert!((one.completion_time_secs.unwrap() - 100.0).abs() < 1e-9, "{one:?}");
    assert!((0.05..0.15).contains(&width(&one)), "{one:?}");
    let other = fit(&[run(2, 2, 1.0, 100.0)]).predict(whole(1, 2));
    assert!(other.completion_time_secs.is_none(), "{other:?}");
    // Repeats narrow it, unless they differ; the error of an extrapolation widens it.
    let repeated = fit(&[99.0, 100.0, 101.0, 100.5].map(|secs| run(2, 2, 1.0, secs))).predict(whole(2, 2));
    let noisy = fit(&[80.0, 100.0, 125.0].map(|secs| run(2, 2, 1.0, secs))).predict(whole(2, 2));
    let stopped = Observation { log_error: 0.1, ..run(2, 2, 1.0, 100.0) };
    let extrapolated = fit(&[stopped]).predict(whole(2, 2));
    assert!(width(&repeated) < width(&one) && width(&noisy) > 0.15, "{repeated:?} and {noisy:?}");
    assert!(width(&extrapolated) > 0.2, "{extrapolated:?}");
}

#[test]
fn a_time_that_does_not_grow_with_the_work_is_said_and_not_extrapolated() {
    let predictor = Predictor::fit(&context(None), &[run(1, 1, 0.01, 5.0), run(1, 1, 0.1, 5.2)]).unwrap();
    let prediction = predictor.predict(whole(1, 1));
    assert_eq!((prediction.completion_time_secs, prediction.interval), (None, None));
    let [warning @ Warning::TimeDoesNotGrow { .. }] = &prediction.warnings[..] else { panic!("{prediction:?}") };
    assert_eq!(
        warning.to_string(),
        "sampling rate 1 % took 5.00 s and sampling rate 10 % took 5.20 s, so the samples are mostly start-up and do not \
         show the time of more work; collect a sample with more"
    );
}
