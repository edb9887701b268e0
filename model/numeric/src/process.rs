//! A Gaussian process over rows that belong to groups, which predicts rows of unseen groups.
//!
//! The covariance of two rows is a constant, a linear part, a Matérn kernel of smoothness 5/2, and
//! a term for rows of one group (Rasmussen and Williams, "Gaussian Processes for Machine Learning",
//! 2006, §4.2). Its settings are those with the least mean absolute error when each group is left
//! out in turn. That error follows from the inverse of the covariance matrix without a new fit
//! (ibid., equation 5.12, for blocks).

use crate::outliers::MEDIAN_OF_NORMAL;
use crate::{Cholesky, Matrix, dot, median};

/// Settings to choose from: length, linear part, group term and noise, as standard deviations
/// relative to the Matérn kernel's.
const LENGTHS: [f64; 3] = [0.35, 0.7, 1.4];
const LINEAR: [f64; 2] = [0.1, 0.5];
const GROUPS: [f64; 3] = [0.02, 0.1, 0.3];
const NOISES: [f64; 2] = [0.05, 0.2];
/// Shares of the prediction to choose from. A small one suits targets that do not depend on the
/// features: their median is the best prediction.
const SHARES: [f64; 3] = [0.0, 0.5, 1.0];
/// Prior standard deviation of the constant; large, because the constant is unknown.
const CONSTANT: f64 = 2.0;
/// Limit on the rows for choosing settings and for a fit: the time is cubic in them.
const MOST_CHOSEN_ON: usize = 240;
const MOST_ROWS: usize = 1_200;
/// Limit on the rows of a group for choosing settings and for estimating errors, so that one large
/// group does not dominate.
const MOST_OF_A_GROUP: usize = 24;
/// Scaled targets beyond this are outliers and are moved to it.
const OUTLIER: f64 = 4.0;

/// A fitted process.
#[derive(Clone, Debug)]
pub struct GroupedProcess {
    covariance: Covariance,
    /// Mean and standard deviation of each feature.
    scales: Vec<(f64, f64)>,
    rows: Vec<Vec<f64>>,
    /// K⁻¹y and K⁻¹.
    weights: Vec<f64>,
    inverse: Matrix,
    centre: f64,
    scale: f64,
    /// Share of the prediction's distance from the centre that is used.
    share: f64,
    /// |error| ÷ its standard deviation, with the row's group left out.
    errors: Vec<f64>,
    /// Leave-one-out errors of the rows, in the order of the rows.
    alone: Vec<Alone>,
}

/// Result for a row that was left out alone; the other rows of its group were fitted.
#[derive(Clone, Copy, Debug)]
struct Alone {
    row: usize,
    /// The target that the other rows predict.
    expected: f64,
    /// (Target − expected) ÷ its standard deviation.
    error: f64,
}

#[derive(Clone, Copy, Debug)]
struct Covariance {
    length: f64,
    linear: f64,
    group: f64,
    noise: f64,
}

impl GroupedProcess {
    /// Fits targets; `groups` numbers the group of each row. `None` with fewer than three groups,
    /// from which the variance between groups cannot be estimated.
    pub fn fit(rows: &[Vec<f64>], targets: &[f64], groups: &[usize]) -> Option<Self> {
        let step = rows.len().div_ceil(MOST_ROWS).max(1);
        let some: Vec<usize> = (0..rows.len()).step_by(step).collect();
        let scales = scales(rows, &some);
        let scaled: Vec<Vec<f64>> = some.iter().map(|row| scaled(&rows[*row], &scales)).collect();
        let groups: Vec<usize> = some.iter().map(|row| groups[*row]).collect();
        let targets: Vec<f64> = some.iter().map(|row| targets[*row]).collect();
        let centre = median(&targets);
        let spread = median(targets.iter().map(|target| (target - centre).abs())) / MEDIAN_OF_NORMAL;
        let scale = if spread > 0.0 { spread } else { 1e-6 };
        let targets: Vec<f64> =
            targets.iter().map(|target| ((target - centre) / scale).clamp(-OUTLIER, OUTLIER)).collect();
        let chosen = subset(&groups);
        if rows_of(&chosen.iter().map(|row| groups[*row]).collect::<Vec<usize>>()).len() < 3 {
            return None;
        }
        let distances = Distances::of(&scaled, &chosen);
        let pick = |values: &[f64]| chosen.iter().map(|row| values[*row]).collect::<Vec<f64>>();
        let (few, of) = (pick(&targets), chosen.iter().map(|row| groups[*row]).collect::<Vec<usize>>());
        let mut best: Option<(f64, Covariance, f64)> = None;
        for covariance in Covariance::all() {
            let inverse = Cholesky::of(covariance.matrix(&distances, &of))?.inverse();
            let left_out = left_out(&inverse, &few, &of)?;
            for share in SHARES {
                let total: f64 = few.iter().zip(&left_out).map(|(target, out)| out.error(*target, share).abs()).sum();
                if best.is_none_or(|(least, ..)| total < least) {
                    best = Some((total, covariance, share));
                }
            }
        }
        let (_, covariance, share) = best?;
        let all: Vec<usize> = (0..scaled.len()).collect();
        let inverse = Cholesky::of(covariance.matrix(&Distances::of(&scaled, &all), &groups))?.inverse();
        let weights: Vec<f64> = (0..targets.len()).map(|row| dot(&inverse[row], &targets)).collect();
        let alone = |(place, row): (usize, &usize)| {
            let precision = inverse[place][place];
            let expected = targets[place] - weights[place] / precision;
            Alone { row: *row, expected: centre + scale * expected, error: weights[place] / precision.sqrt() }
        };
        let alone = some.iter().enumerate().map(alone).collect();
        let left_out = left_out(&inverse, &targets, &groups)?;
        let relative = |row: usize| left_out[row].error(targets[row], share).abs() / left_out[row].deviation;
        let errors = few_of_each(&groups).into_iter().map(relative).collect();
        Some(Self { covariance, scales, rows: scaled, weights, inverse, centre, scale, share, errors, alone })
    }

    /// Returns the mean and the standard deviation at a row of an unseen group.
    pub fn predict(&self, row: &[f64]) -> (f64, f64) {
        let row = scaled(row, &self.scales);
        let with: Vec<f64> =
            self.rows.iter().map(|other| self.covariance.between(product_and_distance(&row, other))).collect();
        let explained: f64 = with.iter().enumerate().map(|(i, value)| value * dot(&self.inverse[i], &with)).sum();
        let own = self.covariance.between(product_and_distance(&row, &row)) + self.covariance.own();
        (
            self.centre + self.scale * self.share * dot(&with, &self.weights),
            self.scale * (own - explained).max(0.0).sqrt(),
        )
    }

    /// Returns the rows whose targets exceed their leave-one-out predictions by more than `limit`
    /// times the usual error, with these predictions. The other rows of the same group take part in
    /// the prediction.
    pub fn high(&self, limit: f64) -> impl Iterator<Item = (usize, f64)> {
        let usual = (median(self.alone.iter().map(|row| row.error.abs())) / MEDIAN_OF_NORMAL).max(1.0);
        self.alone.iter().filter(move |row| row.error > limit * usual).map(|row| (row.row, row.expected))
    }

    /// Returns |error| ÷ its standard deviation for rows whose group was left out.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }
}

impl Covariance {
    fn all() -> impl Iterator<Item = Self> {
        let others = |length: f64| {
            LINEAR.iter().flat_map(move |linear| {
                GROUPS.iter().flat_map(move |group| {
                    NOISES.iter().map(move |noise| Self { length, linear: *linear, group: *group, noise: *noise })
                })
            })
        };
        LENGTHS.into_iter().flat_map(others)
    }

    /// The covariance of two rows of different groups, from their product and squared distance,
    /// both per feature.
    fn between(&self, (product, distance): (f64, f64)) -> f64 {
        let ratio = (5.0 * distance).sqrt() / self.length;
        let matern = (1.0 + ratio + ratio * ratio / 3.0) * libm::exp(-ratio);
        CONSTANT * CONSTANT + self.linear * self.linear * product + matern
    }

    /// Variance that a row does not share with other groups: the group term and the noise.
    fn own(&self) -> f64 {
        self.group * self.group + self.noise * self.noise
    }

    fn matrix(&self, distances: &Distances, groups: &[usize]) -> Matrix {
        let mut matrix = Matrix::zeros(groups.len(), groups.len());
        for i in 0..groups.len() {
            for j in 0..=i {
                let shared = if groups[i] == groups[j] { self.group * self.group } else { 0.0 };
                let noise = if i == j { self.noise * self.noise } else { 0.0 };
                matrix[i][j] = self.between((distances.products[i][j], distances.squares[i][j])) + shared + noise;
            }
        }
        matrix
    }
}

/// Products and squared distances of rows, per feature.
struct Distances {
    products: Matrix,
    squares: Matrix,
}

impl Distances {
    fn of(rows: &[Vec<f64>], chosen: &[usize]) -> Self {
        let count = chosen.len();
        let mut distances = Self { products: Matrix::zeros(count, count), squares: Matrix::zeros(count, count) };
        for (i, row) in chosen.iter().enumerate() {
            for (j, other) in chosen[..=i].iter().enumerate() {
                let (product, square) = product_and_distance(&rows[*row], &rows[*other]);
                distances.products[i][j] = product;
                distances.squares[i][j] = square;
            }
        }
        distances
    }
}

fn product_and_distance(a: &[f64], b: &[f64]) -> (f64, f64) {
    let features = a.len().max(1) as f64;
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    (dot(a, b) / features, square / features)
}

/// A row whose group was left out.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    predicted: f64,
    /// Standard deviation of the error.
    deviation: f64,
}

impl LeftOut {
    fn error(&self, target: f64, share: f64) -> f64 {
        target - share * self.predicted
    }
}

/// Predicts each row without its group.
fn left_out(inverse: &Matrix, targets: &[f64], groups: &[usize]) -> Option<Vec<LeftOut>> {
    let weights: Vec<f64> = (0..targets.len()).map(|row| dot(&inverse[row], targets)).collect();
    let mut all = vec![LeftOut::default(); targets.len()];
    for rows in rows_of(groups) {
        let mut block = Matrix::zeros(rows.len(), rows.len());
        for (i, row) in rows.iter().enumerate() {
            for (j, other) in rows.iter().enumerate() {
                block[i][j] = inverse[*row][*other];
            }
        }
        let block = Cholesky::of(block)?.inverse();
        let of: Vec<f64> = rows.iter().map(|row| weights[*row]).collect();
        for (i, row) in rows.iter().enumerate() {
            all[*row] = LeftOut { predicted: targets[*row] - dot(&block[i], &of), deviation: block[i][i].sqrt() };
        }
    }
    Some(all)
}

/// Returns the rows of each group.
pub fn rows_of(groups: &[usize]) -> Vec<Vec<usize>> {
    let mut rows: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
    for (row, group) in groups.iter().enumerate() {
        rows.entry(*group).or_default().push(row);
    }
    rows.into_values().collect()
}

/// Returns rows of each group, evenly spread, at most [`MOST_OF_A_GROUP`].
fn few_of_each(groups: &[usize]) -> Vec<usize> {
    let few = |rows: Vec<usize>| {
        let step = rows.len().div_ceil(MOST_OF_A_GROUP);
        rows.into_iter().step_by(step)
    };
    rows_of(groups).into_iter().flat_map(few).collect()
}

/// Returns the rows for choosing settings, at most [`MOST_CHOSEN_ON`]: a limited number of each of
/// evenly spread groups.
fn subset(groups: &[usize]) -> Vec<usize> {
    let few = few_of_each(groups);
    let of: Vec<usize> = few.iter().map(|row| groups[*row]).collect();
    let whole = rows_of(&of);
    let rows = |step: usize| whole.iter().step_by(step).map(Vec::len).sum::<usize>();
    let mut step = few.len().div_ceil(MOST_CHOSEN_ON).max(1);
    // The groups on the steps may be larger than the others.
    while rows(step) > MOST_CHOSEN_ON {
        step += 1;
    }
    whole.into_iter().step_by(step).flatten().map(|place| few[place]).collect()
}

/// Returns the mean and the standard deviation of each feature; constant features get 1.
fn scales(rows: &[Vec<f64>], some: &[usize]) -> Vec<(f64, f64)> {
    let count = some.len().max(1) as f64;
    let of = |feature: usize| {
        let mean = some.iter().map(|row| rows[*row][feature]).sum::<f64>() / count;
        let square = some.iter().map(|row| (rows[*row][feature] - mean) * (rows[*row][feature] - mean)).sum::<f64>();
        let deviation = (square / count).sqrt();
        (mean, if deviation > 1e-9 { deviation } else { 1.0 })
    };
    (0..rows.first().map_or(0, Vec::len)).map(of).collect()
}

fn scaled(row: &[f64], scales: &[(f64, f64)]) -> Vec<f64> {
    row.iter().zip(scales).map(|(value, (mean, deviation))| (value - mean) / deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> (Vec<Vec<f64>>, Vec<f64>, Vec<usize>) {
        let rows: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i % 8), f64::from(i / 8) * 0.3]).collect();
        let targets = rows.iter().map(|row| 0.5 * row[0] - row[1] + 0.1 * libm::sin(row[0] * row[1])).collect();
        (rows, targets, (0..40).map(|i| i / 4).collect())
    }

    #[test]
    fn a_row_of_an_unseen_group_is_near_the_law_of_the_others() {
        let (rows, targets, groups) = table();
        let process = GroupedProcess::fit(&rows[4..], &targets[4..], &groups[4..]).unwrap();
        let (mean, deviation) = process.predict(&rows[1]);
        assert!((mean - targets[1]).abs() < 0.1, "{mean} {}", targets[1]);
        assert!(deviation > 0.0 && deviation < 1.0, "{deviation}");
    }

    #[test]
    fn the_error_of_a_left_out_group_is_that_of_a_fit_without_it() {
        let (rows, targets, groups) = table();
        let covariance = Covariance { length: 0.7, linear: 0.5, group: 0.1, noise: 0.2 };
        let all: Vec<usize> = (0..40).collect();
        let matrix = covariance.matrix(&Distances::of(&rows, &all), &groups);
        let short = left_out(&Cholesky::of(matrix).unwrap().inverse(), &targets, &groups).unwrap();
        let others: Vec<usize> = (4..40).collect();
        let matrix = covariance.matrix(&Distances::of(&rows, &others), &groups[4..]);
        let weights = Cholesky::of(matrix).unwrap().solve(&targets[4..]);
        for row in 0..4 {
            let with = others.iter().map(|other| covariance.between(product_and_distance(&rows[row], &rows[*other])));
            let predicted: f64 = with.zip(&weights).map(|(with, weight)| with * weight).sum();
            assert!((predicted - short[row].predicted).abs() < 1e-8);
        }
    }

    #[test]
    fn a_target_that_the_other_rows_do_not_predict_is_found() {
        let (rows, mut targets, groups) = table();
        let expected = targets[13];
        targets[13] += 2.0;
        targets[30] -= 2.0;
        let high: Vec<(usize, f64)> = GroupedProcess::fit(&rows, &targets, &groups).unwrap().high(4.0).collect();
        assert_eq!(high.iter().map(|(row, _)| *row).collect::<Vec<usize>>(), [13]);
        assert!((high[0].1 - expected).abs() < 0.5, "{high:?} {expected}");
    }

    #[test]
    fn settings_are_chosen_on_no_more_rows_than_the_limit_whichever_groups_are_large() {
        for (large, count) in [(2, 38), (3, 57), (4, 76), (5, 200), (7, 400)] {
            let size = |group: usize| if group.is_multiple_of(large) { 40 } else { 1 };
            let groups: Vec<usize> = (0..count).flat_map(|group| std::iter::repeat_n(group, size(group))).collect();
            let chosen = subset(&groups);
            assert!(chosen.len() <= MOST_CHOSEN_ON, "{large}: {} rows", chosen.len());
            let mut of: Vec<usize> = chosen.iter().map(|row| groups[*row]).collect();
            of.dedup();
            assert!(of.len() > 9 && of.windows(3).all(|at| at[2] - at[1] == at[1] - at[0]), "{large}: {of:?}");
        }
        let equal: Vec<usize> = (0..480).map(|row| row / 24).collect();
        assert_eq!(subset(&equal).len(), MOST_CHOSEN_ON);
    }

    #[test]
    fn two_groups_do_not_tell_how_groups_differ() {
        let (rows, targets, _) = table();
        let groups: Vec<usize> = (0..40).map(|i| i % 2).collect();
        assert!(GroupedProcess::fit(&rows, &targets, &groups).is_none());
    }
}
