//! Partial pooling: a context with few runs borrows strength from others, with a wider interval.

use foreglow_model::{Column, Dataset, Ensemble, Features, Prediction, TablePredictor};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const NODES: [f64; 6] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
/// Number of contexts with all runs.
const MEASURED: usize = 8;
/// The context with few runs.
const NEW: usize = MEASURED;

/// Time of a run. Each context has its own level and serial share; `unlike` controls how much the
/// serial shares differ.
fn secs(context: usize, nodes: f64, unlike: f64) -> f64 {
    let level = 100.0 * (1 + context * 5 % 9) as f64;
    let serial = 0.2 + unlike * ((context * 7 % 9) as f64 / 9.0 - 0.5);
    let noise = 1.0 + 0.01 * ((context * 31 + nodes as usize * 17) % 7) as f64 / 3.0 - 0.01;
    level * (serial + (1.0 - serial) / nodes) * noise
}

fn features(rows: &[(usize, f64)]) -> Features {
    let nodes = Column::numeric("nodes", rows.iter().map(|row| row.1).collect(), None);
    Features::new(vec![nodes, Column::category("job", rows.iter().map(|row| format!("job {}", row.0)))]).unwrap()
}

fn fit(rows: &[(usize, f64)], unlike: f64) -> Ensemble {
    let secs = rows.iter().map(|(context, nodes)| secs(*context, *nodes, unlike)).collect();
    Ensemble::fit(&Dataset::new(features(rows), secs, vec![false; rows.len()]).unwrap()).unwrap()
}

fn others() -> Vec<(usize, f64)> {
    (0..MEASURED).flat_map(|context| NODES.map(|nodes| (context, nodes))).collect()
}

/// Predictions for a context at several node counts, with the true times.
fn asked(ensemble: &Ensemble, context: usize, nodes: &[f64], unlike: f64) -> Vec<(Prediction, f64)> {
    let rows: Vec<(usize, f64)> = nodes.iter().map(|nodes| (context, *nodes)).collect();
    let predictions = ensemble.predict(&features(&rows)).unwrap();
    predictions.into_iter().zip(rows).map(|(p, (context, nodes))| (p, secs(context, nodes, unlike))).collect()
}

fn error(answers: &[(Prediction, f64)]) -> f64 {
    let errors = answers.iter().map(|(prediction, secs)| (prediction.completion_time_secs.unwrap() / secs - 1.0).abs());
    errors.sum::<f64>() / answers.len() as f64
}

/// Half the width of an interval in ln t.
fn half(prediction: &Prediction) -> f64 {
    let interval = prediction.interval.unwrap();
    libm::log(interval.upper_secs / interval.lower_secs) / 2.0
}

#[test]
fn one_run_of_a_context_suffices_if_others_show_the_trend() {
    let own = [(NEW, 4.0)];
    let both = fit(&[others().as_slice(), &own].concat(), 0.0);
    let answers = asked(&both, NEW, &[2.0, 6.0, 8.0, 10.0, 12.0], 0.0);
    assert!(error(&answers) < 0.03, "{}", error(&answers));
    // Without other contexts, other node counts are unknown.
    assert!(asked(&fit(&own, 0.0), NEW, &[8.0], 0.0)[0].0.completion_time_secs.is_none());
}

#[test]
fn two_runs_predict_better_with_other_contexts_than_alone() {
    let own = [(NEW, 2.0), (NEW, 12.0)];
    let asked_nodes = [4.0, 6.0, 8.0, 10.0];
    let both = error(&asked(&fit(&[others().as_slice(), &own].concat(), 0.2), NEW, &asked_nodes, 0.2));
    let alone = error(&asked(&fit(&own, 0.2), NEW, &asked_nodes, 0.2));
    assert!(both < 0.6 * alone && both < 0.05, "{both} with others, {alone} alone");
}

#[test]
fn the_interval_covers_the_uncertainty_of_few_runs() {
    let (mut held, mut all) = (0, 0);
    for left in 0..MEASURED {
        // Each context in turn has a single run.
        let rows: Vec<(usize, f64)> =
            others().into_iter().filter(|(context, nodes)| *context != left || *nodes == 4.0).collect();
        let ensemble = fit(&rows, 0.3);
        let few = asked(&ensemble, left, &[2.0, 6.0, 8.0, 10.0, 12.0], 0.3);
        let many = asked(&ensemble, (left + 1) % MEASURED, &[6.0], 0.3);
        assert!(half(&few[0].0) > 2.0 * half(&many[0].0), "{} and {}", half(&few[0].0), half(&many[0].0));
        for (prediction, secs) in &few {
            let interval = prediction.interval.unwrap();
            held += usize::from((interval.lower_secs..=interval.upper_secs).contains(secs));
            all += 1;
        }
    }
    eprintln!("{held} of {all} in their interval");
    assert!(5 * held >= 4 * all, "{held} of {all}");
}

/// Node counts of a context that was measured up to 6 nodes.
const CUT: [f64; 3] = [2.0, 4.0, 6.0];

/// Runs of contexts of which every second one was measured up to 6 nodes.
fn half_cut(measured: &[f64]) -> Vec<(usize, f64)> {
    let is_measured = |(context, nodes): &(usize, f64)| context % 2 == 0 || measured.contains(nodes);
    others().into_iter().filter(is_measured).collect()
}

#[test]
fn beyond_the_range_of_its_context_an_interval_grows_with_the_distance() {
    let ensemble = fit(&half_cut(&CUT), 0.3);
    let widths: Vec<f64> = asked(&ensemble, 1, &[8.0, 10.0, 12.0], 0.3).iter().map(|(p, _)| half(p)).collect();
    assert!(widths.windows(2).all(|pair| pair[0] < pair[1]), "{widths:?}");
    // A context with all node counts is inside its range at 12 nodes as at 6.
    let full: Vec<f64> = asked(&ensemble, 0, &[6.0, 12.0], 0.3).iter().map(|(p, _)| half(p)).collect();
    assert!(full[0] == full[1], "{full:?}");
}

#[test]
fn beyond_the_range_of_its_context_most_times_are_in_the_interval() {
    let ensemble = fit(&half_cut(&CUT), 0.35);
    let contexts = (0..MEASURED).filter(|context| context % 2 == 1);
    let answers: Vec<(Prediction, f64)> =
        contexts.flat_map(|context| asked(&ensemble, context, &[8.0, 10.0, 12.0], 0.35)).collect();
    let is_held = |(p, secs): &&(Prediction, f64)| {
        p.interval.is_some_and(|interval| (interval.lower_secs..=interval.upper_secs).contains(secs))
    };
    let held = answers.iter().filter(is_held).count();
    assert!(held >= answers.len() - 2, "{held} of {}", answers.len());
}

#[test]
fn a_regression_on_other_contexts_does_not_narrow_the_interval_beyond_the_range() {
    let rows = half_cut(&CUT[..2]);
    let secs = rows.iter().map(|(context, nodes)| secs(*context, *nodes, 0.0)).collect();
    let runs = Dataset::new(features(&rows), secs, vec![false; rows.len()]).unwrap();
    let asked = features(&[(1, 8.0), (1, 12.0), (3, 12.0)]);
    let of_all = Ensemble::fit(&runs).unwrap().predict(&asked).unwrap();
    let of_table = TablePredictor::fit(&runs, &[]).unwrap().predict(&asked).unwrap();
    for (table, all) in of_table.iter().zip(&of_all) {
        assert!(table.completion_time_secs != all.completion_time_secs, "the regression takes part");
        assert!(half(table) > 0.99 * half(all), "{} {}", half(table), half(all));
    }
}

#[test]
fn scattered_runs_have_no_range_of_their_own_but_the_interval_grows_beyond_them() {
    // Each context has two of the six node counts, far apart.
    let rows: Vec<(usize, f64)> =
        (0..MEASURED).flat_map(|context| [(context, NODES[context % 3]), (context, NODES[3 + context % 3])]).collect();
    let ensemble = fit(&rows, 0.3);
    let widths: Vec<f64> = asked(&ensemble, 0, &[2.0, 6.0, 12.0], 0.3).iter().map(|(p, _)| half(p)).collect();
    let are_equal = (widths[0] / widths[1] - 1.0).abs() < 1e-12;
    assert!(are_equal && widths[1] < widths[2] && widths[2] < 1.5 * widths[1], "{widths:?}");
}

#[test]
fn copies_and_order_of_the_runs_do_not_change_pooled_predictions() {
    let rows = [others().as_slice(), &[(NEW, 4.0), (NEW, 10.0)]].concat();
    let mut twice = [rows.as_slice(), &rows].concat();
    twice.reverse();
    let [once, twice] = [rows, twice].map(|rows| asked(&fit(&rows, 0.2), NEW, &[6.0, 12.0], 0.2));
    assert_eq!(once, twice);
}

/// Among fully measured jobs, a new job with three node counts, one run of which took 2.4 times its
/// expected time.
#[test]
fn one_slow_run_of_a_name_with_three_moves_no_prediction_far() {
    const UNLIKE: f64 = 0.1;
    let rows: Vec<(usize, f64)> = others().into_iter().chain([2.0, 6.0, 12.0].map(|nodes| (NEW, nodes))).collect();
    let fit = |slower: f64| {
        let mut times: Vec<f64> = rows.iter().map(|(context, nodes)| secs(*context, *nodes, UNLIKE)).collect();
        let slow = times.len() - 2;
        times[slow] *= slower;
        TablePredictor::fit(&Dataset::new(features(&rows), times, vec![false; rows.len()]).unwrap(), &[]).unwrap()
    };
    let asked: Vec<(usize, f64)> = NODES.iter().map(|nodes| (NEW, *nodes)).collect();
    let [clean, slow] = [1.0, 2.4].map(|slower| fit(slower).predict(&features(&asked)).unwrap());
    for (clean, slow) in clean.iter().zip(&slow) {
        let ratio = slow.completion_time_secs.unwrap() / clean.completion_time_secs.unwrap();
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        let is_named = |prediction: &Prediction| {
            prediction.warnings.iter().any(|warning| warning.to_string().contains("nodes 6, job job 8"))
        };
        assert!(is_named(slow) && !is_named(clean), "{:?}", slow.warnings);
    }
}
