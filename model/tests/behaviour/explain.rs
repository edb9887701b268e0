//! Explanations agree with the predictions.

use foreglow_model::{Effects, Feature, Predictor, Setting};
use foreglow_shared::{Context, Observation};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::two_types::run;

fn context(engine: &str, processors: &str) -> Context {
    let text = format!(
        r#"{{"workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8}},
            "engine":"{engine}","host":{{{processors}}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn runs() -> Vec<Observation> {
    let pairs = [1, 2, 4].into_iter().flat_map(|e| [1, 2, 4].map(|c| (e, c)));
    let at = |(executors, cores_per_executor, sampling_rate): (u32, u32, f64)| {
        let (e, c) = (f64::from(executors), f64::from(cores_per_executor));
        let secs = (1.0 + 0.2 * e + 300.0 * sampling_rate / (e * c.sqrt())) * (1.0 + 0.01 * libm::sin(e * 3.0 + c));
        run(executors, cores_per_executor, sampling_rate, secs)
    };
    pairs.flat_map(|(e, c)| [0.01, 0.1].map(|rate| (e, c, rate))).map(at).collect()
}

fn whole(executors: u32, cores_per_executor: u32) -> Setting {
    Setting::even(executors, cores_per_executor, 1.0)
}

#[test]
fn a_grid_of_times_equals_single_predictions() {
    for (engine, processors) in [("spark", ""), ("local", "\"processors\":4")] {
        let predictor = Predictor::fit(&context(engine, processors), &runs()).unwrap();
        let (executors, cores) = ([1, 2, 3, 9], [1, 4, 5]);
        let times = predictor.times(&executors, &cores);
        for (row, e) in executors.into_iter().enumerate() {
            for (column, c) in cores.into_iter().enumerate() {
                let alone = predictor.predict(whole(e, c)).completion_time_secs.unwrap();
                assert!((times[row][column].unwrap() / alone - 1.0).abs() < 1e-9, "{engine} {e} × {c}");
            }
        }
    }
}

#[test]
fn the_weighted_parts_of_an_explanation_give_the_prediction() {
    let predictor = Predictor::fit(&context("spark", ""), &runs()).unwrap();
    for (setting, beyond) in [(whole(3, 2), vec!["sampling rate"]), (whole(9, 2), vec!["executors", "sampling rate"])] {
        let (explanation, instead) = predictor.explain(setting).unwrap();
        let log: f64 = explanation.parts.iter().map(|part| part.weight * libm::log(part.secs)).sum();
        let secs = predictor.predict(setting).completion_time_secs.unwrap();
        assert!((libm::exp(log) / secs - 1.0).abs() < 1e-9);
        assert!((explanation.parts.iter().map(|part| part.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(explanation.parts.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
        assert_eq!(explanation.beyond, beyond);
        assert_eq!((explanation.fitted, instead), (18, None));
        assert!(explanation.held_out > 0 && explanation.median_error_percent.unwrap() < 20.0);
    }
}

#[test]
fn the_explanation_of_an_oversubscribed_setting_names_its_substitute() {
    let predictor = Predictor::fit(&context("local", "\"processors\":4"), &runs()).unwrap();
    let (_, instead) = predictor.explain(whole(4, 4)).unwrap();
    let instead = instead.unwrap();
    assert!(instead.slots() <= 4);
    let secs = |setting: Setting| predictor.predict(setting).completion_time_secs;
    // The bound applies to configurations without runs; a measured one is corrected by its own
    // runs.
    assert_eq!(predictor.explain(whole(5, 4)).unwrap().1, Some(instead));
    assert_eq!(secs(instead), secs(whole(5, 4)));
    assert_eq!(predictor.explain(whole(2, 2)).unwrap().1, None);
}

#[test]
fn every_inner_setting_is_held_out_at_most_once() {
    let predictor = Predictor::fit(&context("spark", ""), &runs()).unwrap();
    let held_out = predictor.held_out();
    assert!(!held_out.is_empty());
    for (index, row) in held_out.iter().enumerate() {
        let measured = runs().into_iter().find(|run| Setting::of(run) == row.setting).unwrap().completion_time_secs;
        assert!((row.measured_secs / measured - 1.0).abs() < 1e-6);
        assert!(row.predicted_secs > 0.0);
        assert!(held_out[index + 1..].iter().all(|other| other.setting != row.setting));
    }
}

#[test]
fn the_product_of_the_factors_is_the_time() {
    let predictor = Predictor::fit(&context("spark", ""), &runs()).unwrap();
    let factors = predictor.factors(Setting::even(4, 2, 1.0)).unwrap();
    let product = factors.factors.iter().fold(factors.smallest_secs, |secs, (_, factor)| secs * factor);
    assert!((product / predictor.predict(whole(4, 2)).completion_time_secs.unwrap() - 1.0).abs() < 1e-12);
    assert!(factors.factors.iter().all(|(_, factor)| *factor < 1.0));
}

#[test]
fn level_1_curves_are_close_to_their_scaled_times() {
    let effects = Effects::fit(&context("spark", ""), &runs()).unwrap();
    assert_eq!(effects.effects.iter().map(|effect| effect.feature).collect::<Vec<_>>(), Feature::ALL);
    for effect in &effects.effects {
        assert_eq!(effect.points.len(), 18, "{}", effect.feature);
        assert!(effect.points.iter().all(|(_, scaled)| *scaled > 0.0 && *scaled <= 1.0));
        let off =
            effect.points.iter().map(|(value, scaled)| (effects.at(effect.feature, *value).unwrap() - scaled).abs());
        assert!(off.fold(0.0, f64::max) < 0.5, "{}", effect.feature);
    }
    assert!(effects.secs(whole(2, 2)).unwrap() > 0.0);
    assert!(Effects::fit(&context("spark", ""), &runs()[..1]).is_err());
}
