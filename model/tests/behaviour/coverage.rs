//! How often the 90 % interval holds, on simulated jobs of a few small samples.

use foreglow_model::{Predictor, Setting};
use foreglow_shared::Observation;

use crate::grid::{context, run};

const JOBS: u64 = 600;
const EXECUTORS: [&[u32]; 4] = [&[1, 2], &[1, 2, 3], &[1, 2, 4], &[1, 2, 4, 8]];
const CORES: [&[u32]; 3] = [&[1, 2], &[1, 2, 4], &[2, 4, 8]];
const RATES: [&[f64]; 2] = [&[0.01, 0.1], &[0.01, 0.03, 0.1]];

/// Steele, Lea and Flood's splitmix64 (OOPSLA 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Twelve uniform numbers, which are nearly normal together: mean 0, standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.uniform() * from.len() as f64) as usize]
    }
}

/// A job whose time is known everywhere but for noise.
struct Job {
    law: u64,
    fixed_secs: f64,
    secs: f64,
    /// Powers by which executors and cores help.
    powers: (f64, f64),
    /// Shares that they do not help.
    serial: (f64, f64),
    secs_per_executor: f64,
    partitions: f64,
    noise: f64,
}

impl Job {
    fn draw(law: u64, random: &mut Random) -> Self {
        Self {
            law,
            fixed_secs: random.between(0.2, 6.0),
            secs: libm::exp(random.between(4.0, 8.0)),
            powers: (random.between(0.7, 1.0), random.between(0.55, 1.0)),
            serial: (random.between(0.0, 0.15), random.between(0.0, 0.3)),
            secs_per_executor: random.between(0.0, 1.0),
            partitions: random.between(100.0, 2000.0).round(),
            noise: random.one_of(&[0.01, 0.03, 0.06]),
        }
    }

    fn secs(&self, Setting { executors, cores_per_executor, sampling_rate }: Setting) -> f64 {
        let (e, c) = (f64::from(executors), f64::from(cores_per_executor));
        let scaled = libm::pow(e, self.powers.0) * libm::pow(c, self.powers.1);
        match self.law {
            // Powers, and a charge for each executor.
            0 => self.fixed_secs + self.secs_per_executor * e + self.secs * sampling_rate / scaled,
            // Amdahl's law for executors and for cores.
            1 => {
                let share = |serial: f64, count: f64| serial + (1.0 - serial) / count;
                (self.fixed_secs + self.secs * sampling_rate) * share(self.serial.0, e) * share(self.serial.1, c)
            }
            // Whole rounds of whole partitions.
            2 => {
                let rounds = ((self.partitions * sampling_rate).ceil() / (e * c)).ceil();
                self.fixed_secs + self.secs / self.partitions * rounds * libm::pow(c, 1.0 - self.powers.1)
            }
            // Less than in proportion to the images.
            _ => {
                self.fixed_secs
                    + self.secs * libm::pow(sampling_rate, 0.97) / scaled
                    + self.secs_per_executor * libm::log(e)
            }
        }
    }

    fn measured(&self, setting: Setting, random: &mut Random) -> f64 {
        self.secs(setting) * libm::exp(self.noise * random.normal())
    }
}

/// Whole jobs that were asked, and those inside their interval: on configurations within the sampled ones, and beyond them.
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

/// Samples a part of a grid and asks for whole jobs on all of it and on twice as many executors and cores.
fn ask(law: u64, random: &mut Random) -> (usize, Held) {
    let job = Job::draw(law, random);
    let (executors, cores, rates) = (random.one_of(&EXECUTORS), random.one_of(&CORES), random.one_of(&RATES));
    let mut grid = Vec::new();
    for &executors in executors {
        for &cores_per_executor in cores {
            grid.extend(rates.iter().map(|&sampling_rate| Setting { executors, cores_per_executor, sampling_rate }));
        }
    }
    let most = grid.len().min(16);
    let count = 4 + (random.uniform() * (most - 3) as f64) as usize;
    let mut keyed: Vec<(f64, Setting)> = grid.into_iter().map(|setting| (random.uniform(), setting)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let runs: Vec<Observation> = keyed[..count]
        .iter()
        .map(|(_, at)| run(at.executors, at.cores_per_executor, at.sampling_rate, job.measured(*at, random)))
        .collect();
    let mut held = Held::default();
    let Ok(predictor) = Predictor::fit(&context(None), &runs) else { return (count, held) };
    let twice = |counts: &[u32]| [counts, &[2 * counts[counts.len() - 1]]].concat();
    for executors in twice(executors) {
        for cores_per_executor in twice(cores) {
            let asked = Setting { executors, cores_per_executor, sampling_rate: 1.0 };
            let secs = job.measured(asked, random);
            let prediction = predictor.predict(asked);
            // Where too little was varied the time is unknown, and nothing is promised.
            let Some(interval) = prediction.interval else { continue };
            let is_within = |count: fn(&Observation) -> u32, asked: u32| {
                runs.iter().any(|run| count(run) >= asked) && runs.iter().any(|run| count(run) <= asked)
            };
            let is_beyond = !(is_within(|run| run.executors, executors)
                && is_within(|run| run.cores_per_executor, cores_per_executor));
            held.add(is_beyond, (interval.lower_secs..=interval.upper_secs).contains(&secs));
        }
    }
    (count, held)
}

#[test]
fn the_interval_of_a_whole_job_from_a_few_small_samples_holds_about_nine_times_in_ten() {
    let mut random = Random(20_261_121);
    let mut by_runs = [("4 to 6", Held::default()), ("7 to 10", Held::default()), ("11 to 16", Held::default())];
    for number in 0..JOBS {
        let (count, held) = ask(number % 4, &mut random);
        let part = &mut by_runs[usize::from(count > 6) + usize::from(count > 10)].1;
        for place in 0..2 {
            part.within[place] += held.within[place];
            part.beyond[place] += held.beyond[place];
        }
    }
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
    assert!(all[0] > 5_000 && (86.0..=94.0).contains(&percent), "{percent}");
}
