//! Posynomials: sums of a few products of powers.
//!
//! A completion time is a sum of costs (reading, computing, synchronising, starting), each of which
//! is a power law: t = Σₖ aₖ·Πⱼ xⱼ^wₖⱼ · Π (a factor for each name) · (a factor for the combination
//! of names). In logarithms this is ln Σ exp of linear functions, which is fitted by least squares
//! (Boyd, Kim, Vandenberghe and Hassibi, "A tutorial on geometric programming", Optim. Eng. 8,
//! 2007, §8; Magnani and Boyd, "Convex piecewise-linear fitting", Optim. Eng. 10, 2009).

mod design;
mod elimination;
pub(crate) mod law;
mod marquardt;
mod penalty;
pub(crate) mod term;
#[cfg(test)]
mod tests;

use foreglow_numeric::Matrix;
use foreglow_numeric::exponentials;
use serde::{Deserialize, Serialize};

use crate::Meaning;
use crate::dataset::Training;
use crate::regression::plane::{Factored, Line, Plane, Product};
use crate::regression::posynomial::design::{Design, Row, log_sum};
use crate::regression::posynomial::elimination::Elimination;
use crate::regression::posynomial::marquardt::{LeastSquares, Noise};
use crate::regression::posynomial::penalty::Penalty;
use crate::regression::{Regression, mean};

/// Limit on the number of terms.
pub(crate) const MOST_TERMS: usize = 3;
/// Assumed standard deviation of the noise in ln t between repeated runs.
pub(crate) const NOISE: f64 = 0.03;
/// Limit on exponents on a grid, far above ln of any time; products of two such powers stay finite.
const FARTHEST: f64 = 300.0;
/// Steps of the search from each start, and then from the best result.
const STEPS: (u32, u32) = (12, 40);

/// Prior knowledge. Columns are indices into the numbers of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prior {
    /// Columns in which the question is beyond the range: their exponents are pulled to whole
    /// numbers if there are few levels.
    pub(crate) beyond: Vec<usize>,
    /// Whether two levels of such a column fix its exponents to whole numbers. Validation fits,
    /// which have fewer levels, leave them free.
    pub(crate) tie_two_levels: bool,
    /// Meaning of each column; missing entries count as `None`.
    pub(crate) meanings: Vec<Option<Meaning>>,
    /// Standard deviation of the noise in ln t.
    pub(crate) noise: Option<f64>,
}

/// ln t = centre + ln Σₖ exp(φ·θₖ).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Posynomial {
    design: Design,
    centre: f64,
    /// θ, K terms of p coefficients each.
    terms: Vec<f64>,
}

/// Rows and priors of a fit.
pub(crate) struct Problem {
    design: Design,
    rows: Vec<Row>,
    centre: f64,
    /// Logarithms of the times, less the centre.
    logs: Vec<f64>,
    /// Weight of each row.
    own: Vec<f64>,
    /// Precision of each row, 1/variance.
    precisions: Vec<f64>,
    penalty: Penalty,
    /// Priors of size only.
    size: Penalty,
    /// The best single term, with priors of size only.
    single: Vec<f64>,
    elimination: Option<Elimination>,
}

impl Problem {
    pub(crate) fn new(training: &Training, prior: &Prior) -> Self {
        Self::of(training, prior, Design::of(&training.points))
    }

    /// Creates the problem of a law with synchronisation between the replicas.
    pub(crate) fn synchronised(training: &Training, prior: &Prior) -> Self {
        let replicas = prior.meanings.iter().position(|meaning| *meaning == Some(Meaning::Replicas));
        Self::of(training, prior, Design::synchronised(&training.points, replicas))
    }

    fn of(training: &Training, prior: &Prior, design: Design) -> Self {
        let points = &training.points;
        let rows: Vec<Row> = points.numeric.iter().zip(&points.category).map(|(x, c)| design.row(x, c)).collect();
        let centre = mean(&training.logs);
        let logs: Vec<f64> = training.logs.iter().map(|log| log - centre).collect();
        let size = Penalty::of_size(&design, &prior.meanings);
        let noise = prior.noise.unwrap_or(NOISE);
        let precisions: Vec<f64> = training.weights.iter().map(|weight| weight / (noise * noise)).collect();
        let elimination = Elimination::of(&rows, design.width(), design.largest_category());
        let noise = Noise::Independent(&precisions);
        let single = LeastSquares { rows: &rows, logs: &logs, penalty: &size, noise, elimination: None }.single();
        let penalty = Penalty::of(&design, points, prior, &single[1..]);
        let own = training.weights.clone();
        Self { design, rows, centre, logs, own, precisions, penalty, size, single, elimination }
    }

    /// Returns the best posynomials of one, two and three terms.
    pub(crate) fn fit(&self) -> Vec<Posynomial> {
        // Each whole number that an exponent is tied to is a local minimum. A fit with free
        // exponents shows which of them are near the data.
        let free = self.penalty.without_ties().map_or_else(Vec::new, |penalty| self.search(&penalty, &[]));
        self.search(&self.penalty, &free).into_iter().map(|terms| self.posynomial(terms)).collect()
    }

    /// Returns the coefficients of the best fits of one, two and three terms. Each fit starts from
    /// the previous one, with several starts for the new term, and from the fit of as many terms in
    /// `known`, and keeps the best.
    fn search(&self, penalty: &Penalty, known: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let search = self.least_squares(penalty, Noise::Independent(&self.precisions));
        let mut found = vec![self.single.clone()];
        for count in 1..MOST_TERMS {
            let fewer = &found[count - 1];
            let starts =
                self.starts().map(|start| [fewer.as_slice(), &start].concat()).chain(known.get(count).cloned());
            let reached = starts.map(|start| search.descend(start, STEPS.0)).min_by(|a, b| a.0.total_cmp(&b.0));
            found.push(reached.map_or_else(|| fewer.clone(), |(_, best)| search.descend(best, STEPS.1).1));
        }
        found
    }

    /// Refits near `fitted` by generalised least squares, for residuals with a covariance whose
    /// inverse is given, n × n.
    pub(crate) fn refit(&self, fitted: &Posynomial, inverse: &Matrix) -> Posynomial {
        let search = self.least_squares(&self.penalty, Noise::Correlated(inverse));
        self.posynomial(search.descend(fitted.terms.clone(), STEPS.1).1)
    }

    fn least_squares<'a>(&'a self, penalty: &'a Penalty, noise: Noise<'a>) -> LeastSquares<'a> {
        // Correlated noise couples all names.
        let elimination = self.elimination.as_ref().filter(|_| matches!(noise, Noise::Independent(_)));
        LeastSquares { rows: &self.rows, logs: &self.logs, penalty, noise, elimination }
    }

    /// Returns the starts of a new term: constant, or increasing or decreasing in one number, and
    /// below nearly all times.
    fn starts(&self) -> impl Iterator<Item = Vec<f64>> {
        let flat = vec![0.0; self.single.len()];
        let numbers = 1..=self.design.encoding.numeric.len();
        let steep = numbers.flat_map(|column| [(column, -1.0), (column, 1.0)]).map(|(column, exponent)| {
            let mut start = vec![0.0; self.single.len()];
            start[column] = exponent;
            start
        });
        std::iter::once(flat).chain(steep).map(|mut start| {
            start[0] = low(self.rows.iter().zip(&self.logs).map(|(row, log)| log - row.dot(&start)).collect()) - 1.0;
            start
        })
    }

    fn posynomial(&self, terms: Vec<f64>) -> Posynomial {
        Posynomial { design: self.design.clone(), centre: self.centre, terms }
    }
}

impl Posynomial {
    /// Returns ln t of a row, less the centre.
    fn at(&self, row: &Row) -> f64 {
        let mut exponents: Vec<f64> = self.terms().map(|term| row.dot(term)).collect();
        log_sum(&mut exponents)
    }

    /// Returns the share of each term in the time of a row.
    fn shares(&self, row: &Row) -> Vec<f64> {
        let mut shares: Vec<f64> = self.terms().map(|term| row.dot(term)).collect();
        log_sum(&mut shares);
        shares
    }

    /// Returns the share of the last term in the time of a point.
    pub(crate) fn last_share(&self, numeric: &[f64], category: &[u32]) -> f64 {
        self.shares(&self.design.row(numeric, category)).last().copied().unwrap_or_default()
    }

    /// Returns the derivatives of ln t of a row by the coefficients.
    fn gradient(&self, row: &Row) -> Vec<f64> {
        let shares = self.shares(row);
        let width = self.design.width();
        let mut gradient = vec![0.0; self.terms.len()];
        for (term, share) in shares.iter().enumerate() {
            for (column, value) in row.columns.iter().zip(&row.values) {
                gradient[term * width + column] = share * value;
            }
        }
        gradient
    }

    /// Returns the K terms of p coefficients.
    fn terms(&self) -> impl Iterator<Item = &[f64]> {
        self.terms.chunks_exact(self.design.width())
    }
}

impl Regression for Posynomial {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        self.centre + self.at(&self.design.row(numeric, category))
    }

    /// The function is the logarithm of a sum of products of powers.
    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64) {
        grid.down.iter_mut().for_each(|sum| *sum += weight * self.centre);
        let corner = self.design.row(&plane.at(plane.down.values[0], plane.across.values[0]), plane.category);
        // Along a line the exponent changes from its value at the first point.
        let powers = |line: Line, term: &[f64], start: f64| {
            let along = self.design.along(line.column, term);
            let first = along(line.values[0]);
            let exponent = |x: &f64| (start + (along(*x) - first)).clamp(-FARTHEST, FARTHEST);
            let mut powers: Vec<f64> = line.values.iter().map(exponent).collect();
            exponentials(&mut powers);
            powers
        };
        let product = |term: &[f64]| Product {
            left: powers(plane.down, term, corner.dot(term)),
            right: powers(plane.across, term, 0.0),
        };
        grid.add_log_sum(weight, self.terms().map(product).collect());
    }
}

/// Returns the tenth percentile, interpolated between neighbours; `values` is not empty.
fn low(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let place = 0.1 * (values.len() - 1) as f64;
    let (below, share) = (values[place as usize], place.fract());
    below + share * (values[place.ceil() as usize] - below)
}
