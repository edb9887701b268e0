//! Simulated jobs with known laws and noise.

use foreglow_model::Setting;

const EXECUTORS: [&[u32]; 4] = [&[1, 2], &[1, 2, 3], &[1, 2, 4], &[1, 2, 4, 8]];
const CORES: [&[u32]; 3] = [&[1, 2], &[1, 2, 4], &[2, 4, 8]];
const RATES: [&[f64]; 2] = [&[0.01, 0.1], &[0.01, 0.03, 0.1]];
/// Minimum and maximum number of samples of a job.
const SAMPLES: (usize, usize) = (4, 16);

/// Splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(pub u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Approximates a standard normal number by the sum of twelve uniform ones.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Returns a number from 0 to below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.uniform() * count as f64) as usize
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A job with its law and parameters.
pub struct SimulatedJob {
    law: u64,
    fixed_secs: f64,
    secs: f64,
    /// Exponents of executors and cores.
    powers: (f64, f64),
    /// Serial shares of executors and cores.
    serial: (f64, f64),
    secs_per_executor: f64,
    partitions: f64,
    noise: f64,
}

impl SimulatedJob {
    /// Draws the parameters of a job with one of four laws.
    pub fn draw(law: u64, random: &mut Random) -> Self {
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

    fn secs(&self, setting: Setting) -> f64 {
        let (e, c) = (f64::from(setting.executors), setting.split().mean_cores());
        let sampling_rate = setting.sampling_rate;
        let scaled = libm::pow(e, self.powers.0) * libm::pow(c, self.powers.1);
        match self.law {
            // Powers, and a constant per executor.
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
            // Sublinear in the number of images.
            _ => {
                self.fixed_secs
                    + self.secs * libm::pow(sampling_rate, 0.97) / scaled
                    + self.secs_per_executor * libm::log(e)
            }
        }
    }

    /// Returns the time of a run with noise, seconds.
    pub fn measured(&self, setting: Setting, random: &mut Random) -> f64 {
        self.secs(setting) * libm::exp(self.noise * random.normal())
    }
}

/// Samples and test settings of a job.
pub struct Plan {
    /// Part of a grid of small samples.
    pub samples: Vec<Setting>,
    /// Whole jobs on the whole grid, and on twice as many executors and cores.
    pub asked: Vec<Setting>,
}

impl Plan {
    /// Draws a random part of a grid.
    pub fn draw(random: &mut Random) -> Self {
        let (executors, cores, rates) = (random.one_of(&EXECUTORS), random.one_of(&CORES), random.one_of(&RATES));
        let mut grid = Vec::new();
        for &executors in executors {
            for &cores_per_executor in cores {
                grid.extend(rates.iter().map(|&rate| Setting::even(executors, cores_per_executor, rate)));
            }
        }
        let most = grid.len().min(SAMPLES.1);
        let count = SAMPLES.0 + (random.uniform() * (most - SAMPLES.0 + 1) as f64) as usize;
        let mut keyed: Vec<(f64, Setting)> = grid.into_iter().map(|setting| (random.uniform(), setting)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let samples = keyed[..count].iter().map(|(_, setting)| *setting).collect();
        let twice = |counts: &[u32]| [counts, &[2 * counts[counts.len() - 1]]].concat();
        let mut asked = Vec::new();
        for executors in twice(executors) {
            let whole = |cores_per_executor| Setting::even(executors, cores_per_executor, 1.0);
            asked.extend(twice(cores).into_iter().map(whole));
        }
        Self { samples, asked }
    }
}
