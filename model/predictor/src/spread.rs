//! Distribution of the true time around the predicted one, symmetric in log time.

use std::sync::Arc;

use foreglow_numeric::student_t;
use serde::{Deserialize, Serialize};

/// Probability that a normal variable is at most one standard deviation above its mean.
const ONE_DEVIATION: f64 = 0.841_344_746_068_543;
/// Tolerance of ranks against the rounding of probabilities.
const ROUNDING: f64 = 1e-9;

/// Distribution of ln(true time / predicted time), symmetric about 0. Cheap to clone.
///
/// ```
/// # use foreglow_predictor::Spread;
/// let spread = Spread::conformal([0.1, 0.02, 0.05, 0.03]).unwrap();
/// // Four errors cover probabilities up to 1/2 + 4/(2·5) = 0.9; the assumed tail covers the rest.
/// assert!((spread.quantile(0.9) - 1.1052).abs() < 1e-4);
/// assert!((spread.quantile(0.975) - libm::exp(0.2)).abs() < 1e-9);
/// assert!((spread.probability_below(libm::exp(0.2)) - 0.975).abs() < 1e-12);
/// assert_eq!(spread.probability_below(1.0), 0.5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Empirical distribution of held-out errors (split conformal prediction).
    ///
    /// If n errors are exchangeable with the next one, the next is at most the k-th smallest with
    /// probability k/(n + 1) (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World,
    /// 2005, §2.2; Lei et al., "Distribution-free predictive inference for regression", JASA
    /// 113(523), 2018, §2.1). Between ranks the distribution is interpolated linearly in log time.
    ///
    /// Ranks end at the largest error, at the probability 1/2 + n/(2(n + 1)). Beyond it a tail is
    /// assumed: the probability of a larger error falls with its square, as in the tail of
    /// Student's t with two degrees of freedom, which has no finite variance. A limit far beyond
    /// every error is therefore met with a probability near 1 even with few errors. If the largest
    /// error is infinite or there are no errors, no tail is assumed and the quantile is infinite.
    Conformal {
        /// Absolute log errors of held-out runs.
        errors: HeldOutErrors,
    },
    /// Scaled Student's t distribution.
    StudentT {
        /// Scale of the log error, 0 or more.
        scale: f64,
        /// Degrees of freedom, above 0.
        degrees_of_freedom: f64,
    },
}

/// Absolute log errors |ln(true/predicted)| of held-out runs, ascending. An infinite error, stored
/// as `null` in JSON, belongs to a run that could not be predicted without itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Option<f64>>", into = "Vec<Option<f64>>")]
pub struct HeldOutErrors(Arc<[f64]>);

/// Why a spread is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpreadError {
    /// An error is negative or NaN.
    #[error("a held-out error is {0}; it must be a number, 0 or more")]
    Error(f64),
    /// The scale is negative or not finite.
    #[error("the scale is {0}; it must be a number, 0 or more")]
    Scale(f64),
    /// The degrees of freedom are not above 0.
    #[error("there are {0} degrees of freedom; there must be more than 0")]
    Degrees(f64),
}

impl Spread {
    /// Prior mean absolute difference of ln t of two runs of one setting, from repeated runs of
    /// eleven jobs of C3O and Bell, whose means are 0.012 to 0.17 with a median of 0.037.
    pub const BETWEEN_RUNS: f64 = 0.04;

    /// Returns the distribution of another run of a setting that ran once. Two degrees of freedom,
    /// because the difference between runs varies between jobs.
    pub const fn of_another_run() -> Self {
        Self::StudentT { scale: Self::BETWEEN_RUNS, degrees_of_freedom: 2.0 }
    }

    /// Creates a spread from held-out absolute log errors, in any order. Without errors only the
    /// median is known.
    ///
    /// # Errors
    /// [`SpreadError::Error`]: an error is negative or NaN.
    pub fn conformal(errors: impl IntoIterator<Item = f64>) -> Result<Self, SpreadError> {
        HeldOutErrors::new(errors.into_iter().collect()).map(|errors| Self::Conformal { errors })
    }

    /// Creates a scaled t distribution.
    ///
    /// # Errors
    /// [`SpreadError`]: the scale is negative or not finite, or the degrees of freedom are not
    /// above 0.
    pub fn student_t(scale: f64, degrees_of_freedom: f64) -> Result<Self, SpreadError> {
        if !(scale.is_finite() && scale >= 0.0) {
            return Err(SpreadError::Scale(scale));
        }
        if degrees_of_freedom.is_nan() || degrees_of_freedom <= 0.0 {
            return Err(SpreadError::Degrees(degrees_of_freedom));
        }
        Ok(Self::StudentT { scale, degrees_of_freedom })
    }

    /// Returns the quantile of the ratio of true to predicted time: 1 at probability 1/2, and q(1 −
    /// p) = 1/q(p). Infinite (or 0 at the other end) for probabilities beyond
    /// [`most_probability`](Self::most_probability); NaN for NaN.
    pub fn quantile(&self, probability: f64) -> f64 {
        if probability < 0.5 {
            return 1.0 / self.quantile(1.0 - probability);
        }
        if probability.is_nan() {
            return f64::NAN;
        }
        let log = match self {
            Self::Conformal { errors } => errors.exceeded_with(1.0 - probability),
            Self::StudentT { scale, .. } if *scale == 0.0 && probability < 1.0 => 0.0,
            Self::StudentT { scale, degrees_of_freedom } => {
                scale * student_t::exceeded_with(1.0 - probability, *degrees_of_freedom)
            }
        };
        libm::exp(log)
    }

    /// Returns the probability that the true time is at most `ratio` times the predicted one: 1/2
    /// at 1. NaN if `ratio` is negative or NaN.
    pub fn probability_below(&self, ratio: f64) -> f64 {
        if ratio.is_nan() || ratio < 0.0 {
            return f64::NAN;
        }
        let log = libm::log(ratio);
        match self {
            Self::Conformal { errors } => {
                let half = 0.5 - errors.upper_tail(log.abs());
                if log < 0.0 { 0.5 - half } else { 0.5 + half }
            }
            Self::StudentT { scale, degrees_of_freedom } => {
                // With scale 0, log / scale would be NaN for an error of exactly 0.
                let deviations = if log == 0.0 { 0.0 } else { log / scale };
                match deviations {
                    below if below < 0.0 => student_t::probability_above(-below, *degrees_of_freedom),
                    above => 1.0 - student_t::probability_above(above, *degrees_of_freedom),
                }
            }
        }
    }

    /// Returns the approximate spread of the sum of two independent log errors: Student's t whose
    /// 95 % quantile is the root of the sum of both squares, with the fewer degrees of freedom.
    /// `None` if one of the quantiles is infinite.
    pub fn with(&self, other: &Self) -> Option<Self> {
        const UPPER: f64 = 0.95;
        let degrees = |spread: &Self| match spread {
            Self::Conformal { errors } => (errors.as_slice().len() as f64).max(1.0),
            Self::StudentT { degrees_of_freedom, .. } => *degrees_of_freedom,
        };
        let [own, others] = [self, other].map(|spread| libm::log(spread.quantile(UPPER)));
        let degrees_of_freedom = degrees(self).min(degrees(other));
        let unit = Self::student_t(1.0, degrees_of_freedom).ok()?;
        let half_width = (own * own + others * others).sqrt();
        Self::student_t(half_width / libm::log(unit.quantile(UPPER)), degrees_of_freedom).ok()
    }

    /// Returns the spread of log errors that are larger by a factor, at least 0 and finite.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        match self {
            Self::Conformal { errors } => {
                Self::Conformal { errors: HeldOutErrors(errors.0.iter().map(|error| error * factor).collect()) }
            }
            Self::StudentT { scale, degrees_of_freedom } => {
                Self::StudentT { scale: scale * factor, degrees_of_freedom: *degrees_of_freedom }
            }
        }
    }

    /// Returns the standard deviation of the normal distribution of log errors that has the same
    /// interval of 68 %; `None` if its ends are infinite.
    pub fn log_deviation(&self) -> Option<f64> {
        Some(libm::log(self.quantile(ONE_DEVIATION))).filter(|deviation| deviation.is_finite())
    }

    /// Returns the largest probability with a finite quantile.
    pub fn most_probability(&self) -> f64 {
        self.probability_below(f64::INFINITY)
    }
}

impl HeldOutErrors {
    fn new(mut errors: Vec<f64>) -> Result<Self, SpreadError> {
        if let Some(error) = errors.iter().find(|error| error.is_nan() || **error < 0.0) {
            return Err(SpreadError::Error(*error));
        }
        errors.sort_unstable_by(f64::total_cmp);
        Ok(Self(errors.into()))
    }

    /// Returns the errors, ascending.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// Returns the probability that the log ratio is above an absolute error: half of that of a
    /// larger absolute error.
    fn upper_tail(&self, error: f64) -> f64 {
        let beyond_all = 0.5 / (self.0.len() as f64 + 1.0);
        match self.0.last() {
            Some(largest) if largest.is_finite() && error > *largest => {
                let ratio = largest / error;
                beyond_all * ratio * ratio
            }
            _ => 0.5 - self.rank_of(error) * beyond_all,
        }
    }

    /// Returns the log ratio that is exceeded with a probability of at most 1/2: the inverse of
    /// `upper_tail`.
    fn exceeded_with(&self, probability: f64) -> f64 {
        let beyond_all = 0.5 / (self.0.len() as f64 + 1.0);
        match self.0.last() {
            Some(largest) if largest.is_finite() && probability < beyond_all => {
                if *largest == 0.0 {
                    0.0
                } else {
                    largest * (beyond_all / probability).sqrt()
                }
            }
            _ => self.at_rank((0.5 - probability) / beyond_all),
        }
    }

    /// Returns the error at a rank from 0 to n, interpolated linearly; infinite beyond n.
    fn at_rank(&self, rank: f64) -> f64 {
        let errors = &self.0;
        let floor = (rank + ROUNDING).floor();
        let below = floor as usize;
        let at = |rank: usize| if rank == 0 { Some(0.0) } else { errors.get(rank - 1).copied() };
        let share = rank - floor;
        match (at(below), at(below.saturating_add(1))) {
            (Some(low), _) if share <= ROUNDING => low,
            (Some(low), Some(high)) => low + share * (high - low),
            _ => f64::INFINITY,
        }
    }

    /// Returns the rank of an absolute error, the inverse of `at_rank`; the highest rank of equal
    /// errors.
    fn rank_of(&self, error: f64) -> f64 {
        let errors = &self.0;
        let below = errors.partition_point(|other| *other <= error && other.is_finite());
        let low = if below == 0 { 0.0 } else { errors[below - 1] };
        match errors.get(below) {
            Some(high) if high.is_finite() => below as f64 + (error - low) / (high - low),
            _ => below as f64,
        }
    }
}

impl TryFrom<Vec<Option<f64>>> for HeldOutErrors {
    type Error = SpreadError;

    fn try_from(errors: Vec<Option<f64>>) -> Result<Self, SpreadError> {
        Self::new(errors.into_iter().map(|error| error.unwrap_or(f64::INFINITY)).collect())
    }
}

impl From<HeldOutErrors> for Vec<Option<f64>> {
    fn from(errors: HeldOutErrors) -> Self {
        errors.0.iter().map(|error| error.is_finite().then_some(*error)).collect()
    }
}
