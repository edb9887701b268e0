//! What to collect next, and when to stop.

use foreglow_model::{Advice, Predictor, Setting, Verdict, advise, decide};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, Observation, PriceSheet, Question};

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
        let resources = foreglow_shared::Resources {
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
        if advice.verdict != Verdict::GoOn || runs.len() > 60 {
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
    let mut laws = Vec::new();
    for seed in 1..=4 {
        laws.extend(serial.map(|serial| Law { serial, seed, noise: 0.03 }));
    }
    laws
}

#[test]
fn following_the_advice_reaches_the_right_decision_in_a_fraction_of_the_grid() {
    for deadline_secs in [None, Some(400.0)] {
        let question = Question { deadline_secs, ..question() };
        let (mut advised, mut whole_grid, mut random) = (0.0, 0.0, 0.0);
        let (mut regrets, mut grid_regrets, mut random_regrets) = (Vec::new(), Vec::new(), Vec::new());
        for law in laws() {
            let (runs, advice) = follow(&law, &question);
            assert!(advice.verdict != Verdict::GoOn);
            advised += collecting_secs(&runs);
            regrets.push(regret(&law, &runs, &question));
            let all = grid(&law);
            whole_grid += collecting_secs(&all);
            grid_regrets.push(regret(&law, &all, &question));
            let mut order = all.clone();
            order.sort_by_key(|run| (run.completion_time_secs.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 8);
            // Random runs for the same collecting time.
            let mut some = three(&law);
            let mut left = order.into_iter();
            while collecting_secs(&some) < collecting_secs(&runs) {
                some.extend(left.next());
            }
            random += collecting_secs(&some);
            random_regrets.push(regret(&law, &some, &question));
        }
        let within = |regrets: &[f64]| regrets.iter().filter(|regret| **regret <= 0.03).count();
        println!(
            "deadline {deadline_secs:?}: advised {advised:.0} s, {} of {} within 3 %; grid {whole_grid:.0} s, {}; random \
             {random:.0} s, {}\n{regrets:.3?}\n{grid_regrets:.3?}\n{random_regrets:.3?}",
            within(&regrets),
            regrets.len(),
            within(&grid_regrets),
            within(&random_regrets)
        );
    }
}
