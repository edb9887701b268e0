//! The benchmark in a browser. It prints the figures to the console, and the native program reads
//! them there.

#![cfg(target_arch = "wasm32")]
#![allow(missing_docs, reason = "tests have no documentation")]

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn figures() {
    let clock = web_sys::window().and_then(|window| window.performance()).expect("a browser has a clock");
    let figures = foreglow_bench_decision::figures(|| clock.now());
    console_log!("FIGURES {}", serde_json::to_string(&figures).expect("figures are numbers"));
    assert!(figures.decision_millis > 0.0);
    let machines = foreglow_bench_decision::machine_figures(|| clock.now());
    console_log!("MACHINES {}", serde_json::to_string(&machines).expect("figures are numbers"));
    assert!(machines.candidates == 100_000);
    let many_runs = foreglow_bench_decision::many_runs_figures(|| clock.now(), "");
    console_log!("MANY RUNS {}", serde_json::to_string(&many_runs).expect("figures are numbers"));
}
