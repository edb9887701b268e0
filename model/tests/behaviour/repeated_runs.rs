//! Repeats of a setting: several that agree count as more than one slow run, copies of one run as
//! no more than it, and a completed run as more than a stopped one.

use foreglow_model::{Column, Dataset, Ensemble, Features, Prediction, Predictor, Setting, TablePredictor, Warning};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{cluster, context, full, incomplete, run, secs, whole};

/// Short runs on grids of one configuration to nine.
const GRIDS: [(&[u32], &[u32]); 4] = [(&[1], &[1]), (&[1, 2], &[1]), (&[1, 2], &[1, 2]), (&[1, 2, 4], &[1, 2, 4])];

/// The whole job takes 11 minutes on one core, if each image takes as long as in the short runs.
fn short(executors: &[u32], cores: &[u32]) -> Vec<Observation> {
    full(executors, cores, &[0.01, 0.1], |e, c, s| (2.0 + 658.0 * s) / libm::pow(e * c, 0.9))
}

/// Whole jobs of about 28 minutes on one core.
fn slow(count: usize) -> Vec<Observation> {
    let secs = [1680.0, 1672.4, 1689.3, 1664.8, 1695.1, 1678.2, 1684.9, 1670.7];
    secs[..count].iter().map(|secs| run(1, 1, 1.0, *secs)).collect()
}

fn fit(runs: &[Observation]) -> Predictor {
    Predictor::fit(&cluster(), runs).unwrap()
}

fn is_in(prediction: &Prediction, secs: f64) -> bool {
    prediction.interval.is_some_and(|interval| (interval.lower_secs..=interval.upper_secs).contains(&secs))
}

#[test]
fn whole_jobs_that_agree_are_followed_whatever_the_short_runs_say() {
    for (executors, cores) in GRIDS {
        for count in [2, 3, 8] {
            let predictor = fit(&[short(executors, cores), slow(count)].concat());
            let own = predictor.predict(whole(1, 1));
            let error = own.completion_time_secs.unwrap() / 1680.0 - 1.0;
            assert!(error.abs() < 0.1 && is_in(&own, 1680.0), "{executors:?} {cores:?} {count}: {error} {own:?}");
            let in_eleven_minutes = own.spread.as_ref().unwrap().probability_below(0.4);
            assert!(in_eleven_minutes < 0.1, "{in_eleven_minutes}");
            // The next settings follow them too.
            let next = secs(&predictor, Setting::even(1, 1, 0.8));
            assert!(next > 1000.0, "{executors:?} {cores:?} {count}: {next}");
            if executors.contains(&2) {
                let next = secs(&predictor, whole(2, 1));
                assert!(next > 700.0, "{executors:?} {cores:?} {count}: {next}");
            }
        }
    }
}

#[test]
fn one_slow_run_and_its_copies_are_dismissed() {
    for (executors, cores) in &GRIDS[..3] {
        let short = short(executors, cores);
        let clean = secs(&fit(&short), whole(1, 1));
        for copies in [1, 8] {
            let slow = vec![run(1, 1, 1.0, 1680.0); copies];
            let moved = secs(&fit(&[short.clone(), slow].concat()), whole(1, 1)) / clean;
            assert!(moved < 1.05, "{executors:?} {cores:?} {copies}: {moved}");
        }
    }
}

#[test]
fn one_slow_repeat_among_fast_ones_moves_nothing() {
    let short = short(&[1, 2, 4], &[1, 2, 4]);
    let with = |slow: f64| {
        let repeats = [659.0, 663.0, slow].map(|secs| run(1, 1, 1.0, secs));
        secs(&fit(&[short.clone(), repeats.to_vec()].concat()), whole(1, 1))
    };
    let moved = with(1680.0) / with(661.0);
    assert!((moved - 1.0).abs() < 0.01, "{moved}");
}

/// Three runs of a setting that agree on 1.6 times its time, in the place of its run.
fn slowed(runs: &[Observation], slow: &Observation) -> Vec<Observation> {
    let is_other = |run: &&Observation| !std::ptr::eq(*run, slow);
    let repeats = [1.59, 1.6, 1.61]
        .map(|factor| Observation { completion_time_secs: factor * slow.completion_time_secs, ..*slow });
    [runs.iter().filter(is_other).copied().collect(), repeats.to_vec()].concat()
}

/// Small runs share effects that whole jobs lack, so what they agree on says something about larger
/// jobs of the same configuration alone.
#[test]
fn small_runs_that_agree_move_no_whole_job_of_another_configuration() {
    let tenfold = [&[0.01, 0.1][..], &[0.01, 0.03, 0.1], &[0.01, 0.1, 1.0]].map(|rates| (rates, 0.05));
    for (rates, bound) in tenfold.into_iter().chain([(&[0.001, 0.01][..], 0.08), (&[0.005, 0.01], 0.08)]) {
        let runs = full(&[1, 2, 4], &[1, 2, 4], rates, |e, c, s| 2.0 + 658.0 * s / (e * c));
        let clean = fit(&runs);
        for slow in runs.iter().filter(|run| run.sampling_rate < 1.0) {
            let predictor = fit(&slowed(&runs, slow));
            for asked in runs.iter().filter(|run| run.sampling_rate == rates[0]) {
                let (executors, cores) = (asked.executors, asked.cores_per_executor);
                let moved = secs(&predictor, whole(executors, cores)) / secs(&clean, whole(executors, cores)) - 1.0;
                let is_own = (executors, cores) == (slow.executors, slow.cores_per_executor);
                let is_largest = rates.iter().all(|rate| *rate <= slow.sampling_rate);
                let expected = if is_own && is_largest { 0.55..0.75 } else { -bound..bound };
                assert!(expected.contains(&moved), "{slow:?}: {executors} × {cores} moved by {moved}");
            }
        }
    }
}

fn table(rows: &[(f64, f64, f64)]) -> Dataset {
    let column =
        |name: &str, value: fn(&(f64, f64, f64)) -> f64| Column::numeric(name, rows.iter().map(value).collect(), None);
    let features = Features::new(vec![column("nodes", |row| row.0), column("size", |row| row.1)]).unwrap();
    Dataset::new(features, rows.iter().map(|row| row.2).collect(), vec![false; rows.len()]).unwrap()
}

#[test]
fn repeats_that_agree_are_followed_in_any_table_and_the_warning_counts_them() {
    let fit = |(nodes, size): (f64, f64), times: &[f64]| {
        let mut rows = Vec::new();
        for n in [1.0, 2.0, 4.0, 8.0] {
            rows.extend([10.0, 20.0, 40.0].map(|s| (n, s, 8.0 + 3.0 * s / n)));
        }
        rows.retain(|row| (row.0, row.1) != (nodes, size));
        rows.extend(times.iter().map(|slower| (nodes, size, slower * (8.0 + 3.0 * size / nodes))));
        let ensemble = Ensemble::fit(&table(&rows)).unwrap();
        let asked = table(&[(nodes, size, 1.0), (nodes * 0.99, size * 0.99, 1.0)]);
        let predictions = ensemble.predict(asked.features()).unwrap();
        let slower = predictions.iter().map(|of| of.completion_time_secs.unwrap() / (8.0 + 3.0 * size / nodes));
        (slower.collect::<Vec<f64>>(), ensemble.warnings())
    };
    for setting in [(4.0, 20.0), (8.0, 40.0), (1.0, 40.0)] {
        for slow in [1.5, 3.0] {
            let (one, _) = fit(setting, &[slow]);
            assert!(one[0] < 1.15, "{setting:?}: {one:?}");
            let (agreed, warnings) = fit(setting, &[slow, 0.99 * slow, 1.02 * slow]);
            assert!(agreed.iter().all(|of| (of / slow - 1.0).abs() < 0.06), "{setting:?}: {agreed:?}");
            let of_three = |warning: &&Warning| matches!(warning, Warning::SamplesDisagree { runs: 3, .. });
            let named = warnings.iter().find(of_three).unwrap_or_else(|| panic!("{warnings:?}")).to_string();
            assert!(named.starts_with("the 3 samples with ") && named.ends_with("remove them"), "{named}");
        }
    }
}

/// A job with stopped runs of a setting.
#[test]
fn two_whole_jobs_by_their_progress_have_intervals_and_a_part_takes_its_share() {
    let by_progress = |executors: u32, secs: f64| Observation { log_error: 0.03, ..run(executors, 1, 1.0, secs) };
    let predictor = fit(&[by_progress(1, 1000.0), by_progress(2, 520.0)]);
    let own = predictor.predict(whole(2, 1));
    assert!(is_in(&own, 500.0) && is_in(&own, 540.0) && !is_in(&own, 700.0), "{own:?}");
    let tenth = predictor.predict(Setting::even(2, 1, 0.1)).completion_time_secs.unwrap();
    assert!((tenth / own.completion_time_secs.unwrap() - 0.1).abs() < 1e-12, "{tenth}");
    // The time of a part does not follow from measured whole jobs.
    let measured = fit(&[run(1, 1, 1.0, 1000.0), run(2, 1, 1.0, 520.0)]);
    assert_eq!(measured.predict(Setting::even(2, 1, 0.1)).completion_time_secs, None);
    assert!(measured.predict(whole(2, 1)).interval.is_none());
}

fn with_stopped(runs: &[Observation], rate: f64, at_least: &[f64]) -> Job {
    let stopped = |secs: &f64| IncompleteRun {
        sampling_rate: rate,
        at_least_secs: Some(*secs),
        ..incomplete(1, 1, IncompleteOutcome::TimedOut)
    };
    Job { incomplete: at_least.iter().map(stopped).collect(), ..Job::of_runs(cluster(), runs.to_vec()) }
}

#[test]
fn a_completed_run_counts_more_than_a_bound_that_it_satisfies() {
    let runs = [short(&[1, 2, 4], &[1, 2, 4]), vec![run(1, 1, 1.0, 660.0)]].concat();
    let alone = Predictor::fit(&cluster(), &runs).unwrap().predict(whole(1, 1));
    for bounds in [&[300.0][..], &[300.0, 400.0, 659.0]] {
        let with = Predictor::fit_job(&with_stopped(&runs, 1.0, bounds)).unwrap().predict(whole(1, 1));
        assert_eq!(with.completion_time_secs, alone.completion_time_secs, "{bounds:?}");
    }
    let mut disturbed = runs;
    disturbed.iter_mut().for_each(|run| run.disturbed = run.sampling_rate == 1.0);
    let with = Predictor::fit_job(&with_stopped(&disturbed, 1.0, &[300.0])).unwrap();
    assert_eq!(with.predict(whole(1, 1)), fit(&disturbed).predict(whole(1, 1)));
}

#[test]
fn a_bound_above_a_completed_run_is_in_the_interval() {
    let runs = [short(&[1, 2, 4], &[1, 2, 4]), vec![run(1, 1, 1.0, 660.0)]].concat();
    let predictor = Predictor::fit_job(&with_stopped(&runs, 1.0, &[1500.0])).unwrap();
    let own = predictor.predict(whole(1, 1));
    assert!((own.completion_time_secs.unwrap() / 660.0 - 1.0).abs() < 0.1, "{own:?}");
    assert!(is_in(&own, 1499.9), "{own:?}");
}

#[test]
fn a_time_below_that_of_a_stopped_run_of_the_setting_has_a_warning() {
    let runs = [short(&[1, 2, 4], &[1, 2, 4]), vec![run(1, 1, 1.0, 660.0)]].concat();
    let with = |at_least: &[f64]| Predictor::fit_job(&with_stopped(&runs, 1.0, at_least)).unwrap();
    let predictor = with(&[1500.0]);
    let own = predictor.predict(whole(1, 1));
    let (secs, at) = (own.completion_time_secs.unwrap(), "executors 1, cores per executor 1, sampling rate 100 %");
    assert_eq!(whole(1, 1).describe(), at);
    let disagrees = Warning::SamplesDisagree { at: at.into(), runs: 1, secs: 1500.0, expected_secs: secs };
    assert_eq!(own.warnings, [disagrees]);
    assert_eq!(predictor.predict_whole_job(&[(1, 1)])[0], own);
    let less_work = Predictor::fit_job(&with_stopped(&runs, 0.5, &[1500.0])).unwrap().predict(whole(1, 1));
    assert!(less_work.warnings[0].to_string().contains("sampling rate 50 % took 25 min"), "{less_work:?}");
    for (predictor, setting) in
        [(&predictor, whole(2, 1)), (&predictor, Setting::even(1, 1, 0.5)), (&with(&[300.0]), whole(1, 1))]
    {
        let others = predictor.predict(setting).warnings;
        assert!(!others.iter().any(Warning::names_samples), "{setting:?}: {others:?}");
    }
}

#[test]
fn no_oversubscribed_configuration_takes_less_than_its_own_stopped_run() {
    let runs = short(&[1, 2], &[1, 2]);
    let with = |runs: Vec<Observation>| {
        let stopped = IncompleteRun {
            sampling_rate: 1.0,
            at_least_secs: Some(5000.0),
            ..incomplete(2, 2, IncompleteOutcome::TimedOut)
        };
        let job = Job { incomplete: vec![stopped], ..Job::of_runs(context(Some(2)), runs) };
        Predictor::fit_job(&job).unwrap()
    };
    let predictor = with(runs.clone());
    assert!(predictor.predict(whole(2, 1)).completion_time_secs.unwrap() < 1000.0);
    let own = predictor.predict(whole(2, 2));
    assert!(own.completion_time_secs.unwrap() > 5000.0, "{own:?}");
    assert!(own.interval.is_none_or(|interval| interval.lower_secs >= 5000.0), "{own:?}");
    // A completed run contradicts it.
    let own = with([runs, vec![run(2, 2, 1.0, 400.0)]].concat()).predict(whole(2, 2));
    assert!(own.completion_time_secs.unwrap() < 1000.0, "{own:?}");
    let disagrees = |warning: &Warning| matches!(warning, Warning::SamplesDisagree { secs, .. } if *secs == 5000.0);
    assert!(own.warnings.iter().any(disagrees), "{own:?}");
}

#[test]
fn no_prediction_is_below_a_bound_of_the_same_setting_or_of_less_work() {
    for (executors, cores) in GRIDS {
        let runs = short(executors, cores);
        let predictor = Predictor::fit_job(&with_stopped(&runs, 0.5, &[1680.0])).unwrap();
        for rate in [0.5, 0.7, 1.0] {
            let own = predictor.predict(Setting::even(1, 1, rate));
            assert!(own.completion_time_secs.unwrap() > 1680.0, "{rate}: {own:?}");
            assert!(own.interval.is_none_or(|interval| interval.lower_secs >= 1680.0), "{rate}: {own:?}");
        }
    }
}

/// Runs of eight jobs on six numbers of nodes, and of a new job on three.
fn jobs() -> Vec<(usize, f64)> {
    let nodes = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
    let known = (0..8).flat_map(|job| nodes.map(|nodes| (job, nodes)));
    known.chain([2.0, 6.0, 12.0].map(|nodes| (8, nodes))).collect()
}

fn of_jobs(rows: &[(usize, f64)]) -> Features {
    let nodes = Column::numeric("nodes", rows.iter().map(|row| row.1).collect(), None);
    Features::new(vec![nodes, Column::category("job", rows.iter().map(|row| format!("job {}", row.0)))]).unwrap()
}

fn time((job, nodes): (usize, f64)) -> f64 {
    let serial = 0.2 + 0.1 * ((job * 7 % 9) as f64 / 9.0 - 0.5);
    let noise = 1.0 + 0.03 * ((job * 31 + nodes as usize * 17) % 7) as f64 / 6.0;
    100.0 * (1 + job * 5 % 9) as f64 * (serial + (1.0 - serial) / nodes) * noise
}

/// Predictions of the new job.
fn borrowed(rows: &[(usize, f64)], times: Vec<f64>, disturbed: &[bool]) -> Vec<f64> {
    let runs = Dataset::new(of_jobs(rows), times, vec![false; rows.len()]).unwrap().with_disturbed(disturbed).unwrap();
    let asked = of_jobs(&[2.0, 4.0, 6.0, 8.0, 10.0, 12.0].map(|nodes| (8, nodes)));
    let predictions = TablePredictor::fit(&runs, &[]).unwrap().predict(&asked).unwrap();
    predictions.iter().map(|prediction| prediction.completion_time_secs.unwrap()).collect()
}

fn moved(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn copies_of_the_few_runs_or_of_those_of_others_change_no_borrowed_time_by_1_percent() {
    let rows = jobs();
    let times = |rows: &[(usize, f64)]| rows.iter().map(|row| time(*row)).collect::<Vec<f64>>();
    let once = borrowed(&rows, times(&rows), &vec![false; rows.len()]);
    let of_new = |row: &(usize, f64)| row.0 == 8;
    let first_of_new = |row: &(usize, f64)| *row == (8, 2.0);
    let some_of_others = |row: &(usize, f64)| row.0 < 8 && row.1 > 9.0;
    for copied in [&of_new as &dyn Fn(&(usize, f64)) -> bool, &first_of_new, &some_of_others] {
        let copies = rows.iter().copied().filter(copied).flat_map(|row| [row; 5]);
        let all: Vec<(usize, f64)> = rows.iter().copied().chain(copies).collect();
        let moved = moved(&borrowed(&all, times(&all), &vec![false; all.len()]), &once);
        assert!(moved < 0.01, "{moved}");
    }
}

#[test]
fn disturbed_repeats_change_no_borrowed_time() {
    let rows = jobs();
    let mut times: Vec<f64> = rows.iter().map(|row| time(*row)).collect();
    let once = borrowed(&rows, times.clone(), &vec![false; rows.len()]);
    let repeated: Vec<(usize, f64)> = rows.iter().copied().filter(|row| row.1 < 5.0 || row.0 == 8).collect();
    times.extend(repeated.iter().map(|row| 1.8 * time(*row)));
    let all = [rows.clone(), repeated].concat();
    let disturbed: Vec<bool> = (0..all.len()).map(|row| row >= rows.len()).collect();
    let moved = moved(&borrowed(&all, times, &disturbed), &once);
    assert!(moved < 0.001, "{moved}");
}

#[test]
fn slow_runs_of_a_new_job_that_agree_are_followed() {
    let rows = jobs();
    let with = |times_of_slow: &[f64]| {
        let mut rows: Vec<(usize, f64)> = rows.iter().copied().filter(|row| *row != (8, 6.0)).collect();
        let mut times: Vec<f64> = rows.iter().map(|row| time(*row)).collect();
        rows.extend(times_of_slow.iter().map(|_| (8, 6.0)));
        times.extend(times_of_slow.iter().map(|slower| slower * time((8, 6.0))));
        borrowed(&rows, times, &vec![false; rows.len()])[2] / time((8, 6.0))
    };
    let (one, agreed) = (with(&[2.4]), with(&[2.4, 2.35, 2.42, 2.38]));
    assert!(one < 1.15 && agreed > 1.5, "{one} {agreed}");
}
