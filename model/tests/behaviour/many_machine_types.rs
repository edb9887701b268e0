//! Many machine types with a few runs each.

use foreglow_model::{Basis, JointPredictor};
use foreglow_shared::Observation;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::simulated::Random;
use crate::two_types::{Law, group, job, run};

/// Returns the law of a machine type; later ones are slower.
fn law(machine: u32) -> Law {
    let slower = 1.0 + f64::from(machine) / 20.0;
    Law { secs: 2000.0 * slower, serial: 0.02, fixed_secs: slower }
}

/// Fits machine types with six runs each, on configurations and shares drawn at random, with 2 % of
/// noise.
fn fit(machines: u32) -> JointPredictor {
    let mut random = Random(7);
    let jobs = (0..machines).map(|machine| {
        let mut runs = Vec::new();
        while runs.len() < 6 {
            let [executors, cores] = [0, 1].map(|_| [1, 2, 4, 8][random.below(4)]);
            let rate = [0.01, 0.1][runs.len() % 2];
            let secs = law(machine).secs(executors, cores, rate) * libm::exp(0.02 * random.normal());
            let is_new = |other: &Observation| {
                (other.executors, other.cores_per_executor, other.sampling_rate) != (executors, cores, rate)
            };
            if runs.iter().all(is_new) {
                runs.push(run(executors, cores, rate, secs));
            }
        }
        job(&format!("type {machine:03}"), runs)
    });
    JointPredictor::fit(&group(jobs.collect())).unwrap()
}

/// Mean of |ln predicted − ln true| for the whole job on all configurations of some machine types.
fn error(joint: &JointPredictor, machines: u32) -> f64 {
    let mut errors = Vec::new();
    for (place, machine) in (0..machines).enumerate().step_by(5) {
        for (executors, cores) in [(1, 1), (2, 2), (4, 8), (8, 8)] {
            let predicted = joint.predict(place, executors, cores).completion_time_secs.unwrap();
            errors.push(libm::log(predicted / law(machine).secs(executors, cores, 1.0)).abs());
        }
    }
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn many_machine_types_with_few_runs_are_predicted_from_the_runs_of_all() {
    let (few, many) = (fit(25), fit(35));
    assert!(few.arms().iter().all(|arm| arm.basis == Basis::Own));
    assert!(many.arms().iter().all(|arm| arm.basis == Basis::Borrowed));
    let [few, many] = [error(&few, 25), error(&many, 35)];
    assert!(many < 0.08 && many < few, "{many} {few}");
}

#[test]
fn a_brief_fit_of_hundreds_of_runs_is_as_good() {
    let joint = fit(110);
    let error = error(&joint, 110);
    assert!(error < 0.05, "{error}");
}

#[test]
fn slow_runs_on_many_machine_types_move_no_prediction_far() {
    // The first types have all settings; the others have four, the first of which was slow.
    const FULL: u32 = 8;
    let settings = || [1, 2, 4, 8].into_iter().flat_map(|executors| [(executors, 1, 0.01), (executors, 2, 0.1)]);
    let jobs = (0..24).map(|machine| {
        let count = if machine < FULL { 8 } else { 4 };
        let runs = settings().take(count).enumerate().map(|(place, (executors, cores, rate))| {
            let slow = if machine >= FULL && place == 0 { 6.0 } else { 1.0 };
            run(executors, cores, rate, slow * law(machine).secs(executors, cores, rate))
        });
        job(&format!("type {machine:03}"), runs.collect())
    });
    let joint = JointPredictor::fit(&group(jobs.collect())).unwrap();
    for place in FULL as usize..24 {
        let predicted = joint.predict(place, 8, 2).completion_time_secs.unwrap();
        let expected = law(place as u32).secs(8, 2, 1.0);
        assert!(libm::log(predicted / expected).abs() < 0.3, "{place}: {predicted} instead of {expected}");
    }
}
