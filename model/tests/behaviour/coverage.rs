//! Coverage of the 90 % interval on simulated jobs with a few small samples.

use foreglow_model::Predictor;
use foreglow_shared::Observation;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::{context, full, run, whole};
use crate::simulated::{Plan, Random, SimulatedJob};

/// Number of jobs in the browser, where fits are slower and block everything else: the first of all
/// jobs.
const IN_PAGE: u64 = 200;
const JOBS: u64 = if cfg!(target_arch = "wasm32") { IN_PAGE } else { 600 };

/// Number of predicted whole jobs and of those inside their interval, on configurations within the
/// sampled range and beyond it.
#[derive(Clone, Copy, Default)]
struct Held {
    within: [u32; 2],
    beyond: [u32; 2],
}

impl Held {
    fn add(&mut self, is_beyond: bool, is_held: bool) {
        let part = if is_beyond { &mut self.beyond } else { &mut self.within };
        part[0] += 1;
        part[1] += u32::from(is_held);
    }

    fn percent([asked, held]: [u32; 2]) -> f64 {
        100.0 * f64::from(held) / f64::from(asked)
    }
}

/// Samples a part of a grid and predicts whole jobs on all of it and on twice as many executors and
/// cores.
fn ask(law: u64, random: &mut Random) -> (usize, Held) {
    let job = SimulatedJob::draw(law, random);
    let Plan { samples, asked } = Plan::draw(random);
    let sampled = |at: &foreglow_model::Setting, random: &mut Random| {
        run(at.executors, at.cores_per_executor, at.sampling_rate, job.measured(*at, random))
    };
    let runs: Vec<Observation> = samples.iter().map(|at| sampled(at, random)).collect();
    let mut held = Held::default();
    let Ok(predictor) = Predictor::fit(&context(None), &runs) else { return (runs.len(), held) };
    for asked in asked {
        let secs = job.measured(asked, random);
        let prediction = predictor.predict(asked);
        // The time is unknown if a needed feature was never varied.
        let Some(interval) = prediction.interval else { continue };
        let is_within = |count: fn(&Observation) -> u32, asked: u32| {
            runs.iter().any(|run| count(run) >= asked) && runs.iter().any(|run| count(run) <= asked)
        };
        let is_beyond = !(is_within(|run| run.executors, asked.executors)
            && is_within(|run| run.cores_per_executor, asked.cores_per_executor));
        held.add(is_beyond, (interval.lower_secs..=interval.upper_secs).contains(&secs));
    }
    (runs.len(), held)
}

#[test]
fn intervals_of_whole_jobs_from_few_samples_have_about_90_percent_coverage() {
    let mut random = Random(20_261_121);
    let mut by_runs = [("4 to 6", Held::default()), ("7 to 10", Held::default()), ("11 to 16", Held::default())];
    let mut first = [0, 0];
    for number in 0..JOBS {
        let (count, held) = ask(number % 4, &mut random);
        let part = &mut by_runs[usize::from(count > 6) + usize::from(count > 10)].1;
        for (place, first) in first.iter_mut().enumerate() {
            part.within[place] += held.within[place];
            part.beyond[place] += held.beyond[place];
            *first += if number < IN_PAGE { held.within[place] + held.beyond[place] } else { 0 };
        }
    }
    eprintln!("the first {IN_PAGE} jobs: {:.1} % of {}", Held::percent(first), first[0]);
    let mut all = [0, 0];
    for (runs, Held { within, beyond }) in by_runs {
        let (near, far) = (Held::percent(within), Held::percent(beyond));
        eprintln!("{runs} runs: {near:.1} % of {} whole jobs held, {far:.1} % of {} beyond", within[0], beyond[0]);
        for (place, count) in all.iter_mut().enumerate() {
            *count += within[place] + beyond[place];
        }
    }
    let percent = Held::percent(all);
    eprintln!("all: {percent:.1} % of {}", all[0]);
    assert!(u64::from(all[0]) > 8 * JOBS && (86.0..=94.0).contains(&percent), "{percent}");
}

#[test]
fn intervals_of_repeated_settings_cover_one_run() {
    const NOISE: f64 = 0.1;
    let secs = |e: f64, c: f64, s: f64| 2.0 + 600.0 * s * (0.05 + 0.95 / (e * c));
    for repeats in [1, 2, 4, 10] {
        let mut random = Random(20_261_127);
        let (mut asked, mut held) = (0, 0);
        for _ in 0..20 {
            let once = full(&[1, 2, 4], &[1, 2, 4], &[0.01, 0.1, 1.0], secs);
            let mut runs: Vec<Observation> = (0..repeats).flat_map(|_| once.clone()).collect();
            runs.iter_mut().for_each(|run| run.completion_time_secs *= libm::exp(NOISE * random.normal()));
            let predictor = Predictor::fit(&context(None), &runs).unwrap();
            for (e, c) in [1, 2, 4].into_iter().flat_map(|e| [1, 2, 4].map(|c| (e, c))) {
                let interval = predictor.predict(whole(e, c)).interval.unwrap();
                for _ in 0..10 {
                    let one_run = secs(e.into(), c.into(), 1.0) * libm::exp(NOISE * random.normal());
                    asked += 1;
                    held += u32::from((interval.lower_secs..=interval.upper_secs).contains(&one_run));
                }
            }
        }
        let percent = Held::percent([asked, held]);
        eprintln!("{repeats} repeats: {percent:.1} % of {asked}");
        assert!((85.0..=95.0).contains(&percent), "{repeats} repeats: {percent}");
    }
}
