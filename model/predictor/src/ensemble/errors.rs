//! Estimates the error of a prediction from the errors on held-out rows that are as far from the
//! fitted rows as the question is from the runs.
//!
//! - Each held-out error is divided by √(1 + (d/reach)²), because errors grow with the distance d
//!   beyond the fitted range, in units of that range.
//! - Within the range, d is the distance beyond the rows of its own context.
//! - A row is the median of its runs. The noise of one run about it is added.
//! - The error is multiplied by √(rows fitted / all rows), because the final fit uses all rows and
//!   is more accurate. Where the growth with the distance is larger, it replaces this factor.
//! - Where contexts grow differently beyond a range ([`slopes`](crate::ensemble::slopes)), the
//!   error of a question that is farther than the held-out rows grows with the distance.
//! - Where candidates that fit the runs differ beyond the range, the variance between them is
//!   added.
//! - Along a law, the interval is at least as wide as its
//!   [`parameters`](crate::ensemble::parameters) leave open. If nothing was held out, it is that of
//!   the prior.
//! - With few held-out errors, the distribution is Student's t, shrunk towards a prior that grows
//!   with std(ln t) and with features per row: few errors underestimate the tails. The distribution
//!   has two degrees of freedom; along a law each held-out row adds to them. Beyond the range of a
//!   context, each held-out context counts as one row.
//! - With many held-out errors, the distribution follows from their ranks (split conformal
//!   prediction).
//!
//! The constants were chosen on splits of public data and of simulated jobs that `make accuracy`
//! does not report (`make development` prints the figures), by the mean log density of the errors,
//! with equal weight for each source of data. Those of laws were chosen on the development figures
//! of `make accuracy`.

use serde::{Deserialize, Serialize};

use foreglow_shared::distinct;

use crate::Spread;
use crate::ensemble::distance::Distances;
use crate::ensemble::margin::Margin;
use crate::ensemble::parameters::Parameters;
use crate::ensemble::shape::Shape;
use crate::ensemble::slopes::{Slope, Slopes};

/// Number of held-out rows from which the interval is based on ranks alone.
const RANKED_FROM: usize = 20;
/// Prior mean absolute error of a fit of many rows, log units, for a question within the ranges.
const USUAL_WITHIN: f64 = 0.025;
/// The same for a question beyond the ranges.
const USUAL_BEYOND: f64 = 0.04;
/// The same beyond the sampled amount of work alone.
const USUAL_OF_LAWS: f64 = 0.06;
/// The same beyond ranges where only whole-number exponents extrapolate.
const USUAL_OF_POWERS: f64 = 0.08;
/// Increase of the prior mean per feature per row, as a share of the standard deviation of ln t.
const USUAL_PER_FEATURE: f64 = 0.18;
/// Weight of the prior, in held-out rows.
const USUAL_ROWS: f64 = 5.0;
/// Degrees of freedom of Student's t before any row is held out: it has heavy tails because the
/// error level differs between tables.
const DEGREES_OF_FREEDOM: f64 = 2.0;
/// Degrees of freedom that a held-out row adds along a law, whose errors are like those to come.
const DEGREES_PER_ROW: f64 = 0.3;
/// Limit on a held-out error, log units, so that a candidate that fails on a few rows does not
/// dominate the estimate.
const LARGEST_ERROR: f64 = 3.0;
/// Growth of an error beyond a range of workers, where costs that grow with the workers first
/// become visible.
const MORE_WORKERS: f64 = 1.3;
/// Limit on the rows of a fold that count if they share one bias.
const ROWS_OF_FOLD: f64 = 12.0;
/// Distance beyond the fitted ranges, in units of these, at which an error has grown by √2.
const REACH: f64 = 0.35;
/// The same if only whole-number exponents extrapolate, because there are too few values to fit
/// others.
const REACH_OF_POWERS: f64 = 0.9;
/// The same along the amount of work, whose law is known.
const REACH_OF_LAWS: f64 = 1.5;
/// The same beyond the runs of a context within the table's range, in units of the table's. It was
/// chosen on Scout, on random runs of TrimTuner's recurrent network and on the development groups.
const REACH_OF_CONTEXT: f64 = 0.5;
/// Square of the standard deviation of a normal error in units of its mean absolute value.
const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
/// Probability at which an interval is widened: the upper end of one of 90 %.
const UPPER: f64 = 0.95;

/// Position of a question relative to the rows.
pub(crate) struct Situation<'a> {
    pub(crate) shape: &'a Shape,
    /// Variance that a law has beyond the range.
    pub(crate) parameters: Parameters,
    /// Variance between the candidates beyond the range.
    pub(crate) between: Parameters,
    /// Whether a forward hold-out was possible for the shape.
    pub(crate) has_forward: bool,
    /// Features that vary, per row.
    pub(crate) features_per_row: f64,
    /// Standard deviation of ln t that no law explains.
    pub(crate) deviation: f64,
    /// Whether the question is beyond the ranges in the amount of work alone, which follows a law.
    pub(crate) is_lawful: bool,
    /// Whether the question is beyond a range of workers.
    pub(crate) has_more_workers: bool,
    /// Whether only laws are used, and the variance between them shows their error beyond the
    /// range.
    pub(crate) has_laws_alone: bool,
    /// Prior mean absolute difference of two runs of one setting, log units, if no other setting
    /// ran and the setting ran once.
    pub(crate) between_runs: Option<f64>,
}

impl Situation<'_> {
    /// Returns the prior mean absolute error, log units.
    fn usual(&self) -> f64 {
        if let Some(between_runs) = self.between_runs {
            return between_runs;
        }
        let of_many_rows = match self.shape {
            Shape::Beyond(_) if self.is_lawful => USUAL_OF_LAWS,
            Shape::Beyond(_) if self.has_forward => USUAL_BEYOND,
            Shape::Beyond(_) => USUAL_OF_POWERS,
            Shape::BeyondOfContext(_) => USUAL_BEYOND,
            _ => USUAL_WITHIN,
        };
        of_many_rows + USUAL_PER_FEATURE * self.deviation * self.features_per_row
    }
}

/// A held-out row.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldOut {
    /// ln(measured / predicted), measured by the median of the row's runs.
    pub(super) error: f64,
    /// How much larger the variance of ln t of one run is than that of the median.
    pub(super) beyond_median: f64,
    pub(super) distances: Distances,
    /// Number of its context.
    pub(super) context: usize,
    /// Whether the other rows show that its runs were disturbed.
    pub(super) is_disturbed: bool,
}

impl HeldOut {
    /// Converts the absolute error of the median to that of a question within the range after a fit
    /// of all rows; `by_rows` is the correction for the number of fitted rows.
    fn size(&self, by_rows: f64, reach: f64) -> f64 {
        self.error.abs().min(LARGEST_ERROR) * self.factor(by_rows, reach)
    }

    /// The same with the mean absolute error of one run about the median added in quadrature.
    fn size_of_run(&self, by_rows: f64, reach: f64) -> f64 {
        let error = self.error.abs().min(LARGEST_ERROR);
        (error * error + self.beyond_median / HALF_PI).sqrt() * self.factor(by_rows, reach)
    }

    fn factor(&self, by_rows: f64, reach: f64) -> f64 {
        let Distances { beyond, in_context, .. } = self.distances;
        let factor = if in_context > 0.0 {
            by_rows.min(1.0 / growth(in_context * in_context, REACH_OF_CONTEXT))
        } else {
            by_rows
        };
        factor / growth(beyond * beyond, reach)
    }
}

/// Size of a held-out error for the correction by rows and the reach.
type Size = fn(&HeldOut, f64, f64) -> f64;

/// The rows of one fold.
pub(super) struct HeldOutFold {
    pub(super) rows: Vec<HeldOut>,
    /// Share of all rows that were fitted.
    pub(super) fitted: f64,
}

impl HeldOutFold {
    /// Returns the number of contexts that the rows are of.
    fn contexts(&self) -> usize {
        let contexts = distinct(self.rows.iter().map(|row| row.context));
        contexts.len()
    }

    /// Returns the errors per unit of distance of the rows beyond the range.
    fn slopes(&self) -> Vec<Slope> {
        let beyond = self.rows.iter().filter(|row| row.distances.of_table > 0.0);
        let slope = |row: &HeldOut| {
            let (error, distance) = (row.error.clamp(-LARGEST_ERROR, LARGEST_ERROR), row.distances.of_table);
            Slope { context: row.context, slope: error / distance, distance }
        };
        beyond.map(slope).collect()
    }
}

/// Distribution of the errors of predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Errors {
    /// By the ranks of the held-out errors.
    Ranked(Spread),
    /// By their mean, which grows with the distance beyond the range.
    Scaled {
        scale: f64,
        reach: f64,
        degrees: f64,
        slopes: Slopes,
        parameters: Parameters,
        /// Variance between the candidates.
        between: Parameters,
        /// Least scale at distance 0.
        least: f64,
    },
}

impl Errors {
    /// Estimates the distribution; `None` if nothing was held out. Along a law it is then the
    /// prior.
    pub(super) fn of(situation: &Situation, folds: &[HeldOutFold]) -> Option<Self> {
        let Situation { shape, has_forward, .. } = *situation;
        let count: usize = folds.iter().map(|fold| fold.rows.len()).sum();
        if count == 0 && !situation.is_lawful && situation.between_runs.is_none() {
            return None;
        }
        let reach = match (situation.is_lawful || situation.has_laws_alone, has_forward) {
            (true, _) => REACH_OF_LAWS,
            (false, true) => REACH,
            (false, false) => REACH_OF_POWERS,
        };
        let is_beyond = matches!(shape, Shape::Beyond(_) | Shape::BeyondOfContext(_));
        let shares_bias = is_beyond || matches!(shape, Shape::Few(..));
        // The growth with distance already corrects the errors of forward folds for the missing
        // rows.
        let is_unseen = matches!(shape, Shape::Unseen(columns) if columns.len() == 1);
        let by_rows = |fold: &HeldOutFold| {
            if is_beyond && has_forward {
                1.0
            } else if is_unseen {
                by_names(fold.fitted)
            } else {
                fold.fitted.sqrt()
            }
        };
        let sizes_of = |fold: &HeldOutFold, size: Size| -> Vec<f64> {
            fold.rows.iter().map(|row| size(row, by_rows(fold), reach)).collect()
        };
        let sizes = |fold: &HeldOutFold| sizes_of(fold, HeldOut::size_of_run);
        if !shares_bias && count >= RANKED_FROM {
            let all = |size: Size| folds.iter().flat_map(|fold| sizes_of(fold, size)).collect::<Vec<f64>>();
            let (of_medians, of_runs) = (all(HeldOut::size), all(HeldOut::size_of_run));
            // Noise of a run makes all ranks larger, those of small errors too.
            let larger = of_runs.iter().sum::<f64>() / of_medians.iter().sum::<f64>();
            let mut sizes: Vec<f64> =
                if larger.is_finite() { of_medians.iter().map(|size| size * larger).collect() } else { of_runs };
            if is_unseen {
                let groups: usize = folds.iter().map(HeldOutFold::contexts).sum();
                // A slow run is not the error of its group.
                let rows = folds.iter().flat_map(|fold| &fold.rows).zip(&sizes);
                let largest = rows.filter(|(row, _)| !row.is_disturbed).map(|(_, size)| *size).fold(0.0, f64::max);
                add_group(&mut sizes, groups, largest);
            }
            return Spread::conformal(sizes).ok().map(Self::Ranked);
        }
        let (mut sum, mut rows) = (situation.usual() * USUAL_ROWS, USUAL_ROWS);
        for fold in folds.iter().filter(|fold| !fold.rows.is_empty()) {
            let held_out = fold.rows.len() as f64;
            let counted = match shape {
                // All rows beyond the range of one context share one error, so the contexts count.
                Shape::BeyondOfContext(_) => held_out.min(fold.contexts() as f64),
                _ if shares_bias => held_out.min(ROWS_OF_FOLD),
                _ => held_out,
            };
            sum += counted / held_out * sizes(fold).iter().sum::<f64>();
            rows += counted;
        }
        let learnt = if situation.is_lawful { DEGREES_PER_ROW * (rows - USUAL_ROWS) } else { 0.0 };
        let degrees = DEGREES_OF_FREEDOM + learnt;
        let is_unknown = situation.has_more_workers && !situation.has_laws_alone;
        let mean = sum / rows * if is_unknown { MORE_WORKERS } else { 1.0 };
        let slopes = match shape {
            Shape::Beyond(_) if has_forward => {
                Slopes::of(&folds.iter().map(HeldOutFold::slopes).collect::<Vec<Vec<Slope>>>())
            }
            _ => Slopes::EQUAL,
        };
        let reach = if matches!(shape, Shape::Inside | Shape::Few(..)) { REACH_OF_CONTEXT } else { reach };
        let Situation { parameters, between, .. } = *situation;
        let scale = mean * scale_of_mean(degrees);
        Some(Self::Scaled { scale, reach, degrees, slopes, parameters, between, least: 0.0 })
    }

    /// Makes the 90 % intervals at distance 0 no narrower than those of `other`. The part that
    /// grows with the distance is added to them.
    pub(super) fn widen(&mut self, other: &Self) {
        let [own, wanted] = [&*self, other].map(|errors| errors.margin(UPPER).at(0.0));
        if let Self::Scaled { scale, least, .. } = self
            && wanted < f64::INFINITY
        {
            *least = *scale * wanted / own;
        }
    }

    /// Returns the spread of a prediction at a distance beyond the measured ranges, in units of
    /// these.
    pub(super) fn spread(&self, distance: f64) -> Option<Spread> {
        let growth = self.growth().at(distance * distance);
        match self {
            Self::Ranked(spread) if growth == 1.0 => Some(spread.clone()),
            Self::Ranked(spread) => Some(spread.scaled(growth)),
            Self::Scaled { scale, degrees, .. } => Spread::student_t(scale * growth, *degrees).ok(),
        }
    }

    /// Returns the growth of the margin with the distance, for a quantile of 1 at distance 0.
    fn growth(&self) -> Margin {
        match self {
            Self::Ranked(_) => Margin::UNIT.growing(REACH_OF_CONTEXT),
            Self::Scaled { scale, reach, slopes, parameters, between, least, .. } => Margin {
                least: (least / scale).max(1.0),
                slopes: Slopes { variance: slopes.variance / (scale * scale), ..*slopes },
                parameters: parameters.scaled(1.0 / (scale * scale)),
                between: between.scaled(1.0 / (scale * scale)),
                ..Margin::UNIT.growing(*reach)
            },
        }
    }

    /// Returns the logarithm of the quantile of [`Errors::spread`] for a probability of at least
    /// 1/2.
    pub(super) fn margin(&self, probability: f64) -> Margin {
        let quantile = |spread: &Spread| libm::log(spread.quantile(probability));
        // Both distributions scale, so one quantile is enough.
        let unit = match self {
            Self::Ranked(spread) => quantile(spread),
            Self::Scaled { scale, degrees, .. } => {
                Spread::student_t(*scale, *degrees).map_or(f64::INFINITY, |unit| quantile(&unit))
            }
        };
        Margin { unit, ..self.growth() }
    }
}

/// Returns the correction of an error of a new name by the share of the names that were fitted. Its
/// own difference from the others, which dominates, has the variance 1 + 1/names.
fn by_names(fitted: f64) -> f64 {
    (1.0 - (1.0 - fitted) * (1.0 - fitted)).sqrt()
}

/// Adds the errors of one more group of rows, all of this size. Errors of one group are correlated,
/// so that the groups count and not the rows (Lee, Barber and Willett, "Distribution-free inference
/// with hierarchical data", 2023).
pub(crate) fn add_group(errors: &mut Vec<f64>, groups: usize, size: f64) {
    let more = errors.len() / groups.max(1);
    errors.extend(std::iter::repeat_n(size, more));
}

/// Returns the scale of Student's t in units of the mean absolute error: 1 at the least degrees of
/// freedom, √(π/2) as for normal errors with many.
fn scale_of_mean(degrees: f64) -> f64 {
    let normal = HALF_PI.sqrt();
    1.0 + (normal - 1.0) * (1.0 - DEGREES_OF_FREEDOM / degrees)
}

/// Returns the growth factor of an error at a squared distance beyond the range.
fn growth(distance_squared: f64, reach: f64) -> f64 {
    Margin::UNIT.growing(reach).at(distance_squared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensemble::axis::Side;

    fn held_out(error: f64, distance: f64) -> HeldOut {
        let distances = Distances { beyond: distance, in_context: 0.0, of_table: distance };
        HeldOut { error, beyond_median: 0.0, distances, context: 0, is_disturbed: false }
    }

    fn fold(errors: &[f64], distance: f64, fitted: f64) -> HeldOutFold {
        HeldOutFold { rows: errors.iter().map(|error| held_out(*error, distance)).collect(), fitted }
    }

    fn of(shape: &Shape, features_per_row: f64, folds: &[HeldOutFold]) -> Option<Errors> {
        Errors::of(
            &Situation {
                shape,
                parameters: Parameters::KNOWN,
                between: Parameters::KNOWN,
                has_forward: true,
                features_per_row,
                deviation: 0.5,
                is_lawful: false,
                has_more_workers: false,
                has_laws_alone: false,
                between_runs: None,
            },
            folds,
        )
    }

    fn scale(shape: &Shape, folds: &[HeldOutFold]) -> f64 {
        match of(shape, 0.0, folds).unwrap() {
            Errors::Scaled { scale, .. } => scale,
            Errors::Ranked(_) => panic!("ranked"),
        }
    }

    #[test]
    fn few_errors_are_drawn_to_the_usual_one() {
        let expected = (USUAL_WITHIN * USUAL_ROWS + (0.1 + 0.3) * 0.5) / (USUAL_ROWS + 2.0);
        let folds = [fold(&[0.1, -0.3], 0.0, 0.25)];
        assert!((scale(&Shape::Inside, &folds) - expected).abs() < 1e-15);
        let half = |features_per_row| of(&Shape::Inside, features_per_row, &folds).unwrap().margin(0.95).at(0.0);
        assert!(half(0.5) > half(0.1));
        assert!(of(&Shape::Inside, 0.0, &[]).is_none());
    }

    #[test]
    fn the_usual_error_grows_with_the_spread_of_the_times() {
        let usual = |deviation| {
            Situation {
                shape: &Shape::Inside,
                parameters: Parameters::KNOWN,
                between: Parameters::KNOWN,
                has_forward: true,
                features_per_row: 0.5,
                deviation,
                is_lawful: false,
                has_more_workers: false,
                has_laws_alone: false,
                between_runs: None,
            }
            .usual()
        };
        assert!((usual(1.0) - usual(0.0) - 0.5 * USUAL_PER_FEATURE).abs() < 1e-15 && usual(0.0) == USUAL_WITHIN);
    }

    #[test]
    fn rows_of_one_context_share_one_bias_however_many_they_are() {
        let folds: Vec<HeldOutFold> = (0..5).map(|_| fold(&[0.01; 40], 0.0, 0.64)).collect();
        assert!(matches!(of(&Shape::Inside, 0.0, &folds), Some(Errors::Ranked(_))));
        assert!(matches!(of(&Shape::Few(vec![0], 1), 0.0, &folds), Some(Errors::Scaled { .. })));
    }

    #[test]
    fn an_error_far_beyond_the_fitted_rows_promises_a_smaller_one_nearby() {
        let beyond = Shape::Beyond(vec![(0, Side::Above)]);
        let folds = [fold(&[0.5], 1.0, 0.5)];
        let errors = of(&beyond, 0.0, &folds).unwrap();
        let half = |distance: f64| libm::log(errors.spread(distance).unwrap().quantile(0.95));
        assert!(half(0.2) < half(1.0) && half(1.0) < half(2.0) && half(3.0) == half(30.0));
        let near = [fold(&[0.5], 0.1, 0.5)];
        assert!(scale(&beyond, &folds) < scale(&beyond, &near));
        // A grid uses the margin and must give the same number.
        assert!((errors.margin(0.95).at(4.0) - half(2.0)).abs() < 1e-12);
    }

    #[test]
    fn along_a_law_held_out_rows_narrow_the_interval_and_its_tails() {
        let beyond = Shape::Beyond(vec![(0, Side::Above)]);
        let half = |rows: usize, is_lawful: bool| {
            let situation = Situation {
                shape: &beyond,
                parameters: Parameters::KNOWN,
                between: Parameters::KNOWN,
                has_forward: true,
                features_per_row: 0.0,
                deviation: 0.0,
                is_lawful,
                has_more_workers: false,
                has_laws_alone: false,
                between_runs: None,
            };
            let errors = Errors::of(&situation, &[fold(&vec![0.04; rows], 0.0, 0.5)]).unwrap();
            errors.margin(0.95).at(0.0)
        };
        assert!(half(12, true) < 0.85 * half(1, true));
        assert!((half(12, false) - half(1, false)).abs() < 1e-12, "without a law only the mean counts");
    }

    #[test]
    fn a_candidate_that_fails_altogether_does_not_make_an_interval_endless() {
        let beyond = Shape::Beyond(vec![(0, Side::Above)]);
        let wild = scale(&beyond, &[fold(&[50.0], 0.0, 1.0)]);
        assert!((wild - scale(&beyond, &[fold(&[LARGEST_ERROR], 0.0, 1.0)])).abs() < 1e-12);
    }

    #[test]
    fn rows_of_a_large_fold_beyond_a_range_share_one_bias() {
        let beyond = Shape::Beyond(vec![(0, Side::Above)]);
        let once = [fold(&[0.5; 12], 0.0, 1.0)];
        let often = [fold(&[0.5; 500], 0.0, 1.0)];
        assert!((scale(&beyond, &once) - scale(&beyond, &often)).abs() < 1e-12);
    }

    #[test]
    fn many_errors_within_the_range_speak_by_their_ranks() {
        let folds: Vec<HeldOutFold> = (0..5).map(|_| fold(&[0.01, 0.02, 0.03, 0.04], 0.0, 0.64)).collect();
        let errors = of(&Shape::Inside, 0.0, &folds).unwrap();
        assert!((libm::log(errors.spread(0.0).unwrap().quantile(0.95)) - 0.8 * 0.04).abs() < 1e-12);
    }
}
