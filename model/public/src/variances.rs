//! Variances of the effects, learned by expectation maximisation of the marginal likelihood.

use foreglow_numeric::Matrix;

use crate::PublicError;
use crate::effects::{Effect, Noise, Row};
use crate::moments::{Coefficients, Indexed, PairSums, Solved};

/// Variance of the levels that every fit determines.
const VAGUE: f64 = 9.0;
/// Variance below which an effect is not shrunk further.
const LEAST: f64 = 1e-5;

/// Variances of ln(images/s).
#[derive(Clone, Debug, PartialEq)]
pub struct Variances {
    /// Of each group of coefficients.
    pub(crate) effects: [f64; Effect::COUNT],
    /// Of a pair of software and network.
    pub(crate) pair: f64,
    /// Of the noise of each kind.
    pub(crate) noise: [f64; Noise::COUNT],
}

impl Default for Variances {
    /// The values before learning.
    fn default() -> Self {
        let mut effects = [0.05; Effect::COUNT];
        effects[Effect::Level as usize] = VAGUE;
        Self { effects, pair: 0.05, noise: [0.02, 0.03, 0.1, 0.03] }
    }
}

impl Variances {
    pub(crate) fn of(&self, effect: Effect) -> f64 {
        self.effects[effect as usize]
    }

    /// Returns the built-in variances, learned from all public measurements.
    pub fn built_in() -> Self {
        // A test checks that the built-in text is valid.
        Self::read(VARIANCES).unwrap_or_default()
    }

    /// Reads standard deviations, one a line.
    ///
    /// # Errors
    /// A line is missing or no number above 0.
    pub fn read(text: &str) -> Result<Self, PublicError> {
        let mut lines = text.lines().skip(1);
        let mut next = || {
            let line = lines.next().unwrap_or_default();
            let number = line.split_once(',').and_then(|(_, number)| number.parse::<f64>().ok());
            number.filter(|number| *number > 0.0).ok_or_else(|| PublicError::Table(format!("{line:?} is no deviation")))
        };
        let mut variances = Self::default();
        for variance in variances.effects.iter_mut().chain([&mut variances.pair]).chain(&mut variances.noise) {
            *variance = next()?.powi(2);
        }
        Ok(variances)
    }

    /// Returns the standard deviations as text, one a line.
    pub fn write(&self) -> String {
        let values = self.effects.iter().chain([&self.pair]).chain(&self.noise);
        let lines = NAMES.iter().zip(values).map(|(name, variance)| format!("{name},{:.4}\n", variance.sqrt()));
        format!("effect,deviation\n{}", lines.collect::<String>())
    }
}

const VARIANCES: &str = include_str!("../data/deviations.csv");

/// Names of the standard deviations in files.
const NAMES: [&str; Effect::COUNT + 1 + Noise::COUNT] = [
    "level",
    "slope",
    "family",
    "family_launches",
    "family_memory",
    "gpu",
    "gpu_memory",
    "generation",
    "source",
    "stack",
    "source_format",
    "source_gpu_slope",
    "source_launches",
    "source_memory",
    "source_gpus",
    "source_nodes",
    "pair",
    "noise_large_steps",
    "noise_medium_steps",
    "noise_small_steps",
    "noise_several_gpus",
];

/// Learns the variances of rows: ln(images/s) and their columns.
pub(crate) fn learned(rows: &[(Row, f64)], start: Variances, steps: usize) -> Variances {
    let coefficients = Coefficients::of(rows.iter().map(|(row, _)| row));
    let indexed: Vec<Indexed> = rows.iter().map(|(row, log_speed)| coefficients.index(row, *log_speed)).collect();
    let mut variances = start;
    for _ in 0..steps {
        let Some(next) = step(&coefficients, &indexed, &variances) else { break };
        variances = next;
    }
    variances
}

/// One step of expectation maximisation.
fn step(coefficients: &Coefficients, rows: &[Indexed], variances: &Variances) -> Option<Variances> {
    let solved = Solved::of(coefficients, rows, variances)?;
    let inverse = solved.factor.inverse();
    let mut next = variances.clone();
    let (mut sums, mut counts) = ([0.0; Effect::COUNT], [0.0; Effect::COUNT]);
    for ((effect, _), index) in &coefficients.0 {
        sums[*effect as usize] += solved.mean[*index].powi(2) + inverse[*index][*index];
        counts[*effect as usize] += 1.0;
    }
    for effect in 1..Effect::COUNT {
        if counts[effect] > 0.0 {
            // A weak prior of one level with a standard deviation of 0.1 keeps rare effects apart
            // from 0.
            next.effects[effect] = ((sums[effect] + 0.01) / (counts[effect] + 1.0)).max(LEAST);
        }
    }
    let pair_sum: f64 = solved.pairs.values().map(|pair| square(pair, variances.pair, &solved.mean, &inverse)).sum();
    next.pair = (pair_sum / solved.pairs.len() as f64).max(LEAST);
    let (mut noise, mut rows_of) = ([0.0; Noise::COUNT], [0.0; Noise::COUNT]);
    for row in rows {
        let pair = &solved.pairs[&row.pair];
        let shrinkage = pair.shrinkage(variances.pair);
        let effect = shrinkage * (pair.residual - along(&pair.columns, &solved.mean));
        let fitted: f64 = row.columns.iter().map(|(i, x)| x * solved.mean[*i]).sum();
        let mut direction: std::collections::BTreeMap<usize, f64> = row.columns.iter().copied().collect();
        for (i, x) in &pair.columns {
            *direction.entry(*i).or_default() -= shrinkage * x;
        }
        noise[row.noise] += (row.residual - fitted - effect).powi(2) + quadratic(&direction, &inverse) + shrinkage;
        rows_of[row.noise] += 1.0;
    }
    for kind in 0..Noise::COUNT {
        next.noise[kind] = ((noise[kind] + 0.02) / (rows_of[kind] + 1.0)).max(LEAST);
    }
    Some(next)
}

type Sparse = std::collections::BTreeMap<usize, f64>;

fn along(columns: &Sparse, mean: &[f64]) -> f64 {
    columns.iter().map(|(i, x)| x * mean[*i]).sum()
}

fn quadratic(columns: &Sparse, inverse: &Matrix) -> f64 {
    columns.iter().map(|(i, x)| x * columns.iter().map(|(j, y)| y * inverse[*i][*j]).sum::<f64>()).sum()
}

/// Returns the expected square of a pair's effect.
fn square(pair: &PairSums, variance: f64, mean: &[f64], inverse: &Matrix) -> f64 {
    let shrinkage = pair.shrinkage(variance);
    let effect = shrinkage * (pair.residual - along(&pair.columns, mean));
    effect.powi(2) + shrinkage.powi(2) * quadratic(&pair.columns, inverse) + shrinkage
}
