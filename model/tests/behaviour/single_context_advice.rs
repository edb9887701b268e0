//! Advice on a single context: the right decision for few runs.

use foreglow_model::{Advice, Predictor, Setting, Suggestion, Verdict};
use foreglow_shared::{CoreSplit, IncompleteOutcome, Observation, PriceSheet, Question, Resources};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{advise, decide, incomplete, job, run};
use crate::simulated::Random;

/// A law of completion times, with noise that depends on the setting and a seed.
struct Law {
    speed_up: SpeedUp,
    /// Constant time and time of all images on one core, seconds.
    secs: (f64, f64),
    seed: u64,
    noise: f64,
}

/// Speed-up by executors and cores.
#[derive(Clone, Copy)]
enum SpeedUp {
    /// Amdahl's law with the serial shares of executors and cores.
    Amdahl(f64, f64),
    /// Powers of the numbers of executors and cores.
    Powers(f64, f64),
}

/// Times of the laws that are not drawn at random, seconds.
const SECS: (f64, f64) = (0.8, 900.0);
const STARTUP_SECS: f64 = 1.5;
const EXECUTORS: [u32; 6] = [1, 2, 3, 4, 6, 8];
const CORES: [u32; 3] = [1, 2, 4];

impl Law {
    fn secs(&self, setting: Setting) -> f64 {
        let (e, c) = (f64::from(setting.executors), f64::from(setting.cores_per_executor));
        let left = match self.speed_up {
            SpeedUp::Amdahl(executors, cores) => {
                let share = |serial: f64, count: f64| serial + (1.0 - serial) / count;
                share(executors, e) * share(cores, c)
            }
            SpeedUp::Powers(executors, cores) => libm::pow(e, -executors) * libm::pow(c, -cores),
        };
        (self.secs.0 + self.secs.1 * setting.sampling_rate) * left
    }

    fn run(&self, setting: Setting) -> Observation {
        let state = self.seed
            ^ (u64::from(setting.executors) << 40)
            ^ (u64::from(setting.cores_per_executor) << 20)
            ^ (setting.sampling_rate * 1e4) as u64;
        let mut random = Random(state);
        let mut uniform = || random.between(0.0, 1.0);
        let noise = 1.0 + self.noise * (uniform() + uniform() + uniform() - 1.5);
        run(setting.executors, setting.cores_per_executor, setting.sampling_rate, self.secs(setting) * noise)
    }
}

/// A question in which cores and executors have a price, so that the best configuration is neither
/// the smallest nor the largest.
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
    Setting::even(executors, cores_per_executor, 1.0)
}

/// Returns by how much the recommended configuration costs more than the best one, as a share;
/// infinite if it misses the deadline or nothing is recommended.
fn regret(law: &Law, runs: &[Observation], question: &Question) -> f64 {
    let Ok(predictor) = Predictor::fit(&job(runs).context, runs) else { return f64::INFINITY };
    let decision = decide(&predictor, &job(runs), question).unwrap();
    let cost = |e: u32, c: u32| {
        let resources = Resources {
            split: CoreSplit::even(e, c),
            memory_per_executor_mib: question.memory_per_executor_mib,
            accelerated: false,
            shared_accelerators: None,
        };
        let secs = law.secs(whole(e, c));
        let late = question.deadline_secs.is_some_and(|deadline| secs > deadline);
        if late { f64::INFINITY } else { question.prices.cost(resources, secs).unwrap() }
    };
    let all = EXECUTORS.iter().flat_map(|e| CORES.iter().map(move |c| cost(*e, *c)));
    let least = all.fold(f64::INFINITY, f64::min);
    decision.recommended.map_or(f64::INFINITY, |index| {
        let chosen = &decision.candidates[index];
        cost(chosen.placement.executors, chosen.placement.cores_per_executor) / least - 1.0
    })
}

/// Returns what the runs cost.
fn collecting_cost(runs: &[Observation], question: &Question) -> f64 {
    let cost = |run: &Observation| {
        let resources = Resources {
            split: run.split(),
            memory_per_executor_mib: question.memory_per_executor_mib,
            accelerated: false,
            shared_accelerators: None,
        };
        question.prices.cost(resources, run.completion_time_secs).unwrap()
    };
    runs.iter().map(cost).sum()
}

/// Returns three runs: two sampling rates, and two executors.
fn three(law: &Law) -> Vec<Observation> {
    [(1, 1, 0.01), (1, 1, 0.03), (2, 1, 0.01)]
        .map(|(executors, cores_per_executor, sampling_rate)| {
            law.run(Setting::even(executors, cores_per_executor, sampling_rate))
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
        let next = &advice.suggestions[0];
        runs.push(law.run(Setting {
            executors: next.executors,
            cores_per_executor: next.cores_per_executor,
            total_cores: None,
            sampling_rate: next.sampling_rate,
        }));
    }
}

/// Returns the full grid at the two sampling rates of the paper.
fn grid(law: &Law) -> Vec<Observation> {
    let mut runs = Vec::new();
    for executors in EXECUTORS {
        for cores_per_executor in CORES {
            for sampling_rate in [0.01, 0.1] {
                runs.push(law.run(Setting::even(executors, cores_per_executor, sampling_rate)));
            }
        }
    }
    runs
}

/// Development laws, on which the stopping rule was tuned.
fn laws() -> Vec<Law> {
    let serial = [(0.02, 0.3), (0.15, 0.05), (0.3, 0.2), (0.05, 0.6), (0.5, 0.02)];
    let law = |seed: u64, (executors, cores)| Law {
        speed_up: SpeedUp::Amdahl(executors, cores),
        secs: SECS,
        seed,
        noise: 0.03,
    };
    (1..=4).flat_map(|seed| serial.map(|serial| law(seed, serial))).collect()
}

/// Hold-out laws, on which nothing was tuned, with power laws and other noise.
fn untouched_laws() -> Vec<Law> {
    let speed_ups = [
        SpeedUp::Amdahl(0.08, 0.12),
        SpeedUp::Amdahl(0.22, 0.4),
        SpeedUp::Powers(0.9, 0.6),
        SpeedUp::Powers(0.65, 0.85),
        SpeedUp::Powers(0.4, 0.4),
    ];
    let seeds = [(101, 0.015), (102, 0.03), (103, 0.05), (104, 0.02)];
    let law = |speed_up, seed, noise| Law { speed_up, secs: SECS, seed, noise };
    seeds.into_iter().flat_map(|(seed, noise)| speed_ups.map(|speed_up| law(speed_up, seed, noise))).collect()
}

/// Laws drawn at random, with shorter and longer jobs. Set 3 was used to decide that noise enters
/// without a factor; the other sets are hold-out.
fn drawn_laws(set: u64, count: u64) -> Vec<Law> {
    let law = |number: u64| {
        let mut random = Random((set << 32) ^ (number * 7919));
        let speed_up = if number.is_multiple_of(2) {
            SpeedUp::Amdahl(random.between(0.01, 0.5), random.between(0.01, 0.6))
        } else {
            SpeedUp::Powers(random.between(0.3, 1.0), random.between(0.3, 1.0))
        };
        let noise = [0.015, 0.03, 0.05, 0.1][random.between(0.0, 4.0) as usize];
        let secs = (random.between(0.2, 3.0), libm::exp(random.between(5.3, 7.8)));
        Law { speed_up, secs, seed: 1_000 * set + number, noise }
    };
    (0..count).map(law).collect()
}

/// Collects runs of the grid in random order, with the same first runs and stopping rule.
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

/// Results of following the advice on a set of laws, compared with random order and the whole grid.
#[derive(Debug, Default)]
struct Followed {
    /// Decisions within 3 % of the least cost.
    right: u32,
    late: u32,
    /// Cost above the least, as a share, summed over the decisions that meet the deadline.
    given_up: f64,
    cost: f64,
    right_at_random: u32,
    cost_at_random: f64,
    cost_of_grid: f64,
}

impl Followed {
    fn of(laws: &[Law], question: &Question) -> Self {
        let is_right = |regret: f64| u32::from(regret <= 0.03);
        let mut followed = Self::default();
        for law in laws {
            let (runs, advice) = follow(law, question);
            assert_ne!(advice.verdict, Verdict::GoOn, "{} runs and no end", runs.len());
            let random = at_random(law, question);
            let regretted = regret(law, &runs, question);
            followed.right += is_right(regretted);
            followed.late += u32::from(regretted.is_infinite());
            followed.given_up += if regretted.is_finite() { regretted } else { 0.0 };
            followed.cost += collecting_cost(&runs, question);
            followed.right_at_random += is_right(regret(law, &random, question));
            followed.cost_at_random += collecting_cost(&random, question);
            followed.cost_of_grid += collecting_cost(&grid(law), question);
        }
        eprintln!("{} laws, deadline {:?}: {followed:?}", laws.len(), question.deadline_secs);
        followed
    }

    /// Whether the advice is right about as often as random order, and cheaper. The tolerance for
    /// 100 laws is 2 standard deviations of a share of 0.75.
    fn is_better_than_chance(&self) -> bool {
        let luck = self.right_at_random / 12;
        self.right + luck >= self.right_at_random && self.cost < self.cost_at_random
    }
}

const DEADLINES: [Option<f64>; 2] = [None, Some(400.0)];

#[test]
fn the_advice_reaches_the_right_decision_in_a_fraction_of_the_grid() {
    for deadline_secs in DEADLINES {
        let followed = Followed::of(&laws(), &Question { deadline_secs, ..question() });
        assert!(followed.right >= 18 && followed.cost < 0.5 * followed.cost_of_grid, "{followed:?}");
        // If random order is right as often, three runs nearly suffice and neither can save much.
        let is_cheaper = followed.cost < followed.cost_at_random * 1.05;
        assert!(is_cheaper && followed.right >= followed.right_at_random, "{followed:?}");
    }
}

/// Number of drawn laws; none in the browser, where fits are slower and block everything else.
const DRAWN: u64 = if cfg!(target_arch = "wasm32") { 0 } else { 100 };

/// The advice stops when another run would save less than 2 % on average, so it may lose as much. A
/// deadline that must be met with probability 1/2 may be missed by a configuration close to it.
#[test]
fn the_advice_costs_at_most_the_promised_share_on_hold_out_laws() {
    for deadline_secs in DEADLINES {
        let question = Question { deadline_secs, ..question() };
        let mut drawn = drawn_laws(2, DRAWN);
        drawn.retain(|law| deadline_secs.is_none_or(|deadline| law.secs(whole(8, 4)) <= deadline));
        let sets = [(untouched_laws(), 0.2), (drawn, 1.0 - question.probability)];
        for (laws, most_late) in sets.into_iter().filter(|(laws, _)| !laws.is_empty()) {
            let followed = Followed::of(&laws, &question);
            let (count, late) = (laws.len() as f64, f64::from(followed.late));
            assert!(followed.given_up <= 0.02 * (count - late) && late <= most_late * count, "{followed:?}");
            assert!(followed.is_better_than_chance() && followed.cost < 0.5 * followed.cost_of_grid, "{followed:?}");
        }
    }
}

/// With a budget only, the fastest is recommended; cheaper configurations can then save nothing.
#[test]
fn if_the_fastest_is_asked_for_cheaper_ones_save_nothing() {
    let law = any_law();
    let question = Question { budget: Some(1e3), ..question() };
    let (runs, advice) = follow(&law, &question);
    assert_eq!(advice.verdict, Verdict::Enough, "{} runs, {:?}", runs.len(), advice.expected_saving);
    let predictor = Predictor::fit(&job(&runs).context, &runs).unwrap();
    let decision = decide(&predictor, &job(&runs), &question).unwrap();
    let chosen = &decision.candidates[decision.recommended.unwrap()];
    let fastest = law.secs(whole(8, 4));
    assert!(law.secs(whole(chosen.placement.executors, chosen.placement.cores_per_executor)) <= 1.02 * fastest);
}

fn any_law() -> Law {
    Law { speed_up: SpeedUp::Amdahl(0.15, 0.05), secs: SECS, seed: 7, noise: 0.03 }
}

#[test]
fn out_of_memory_and_measured_settings_are_not_suggested() {
    let mut job = job(&three(&any_law()));
    job.incomplete.push(incomplete(1, 2, IncompleteOutcome::OutOfMemory));
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
fn suggestions_are_sorted_by_saving_per_cost() {
    let advice = advise(&job(&three(&any_law())), &question()).unwrap();
    let worth = |run: &Suggestion| {
        let saving = run.expected_saving.unwrap();
        (saving >= 0.02, saving / run.cost.unwrap())
    };
    assert!(advice.suggestions.len() > 5);
    assert!(advice.suggestions.windows(2).all(|pair| worth(&pair[0]) >= worth(&pair[1])));
    // Cores were never varied, so the best next run varies them.
    assert!(advice.suggestions[0].cores_per_executor > 1);
}

#[test]
fn after_one_run_of_the_whole_job_other_configurations_are_suggested() {
    let runs = [any_law().run(Setting::even(2, 1, 1.0))];
    let advice = advise(&job(&runs), &question()).unwrap();
    let Verdict::First { reason } = &advice.verdict else { panic!("{:?}", advice.verdict) };
    assert!(reason.contains("too few to compare"), "{reason}");
    assert!(!advice.suggestions.is_empty());
}

#[test]
fn after_a_part_whose_progress_tells_the_whole_job_other_configurations_get_a_long_part() {
    let whole = Observation { log_error: 0.03, ..any_law().run(Setting::even(1, 1, 1.0)) };
    let advice = advise(&job(&[whole]), &question()).unwrap();
    let first: Vec<(u32, u32, f64)> =
        advice.suggestions.iter().map(|s| (s.executors, s.cores_per_executor, s.sampling_rate)).collect();
    assert_eq!(first, [(8, 1, 0.1), (1, 4, 0.1)]);
}

#[test]
fn the_first_suggestions_are_two_sampling_rates_and_larger_configurations() {
    let law = any_law();
    let mut runs = vec![law.run(Setting::even(1, 1, 0.01))];
    let advice = advise(&job(&runs), &question()).unwrap();
    let Verdict::First { reason } = &advice.verdict else { panic!("{:?}", advice.verdict) };
    assert!(reason.contains("nothing can be learned from one"), "{reason}");
    let first: Vec<(u32, u32)> = advice.suggestions.iter().map(|s| (s.executors, s.cores_per_executor)).collect();
    assert_eq!(first, [(1, 1), (8, 1), (1, 4)]);
    for suggestion in advice.suggestions {
        let Suggestion { executors, cores_per_executor, sampling_rate, .. } = suggestion;
        runs.push(law.run(Setting::even(executors, cores_per_executor, sampling_rate)));
    }
    assert!(!matches!(advise(&job(&runs), &question()).unwrap().verdict, Verdict::First { .. }));
}

#[test]
fn no_suggestion_oversubscribes_the_machine() {
    let mut job = job(&three(&any_law()));
    job.context.host.processors = Some(4);
    let advice = advise(&job, &question()).unwrap();
    assert!(advice.suggestions.iter().all(|s| s.executors * s.cores_per_executor <= 4));
}
