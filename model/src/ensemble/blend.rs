//! The candidates weighed for one shape of question, and how far they were off where they could be checked.

use serde::{Deserialize, Serialize};

use crate::Spread;
use crate::ensemble::candidate::Kind;
use crate::ensemble::shape::Shape;

/// Added to a loss before its power is taken, log units: below a hundredth, better is luck.
const SAME_LOSS: f64 = 0.01;
/// Power of the weights.
const POWER: i32 = 6;
/// Held-out rows that the error on the fitted rows counts for.
const FITTED_ROWS: f64 = 3.0;
/// Held-out rows from which their ranks alone say how wide an interval is.
const RANKED_FROM: usize = 20;
/// What an error of a prediction inside is before any is seen: its scale and the rows that this counts for.
const PRIOR_INSIDE: (f64, f64) = (0.06, 4.0);
/// The same beyond a range.
const PRIOR_BEYOND: (f64, f64) = (0.08, 1.0);
/// Rows of a fold beyond a range that count at most: they share one bias.
const ROWS_OF_FOLD: f64 = 3.0;
/// What the scale grows by for each range that a question lies beyond, up to [`FARTHEST`] ranges.
const SCALE_PER_RANGE: f64 = 0.05;
const FARTHEST: f64 = 3.0;

/// Weights of the candidates for one shape of question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Blend {
    pub(crate) members: Vec<(Kind, f64)>,
    /// Numeric features whose exponents are tied to whole numbers in the posynomials.
    pub(crate) ties: Vec<usize>,
    /// `None` where nothing could be held out.
    errors: Option<Errors>,
    /// Held-out rows and their log errors, measured less predicted.
    pub(crate) residuals: Vec<(usize, f64)>,
}

/// How far held-out rows were off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Errors {
    /// By their ranks.
    Ranked(Spread),
    /// By their mean square, which grows with the distance beyond the range by `per_range`.
    Scaled { scale: f64, degrees_of_freedom: f64, per_range: f64 },
}

/// What a candidate said of held-out rows.
pub(crate) struct Trial {
    /// Held-out rows, by index.
    pub(crate) rows: Vec<usize>,
    /// Their measured logarithms.
    pub(crate) logs: Vec<f64>,
    /// What each candidate predicted of each.
    pub(crate) predicted: Vec<Vec<f64>>,
}

impl Blend {
    /// Weighs candidates by their mean absolute log errors, `fitted` of each on the rows that it was fitted on.
    pub(crate) fn weigh(shape: &Shape, kinds: &[Kind], ties: Vec<usize>, trials: &[Trial], fitted: &[f64]) -> Self {
        let losses: Vec<f64> = (0..kinds.len()).map(|place| loss(trials, place, fitted[place])).collect();
        let raw: Vec<f64> = losses.iter().map(|loss| power(loss + SAME_LOSS)).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let error = |trial: &Trial, row: usize| {
            let predicted: f64 = weights.iter().zip(&trial.predicted).map(|(w, logs)| w * logs[row]).sum();
            (trial.rows[row], trial.logs[row] - predicted)
        };
        let folds: Vec<Vec<(usize, f64)>> =
            trials.iter().map(|trial| (0..trial.rows.len()).map(|row| error(trial, row)).collect()).collect();
        let errors = Errors::of(shape, &folds);
        let members = kinds.iter().copied().zip(weights).collect();
        Self { members, ties, errors, residuals: folds.concat() }
    }

    /// The spread of a prediction that lies so many ranges beyond the measured ones.
    pub(crate) fn spread(&self, distance: f64) -> Option<Spread> {
        match self.errors.as_ref()? {
            Errors::Ranked(spread) => Some(spread.clone()),
            Errors::Scaled { scale, degrees_of_freedom, per_range } => {
                let beyond = per_range * distance.min(FARTHEST);
                Spread::student_t((scale * scale + beyond * beyond).sqrt(), *degrees_of_freedom).ok()
            }
        }
    }
}

impl Blend {
    /// The logarithm of the quantile of [`Blend::spread`] at a probability of at least 1/2.
    pub(crate) fn margin(&self, probability: f64) -> Margin {
        // A t distribution scales: its quantile is worked out once.
        let quantile = |spread: &Spread| libm::log(spread.quantile(probability));
        match &self.errors {
            None => Margin { unit: f64::INFINITY, square: 1.0, square_per_range: 0.0 },
            Some(Errors::Ranked(spread)) => Margin { unit: quantile(spread), square: 1.0, square_per_range: 0.0 },
            Some(Errors::Scaled { scale, degrees_of_freedom, per_range }) => {
                let unit = Spread::student_t(1.0, *degrees_of_freedom).map_or(f64::INFINITY, |unit| quantile(&unit));
                Margin { unit, square: scale * scale, square_per_range: per_range * per_range }
            }
        }
    }
}

/// How far above a prediction, in ln t, a quantile of its spread lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    unit: f64,
    square: f64,
    square_per_range: f64,
}

impl Margin {
    /// Of a question whose squared distance beyond the measured ranges is given.
    #[inline]
    pub(crate) fn at(self, distance_squared: f64) -> f64 {
        const MOST: f64 = FARTHEST * FARTHEST;
        let counted = if distance_squared < MOST { distance_squared } else { MOST };
        self.unit * (self.square + self.square_per_range * counted).sqrt()
    }
}

impl Errors {
    fn of(shape: &Shape, folds: &[Vec<(usize, f64)>]) -> Option<Self> {
        let all = || folds.iter().flatten().map(|(_, error)| *error);
        let count = all().count();
        if count == 0 {
            return None;
        }
        let squares = |errors: &[(usize, f64)]| errors.iter().map(|(_, error)| error * error).sum::<f64>();
        if matches!(shape, Shape::Beyond(_)) {
            let (prior, prior_rows) = PRIOR_BEYOND;
            let (mut sum, mut rows) = (prior_rows * prior * prior, prior_rows);
            for fold in folds.iter().filter(|fold| !fold.is_empty()) {
                let counted = (fold.len() as f64).min(ROWS_OF_FOLD);
                sum += counted * squares(fold) / fold.len() as f64;
                rows += counted;
            }
            return Some(Self::Scaled {
                scale: (sum / rows).sqrt(),
                degrees_of_freedom: rows,
                per_range: SCALE_PER_RANGE,
            });
        }
        if count >= RANKED_FROM {
            return Spread::conformal(all().map(f64::abs)).ok().map(Self::Ranked);
        }
        let (prior, prior_rows) = PRIOR_INSIDE;
        let rows = prior_rows + count as f64;
        let sum = prior_rows * prior * prior + folds.iter().map(|fold| squares(fold)).sum::<f64>();
        Some(Self::Scaled { scale: (sum / rows).sqrt(), degrees_of_freedom: rows, per_range: 0.0 })
    }
}

/// The mean absolute error over folds, drawn to the error on the fitted rows where few were held out.
fn loss(trials: &[Trial], place: usize, fitted: f64) -> f64 {
    let held_out: f64 = trials.iter().map(|trial| trial.rows.len() as f64).sum();
    let mean = |trial: &Trial| {
        let errors = trial.predicted[place].iter().zip(&trial.logs).map(|(predicted, log)| (predicted - log).abs());
        errors.sum::<f64>() / trial.logs.len() as f64
    };
    let folds = trials.len().max(1) as f64;
    let over_folds = trials.iter().map(mean).sum::<f64>() / folds;
    (held_out * over_folds + FITTED_ROWS * fitted) / (held_out + FITTED_ROWS)
}

/// x to the power −[`POWER`], by multiplication.
fn power(x: f64) -> f64 {
    1.0 / (0..POWER).map(|_| x).product::<f64>()
}
