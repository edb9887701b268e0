//! What to collect next, and when to stop.

use foreglow_model::{Advice, Predictor, Setting, Suggestion, Verdict, advise, decide};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Observation, PriceSheet, Question, Resources};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{job, run};

/// A law whose time is known everywhere, with noise that depends on the setting and a seed.
struct Law {
    /// Share of the time that no executor and no core takes away.
    serial: (f64, f64),
    seed: u64,
    noise: f64,
}

const STARTUP_SECS: f64 = 1.5;
const EXECUTORS: [u32; 6] = [1, 2, 3, 4, 6, 8];
const CORES: [u32; 3] = [1, 2, 4];

impl Law {
    fn secs(&self, setting: Setting) -> f64 {
        let (e, c) = (f64::from(setting.executors), f64::from(setting.cores_per_executor));
        let share = |serial: f64, count: f64| serial + (1.0 - serial) / count;
        (0.8 + 900.0 * setting.sampling_rate) * share(self.serial.0, e) * share(self.serial.1, c)
    }

    fn run(&self, setting: Setting) -> Observation {
        let mut state = self.seed
            ^ (u64::from(setting.executors) << 40)
            ^ (u64::from(setting.cores_per_executor) << 20)
            ^ (setting.sampling_rate * 1e4) as u64;
        // Steele, Lea and Flood's splitmix64 (OOPSLA 2014).
        let mut uniform = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let noise = 1.0 + self.noise * (uniform() + uniform() + uniform() - 1.5);
        run(setting.executors, setting.cores_per_executor, setting.sampling_rate, self.secs(setting) * noise)
    }
}

/// Cores and executors cost money, so that neither the smallest nor the largest configuration is the right one.
fn question() -> Question {
    Question {
        deadline_secs: None,
        executors: EXECUTORS.to_vec(),
        cores_per_executor: CORES.to_vec(),
        prices: PriceSheet { executor_hour: 0.05, startup_secs: 60.0, ..PriceSheet::example() },
        probability: 0.5,
        ..Question::about(&[run(1, 1, 0.1, 1.0)])
    }
}

fn whole(executors: u32, cores_per_executor: u32) -> Setting {
    Setting { executors, cores_per_executor, sampling_rate: 1.0 }
}

/// By how much the recommended configuration is dearer than the right one; infinite where it misses the deadline, or
/// where nothing is recommended.
fn regret(law: &Law, runs: &[Observation], question: &Question) -> f64 {
    let Ok(predictor) = Predictor::fit(&job(runs).context, runs) else { return f64::INFINITY };
    let decision = decide(&predictor, &job(runs), question).unwrap();
    let cost = |e: u32, c: u32| {
        let resources = Resources {
            executors: e,
            cores_per_executor: c,
            memory_per_executor_mib: question.memory_per_executor_mib,
            accelerated: false,
        };
        let secs = law.secs(whole(e, c));
        let late = question.deadline_secs.is_some_and(|deadline| secs > deadline);
        if late { f64::INFINITY } else { question.prices.cost(resources, secs) }
    };
    let all = EXECUTORS.iter().flat_map(|e| CORES.iter().map(move |c| cost(*e, *c)));
    let least = all.fold(f64::INFINITY, f64::min);
    decision.recommended.map_or(f64::INFINITY, |index| {
        let chosen = &decision.candidates[index];
        cost(chosen.executors, chosen.cores_per_executor) / least - 1.0
    })
}

fn collecting_secs(runs: &[Observation]) -> f64 {
    runs.iter().map(|run| run.completion_time_secs + STARTUP_SECS).sum()
}

/// Three runs: two sampling rates and one more executor.
fn three(law: &Law) -> Vec<Observation> {
    [(1, 1, 0.01), (1, 1, 0.03), (2, 1, 0.01)]
        .map(|(executors, cores_per_executor, sampling_rate)| {
            law.run(Setting { executors, cores_per_executor, sampling_rate })
        })
        .to_vec()
}

/// Follows the advice until it says stop.
fn follow(law: &Law, question: &Question) -> (Vec<Observation>, Advice) {
    let mut runs = three(law);
    loop {
        let advice = advise(&job(&runs), question).unwrap();
        if advice.verdict != Verdict::GoOn || runs.len() > 40 {
            return (runs, advice);
        }
        let next = advice.suggestions[0];
        runs.push(law.run(Setting {
            executors: next.executors,
            cores_per_executor: next.cores_per_executor,
            sampling_rate: next.sampling_rate,
        }));
    }
}

/// The full grid at the two sampling rates of the paper.
fn grid(law: &Law) -> Vec<Observation> {
    let mut runs = Vec::new();
    for executors in EXECUTORS {
        for cores_per_executor in CORES {
            for sampling_rate in [0.01, 0.1] {
                runs.push(law.run(Setting { executors, cores_per_executor, sampling_rate }));
            }
        }
    }
    runs
}

fn laws() -> Vec<Law> {
    let serial = [(0.02, 0.3), (0.15, 0.05), (0.3, 0.2), (0.05, 0.6), (0.5, 0.02)];
    (1..=4).flat_map(|seed| serial.map(|serial| Law { serial, seed, noise: 0.03 })).collect()
}

/// The same first runs and the same rule to stop, with the runs of the grid in an order that has nothing to do with them.
fn at_random(law: &Law, question: &Question) -> Vec<Observation> {
    let mut order = grid(law);
    order.sort_by_key(|run| run.completion_time_secs.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8);
    let mut runs = three(law);
    for run in order {
        if advise(&job(&runs), question).unwrap().verdict != Verdict::GoOn {
            break;
        }
        runs.push(run);
    }
    runs
}

#[test]
fn following_the_advice_reaches_the_right_decision_in_a_fraction_of_the_grid() {
    for deadline_secs in [None, Some(400.0)] {
        let question = Question { deadline_secs, ..question() };
        let (mut advised, mut drawn, mut whole_grid, mut right, mut right_at_random) = (0.0, 0.0, 0.0, 0, 0);
        let is_right = |law: &Law, runs: &[Observation]| regret(law, runs, &question) <= 0.03;
        for law in laws() {
            let (runs, advice) = follow(&law, &question);
            assert_ne!(advice.verdict, Verdict::GoOn, "{} runs and no end", runs.len());
            right += u32::from(is_right(&law, &runs));
            let random = at_random(&law, &question);
            right_at_random += u32::from(is_right(&law, &random));
            drawn += collecting_secs(&random);
            advised += collecting_secs(&runs);
            whole_grid += collecting_secs(&grid(&law));
        }
        let figures = format!(
            "{right} of 20 right after {advised:.0} s, {right_at_random} after {drawn:.0} s at random until the same rule says \
             stop; the grid takes {whole_grid:.0} s"
        );
        eprintln!("deadline {deadline_secs:?}: {figures}");
        // Either the advice is right more often than chance under the same rule, or it is as right in less time.
        let is_better = right > right_at_random || (right == right_at_random && advised < drawn);
        assert!(right >= 18 && is_better && advised < 0.5 * whole_grid, "{figures}");
    }
}

fn over_memory(cores_per_executor: u32) -> IncompleteRun {
    IncompleteRun {
        executors: 1,
        cores_per_executor,
        memory_per_executor_mib: 1024,
        partition_size: 8,
        sampling_rate: 0.01,
        outcome: IncompleteOutcome::OutOfMemory,
        at_least_secs: None,
    }
}

fn any_law() -> Law {
    Law { serial: (0.15, 0.05), seed: 7, noise: 0.03 }
}

#[test]
fn what_runs_out_of_memory_or_was_measured_is_not_suggested() {
    let mut job = job(&three(&any_law()));
    job.incomplete.push(over_memory(2));
    let advice = advise(&job, &question()).unwrap();
    assert!(!advice.suggestions.is_empty());
    for suggestion in advice.suggestions {
        assert_eq!(suggestion.cores_per_executor, 1);
        let measured =
            |run: &Observation| run.executors == suggestion.executors && run.sampling_rate == suggestion.sampling_rate;
        assert!(!job.observations.iter().any(measured));
        assert!(suggestion.secs.unwrap() > STARTUP_SECS && suggestion.cost.unwrap() > 0.0);
    }
}

#[test]
fn suggestions_come_by_what_they_narrow_for_their_time() {
    let advice = advise(&job(&three(&any_law())), &question()).unwrap();
    let worth: Vec<f64> = advice.suggestions.iter().map(|s| s.narrowing.unwrap() / s.secs.unwrap()).collect();
    assert!(worth.len() > 5 && worth.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(advice.suggestions.iter().all(|s| (0.0..=1.0).contains(&s.narrowing.unwrap())));
    // Cores were never varied, so that the best next sample varies them.
    assert!(advice.suggestions[0].cores_per_executor > 1);
}

#[test]
fn before_anything_can_be_fitted_two_sampling_rates_and_a_wider_configuration_are_suggested() {
    let law = any_law();
    let mut runs = vec![law.run(Setting { executors: 1, cores_per_executor: 1, sampling_rate: 0.01 })];
    let advice = advise(&job(&runs), &question()).unwrap();
    let Verdict::First { reason } = &advice.verdict else { panic!("{:?}", advice.verdict) };
    assert!(reason.contains("nothing can be learned from one"), "{reason}");
    let first: Vec<(u32, u32)> = advice.suggestions.iter().map(|s| (s.executors, s.cores_per_executor)).collect();
    assert_eq!(first, [(1, 1), (8, 1), (1, 4)]);
    for suggestion in advice.suggestions {
        let Suggestion { executors, cores_per_executor, sampling_rate, .. } = suggestion;
        runs.push(law.run(Setting { executors, cores_per_executor, sampling_rate }));
    }
    assert!(!matches!(advise(&job(&runs), &question()).unwrap().verdict, Verdict::First { .. }));
}

#[test]
fn a_machine_is_not_asked_for_more_threads_than_it_has() {
    let mut job = job(&three(&any_law()));
    job.context.host.processors = Some(4);
    let advice = advise(&job, &question()).unwrap();
    assert!(advice.suggestions.iter().all(|s| s.executors * s.cores_per_executor <= 4));
}
