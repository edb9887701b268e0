//! Variances of the effects.

use foreglow_shared::number;

use crate::PublicError;
use crate::effects::{Effect, Noise};

/// Variance of the levels that every fit determines.
const VAGUE: f64 = 9.0;
/// Variance below which an effect is not shrunk further.
pub(crate) const LEAST: f64 = 1e-5;

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
            let deviation = line.split_once(',').and_then(|(_, text)| number(text));
            deviation
                .filter(|deviation| *deviation > 0.0)
                .ok_or_else(|| PublicError::Table(format!("{line:?} is no deviation")))
        };
        let mut variances = Self::default();
        for variance in variances.effects.iter_mut().chain([&mut variances.pair]).chain(&mut variances.noise) {
            *variance = crate::squared(next()?);
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
