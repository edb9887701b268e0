//! Jobs whose time is known everywhere but for noise.

use foreglow_model::Setting;

const EXECUTORS: [&[u32]; 4] = [&[1, 2], &[1, 2, 3], &[1, 2, 4], &[1, 2, 4, 8]];
const CORES: [&[u32]; 3] = [&[1, 2], &[1, 2, 4], &[2, 4, 8]];
const RATES: [&[f64]; 2] = [&[0.01, 0.1], &[0.01, 0.03, 0.1]];
/// Samples of a job at least and at most.
const SAMPLES: (usize, usize) = (4, 16);

/// Steele, Lea and Flood's splitmix64 (OOPSLA 2014).
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

    /// Twelve uniform numbers, which are nearly normal together: mean 0, standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.uniform() * from.len() as f64) as usize]
    }
}

/// A job: its law and its numbers.
pub struct SimulatedJob {
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

impl SimulatedJob {
    /// A job of one of four laws.
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

    /// What a run takes.
    pub fn measured(&self, setting: Setting, random: &mut Random) -> f64 {
        self.secs(setting) * libm::exp(self.noise * random.normal())
    }
}

/// What is sampled of a job, and what is asked.
pub struct Plan {
    /// A part of a grid of small samples.
    pub samples: Vec<Setting>,
    /// Whole jobs on all of it, and on twice as many executors and cores.
    pub asked: Vec<Setting>,
}

impl Plan {
    /// Some of the samples of a grid, at random.
    pub fn draw(random: &mut Random) -> Self {
        let (executors, cores, rates) = (random.one_of(&EXECUTORS), random.one_of(&CORES), random.one_of(&RATES));
        let mut grid = Vec::new();
        for &executors in executors {
            for &cores_per_executor in cores {
                grid.extend(rates.iter().map(|&rate| Setting { executors, cores_per_executor, sampling_rate: rate }));
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
            let whole = |cores_per_executor| Setting { executors, cores_per_executor, sampling_rate: 1.0 };
            asked.extend(twice(cores).into_iter().map(whole));
        }
        Self { samples, asked }
    }
}
