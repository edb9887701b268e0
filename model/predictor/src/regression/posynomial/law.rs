//! Scaling laws: sums of costs whose exponents follow from the meaning of the columns.
//!
//! For an amount of work n and workers w₁, w₂, … (executors, cores) the time is
//!
//! t = a + n·(b/(w₁w₂…) + Σⱼ cⱼ/wⱼ + d + e·Πⱼ wⱼ^γⱼ), all costs ≥ 0:
//!
//! start-up, work shared by all workers, work shared by only one kind of worker, serial work
//! (Amdahl, "Validity of the single processor approach to achieving large scale computing
//! capabilities", AFIPS 1967), and communication, which grows with the workers (Venkataraman et
//! al., "Ernest", NSDI 2016, §3.2). Each cost has a log-normal prior: no cost is excluded, and a
//! large one needs evidence. Columns without a meaning scale every cost by a power, names by a
//! factor.
//!
//! The start-up is a·Πⱼ wⱼ^βⱼ with βⱼ = 0, unless several configurations with several amounts of
//! work each show otherwise. The priors of the costs that grow with the work are about the time
//! without the start-up, which may be nearly the whole time of a small sample.
//!
//! Replicas of a network that average their gradients follow t = a + n·(b + c·(w − 1)/w)/w: a ring
//! of w workers moves 2·(w − 1)/w of the gradients over each link (Patarasuk and Yuan, "Bandwidth
//! optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009). Its cost starts
//! with the second worker and saturates.

use foreglow_numeric::{Cholesky, dot};

use foreglow_shared::sort_by_cached_key;

use crate::dataset::Points;
use crate::regression::posynomial::design::Row;
use crate::regression::posynomial::marquardt::Noise;
use crate::regression::posynomial::penalty::Penalty;
use crate::regression::posynomial::term::{FIXED, Normal, Term};
use crate::regression::posynomial::{LeastSquares, Posynomial, Problem};
use crate::{Meaning, Tuning};

/// The costs of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Costs {
    /// All costs.
    All,
    /// Those of replicas that average their gradients: work that all workers share, and
    /// synchronisation.
    Synchronised,
    /// Only work, t ∝ n; another function models its split among workers.
    Proportional,
}

/// A robust fit of a law.
pub(crate) struct Fit {
    pub(crate) law: Posynomial,
    /// Weight of each row, at most 1 and small far from the law.
    pub(crate) weights: Vec<f64>,
    /// Standard deviation of the noise in ln t.
    pub(crate) scale: f64,
    /// Twice the negative logarithm of the posterior density, up to a constant.
    loss: f64,
    /// Priors of the coefficients.
    penalty: Penalty,
}

/// Prior of the exponent with which communication grows with the workers.
const COMMUNICATION: Normal = Normal { centre: 0.5, deviation: 0.3 };
/// Priors of the shares of the time, as logarithms: work shared by all workers, and the other
/// costs.
const SHARED: Normal = Normal { centre: -0.2, deviation: 1.0 };
const SERIAL: Normal = Normal { centre: -2.5, deviation: 1.5 };
const PARTLY_SHARED: Normal = Normal { centre: -3.0, deviation: 1.5 };
const START_UP: Normal = Normal { centre: -1.7, deviation: 1.5 };
const TALK: Normal = Normal { centre: -4.0, deviation: 1.5 };
/// Averaging gradients, a share of the time if the workers were many.
const SYNCHRONISATION: Normal = Normal { centre: -1.5, deviation: 1.5 };
/// Standard deviation of the exponent of the work that replicas share.
const SHARED_BY_REPLICAS: f64 = 0.05;
/// Standard deviation of the effect of a name on the synchronisation about its effect on the whole
/// time: networks differ in their parameters per operation.
const SYNCHRONISATION_OF_NAMES: f64 = 1.0;
/// Effect of another column or a name on the start-up, as a share of its effect on the whole time,
/// and the standard deviation; most effects leave the start-up unchanged.
const START_UP_SHARE: (f64, f64) = (0.3, 0.5);
/// Prior of the exponent with which the start-up depends on the workers, if it does: most jobs
/// start as fast with any number of them, and some load their data in parallel.
const START_UP_OF_WORKERS: Normal = Normal { centre: 0.0, deviation: 0.3 };
/// Number of configurations with several amounts of work from which on the rows tell how the
/// start-up depends on the workers.
const LEAST_LINES: usize = 3;
/// Gain in twice the logarithm of the posterior density from which on the start-up depends on the
/// workers: more than two disturbed runs can give, about 10 each by their tails.
const EVIDENCE: f64 = 20.0;
/// Prior standard deviation of the noise, and its weight in rows.
const NOISE: (f64, f64) = (0.05, 4.0);
/// Lower bound on the standard deviation of the noise: no machine repeats better.
const LEAST_NOISE: f64 = 0.003;
/// Degrees of freedom of the noise for runs slower and faster than the law: disturbances only slow
/// a run down.
const TAILS: (f64, f64) = (2.0, 6.0);
/// Rounds of reweighting, and steps of the search in each.
const ROUNDS: usize = 12;
const STEPS: u32 = 30;
/// Number of rows up to which one disturbed run can distort the fit; for each row, one start of the
/// search leaves it out.
const FEW_ROWS: usize = 12;
/// Lower bound on the share of the time that is not the start-up.
const LEAST_WORK: f64 = 1e-3;
/// Weight of a row that a start leaves out.
const LEFT_OUT: f64 = 0.01;

/// Returns the costs of a law by the meaning of each numeric column; `None` if no column has a
/// meaning that the costs need.
pub(crate) fn terms(points: &Points, meanings: &[Option<Meaning>], costs: Costs, tuning: Tuning) -> Option<Vec<Term>> {
    let workers: Vec<usize> =
        (0..meanings.len()).filter(|column| meanings[*column].is_some_and(Meaning::is_workers)).collect();
    let has_work = meanings.contains(&Some(Meaning::Work));
    let lines = lines(points, meanings);
    let fixed = |centre: f64| Normal { centre, deviation: FIXED };
    // Creates a cost with these exponents of the work and of the workers.
    let term = |offset: Normal, (shares, shared_deviation): (f64, f64), work: f64, of: &dyn Fn(usize) -> Normal| {
        let exponent = |(column, meaning): (usize, &Option<Meaning>)| match meaning {
            Some(Meaning::Work) => Some(fixed(work)),
            Some(Meaning::Workers | Meaning::Cores | Meaning::Replicas) => Some(of(column)),
            None => None,
        };
        let exponents = meanings.iter().enumerate().map(exponent).collect();
        Term { offset, grows: work > 0.0 || lines.is_empty(), synchronises: false, exponents, shares, shared_deviation }
    };
    let whole = (1.0, tuning.likeness);
    match costs {
        Costs::Proportional => has_work.then(|| vec![term(SHARED, (0.0, FIXED), 1.0, &|_| fixed(0.0))]),
        Costs::All if !has_work && workers.is_empty() => None,
        Costs::Synchronised if workers.is_empty() => None,
        Costs::Synchronised => {
            let shared = |_| Normal { centre: -1.0, deviation: SHARED_BY_REPLICAS };
            let mut terms = vec![term(SHARED, whole, 1.0, &shared)];
            if has_work {
                terms.push(term(START_UP, START_UP_SHARE, 0.0, &|_| fixed(0.0)));
            }
            let averaging = term(SYNCHRONISATION, (1.0, SYNCHRONISATION_OF_NAMES), 1.0, &|_| fixed(-1.0));
            terms.push(Term { synchronises: true, ..averaging });
            Some(terms)
        }
        Costs::All => {
            let mut terms = vec![term(SHARED, whole, 1.0, &|_| Normal { centre: -1.0, deviation: tuning.efficiency })];
            if has_work {
                let varies = |column: usize| {
                    let value = |row: &usize| points.numeric[*row][column];
                    lines.iter().any(|row| value(row) != value(&lines[0]))
                };
                let start_up = |column| if varies(column) { START_UP_OF_WORKERS } else { fixed(0.0) };
                terms.push(term(START_UP, START_UP_SHARE, 0.0, &start_up));
            }
            if !workers.is_empty() {
                terms.push(term(SERIAL, whole, 1.0, &|_| fixed(0.0)));
                terms.push(term(TALK, whole, 1.0, &|_| COMMUNICATION));
            }
            if workers.len() > 1 {
                let partly = |own: &usize| {
                    term(PARTLY_SHARED, whole, 1.0, &|column| fixed(if column == *own { -1.0 } else { 0.0 }))
                };
                terms.extend(workers.iter().map(partly));
            }
            Some(terms)
        }
    }
}

/// Returns the configurations that were measured with several amounts of work, which show their
/// start-up each; one row of each, by index. Empty if most rows are of other configurations, or if
/// they are too few.
fn lines(points: &Points, meanings: &[Option<Meaning>]) -> Vec<usize> {
    let configuration = |row: usize| -> (Vec<u64>, &[u32]) {
        let numbers = points.numeric[row].iter().zip(meanings).filter(|(_, of)| **of != Some(Meaning::Work));
        (numbers.map(|(x, _)| x.to_bits()).collect(), &points.category[row])
    };
    let mut order: Vec<usize> = (0..points.numeric.len()).collect();
    sort_by_cached_key(&mut order, |row| configuration(*row));
    // Rows are distinct, so that those of one configuration differ in the work.
    let lines = order.chunk_by(|a, b| configuration(*a) == configuration(*b)).filter(|rows| rows.len() > 1);
    let (first, rows): (Vec<usize>, Vec<usize>) = lines.map(|rows| (rows[0], rows.len())).unzip();
    let are_enough = first.len() >= LEAST_LINES && 2 * rows.iter().sum::<usize>() >= order.len();
    if are_enough { first } else { Vec::new() }
}

impl Problem {
    /// Fits a law with Student's t noise, wider above than below, by iteratively reweighted least
    /// squares (Lange, Little and Taylor, "Robust statistical modeling using the t distribution",
    /// JASA 84(408), 1989).
    pub(crate) fn fit_law(&self, terms: &[Term]) -> Fit {
        self.fit_law_from(terms, vec![1.0; self.rows.len()])
    }

    /// As [`Problem::fit_law`]; with few rows also from starts that leave out one row each. Returns
    /// the most probable of the fits.
    pub(crate) fn fit_law_of_few(&self, terms: &[Term]) -> Fit {
        let rows = self.rows.len();
        let left_out = if rows > 3 && rows <= FEW_ROWS { 0..rows } else { 0..0 };
        let without = |out: usize| {
            let weights = (0..rows).map(|row| if row == out { LEFT_OUT } else { 1.0 }).collect();
            self.fit_law_from(terms, weights)
        };
        let better = |best: Fit, other: Fit| if other.loss < best.loss { other } else { best };
        left_out.map(without).fold(self.fit_law(terms), better)
    }

    /// Fits from these weights of the rows, with a start-up that does not depend on the workers
    /// unless the rows are far less probable then.
    fn fit_law_from(&self, terms: &[Term], weights: Vec<f64>) -> Fit {
        if terms.iter().all(|term| term.grows) {
            return self.fit_terms(terms, weights);
        }
        let constant: Vec<Term> = terms.iter().map(Term::without_free_exponents).collect();
        let simple = self.fit_terms(&constant, weights.clone());
        if constant == terms {
            return simple;
        }
        let free = self.fit_terms(terms, weights);
        if simple.loss - free.loss > EVIDENCE { free } else { simple }
    }

    fn fit_terms(&self, terms: &[Term], mut weights: Vec<f64>) -> Fit {
        let mut penalty = Penalty::of_law(&self.design, terms, &self.single, &self.single);
        let mut coefficients: Vec<f64> = (0..terms.len())
            .flat_map(|term| (0..self.single.len()).map(move |place| (term, place)))
            .map(|(term, place)| penalty.pulls(term, place, 0.0)[0].centre)
            .collect();
        let (mut scale, mut loss) = (NOISE.0 * 2.0, f64::INFINITY);
        for round in 0..ROUNDS {
            if round > 0 {
                let work = self.without_start_up(&self.posynomial(coefficients.clone()), terms, &weights);
                penalty = Penalty::of_law(&self.design, terms, &self.single, &work);
            }
            let precisions: Vec<f64> =
                weights.iter().zip(&self.own).map(|(weight, own)| weight * own / (scale * scale)).collect();
            let search = self.least_squares(&penalty, Noise::Independent(&precisions));
            let (objective, found) = search.descend(coefficients, STEPS);
            coefficients = found;
            let law = self.posynomial(coefficients.clone());
            let residuals = self.residuals(&law);
            let of_rows: f64 = residuals.iter().zip(&precisions).map(|(r, precision)| precision * r * r).sum();
            let squares: f64 =
                residuals.iter().zip(&weights).zip(&self.own).map(|((r, weight), own)| weight * own * r * r).sum();
            let variance = (NOISE.1 * NOISE.0 * NOISE.0 + squares) / (NOISE.1 + residuals.len() as f64);
            scale = variance.sqrt().max(LEAST_NOISE);
            loss = objective - of_rows
                + 2.0 * (NOISE.1 + residuals.len() as f64) * libm::log(scale)
                + NOISE.1 * NOISE.0 * NOISE.0 / variance;
            for ((weight, residual), own) in weights.iter_mut().zip(&residuals).zip(&self.own) {
                let z = residual * own.sqrt() / scale;
                let tail = if z > 0.0 { TAILS.0 } else { TAILS.1 };
                *weight = (tail + 1.0) / (tail + z * z);
                loss += (tail + 1.0) * libm::log(1.0 + z * z / tail);
            }
        }
        let weights = weights.into_iter().map(|weight| weight.min(1.0)).collect();
        Fit { law: self.posynomial(coefficients), weights, scale, loss, penalty }
    }

    /// Returns the best single term of the time without the start-up of a law.
    fn without_start_up(&self, law: &Posynomial, terms: &[Term], weights: &[f64]) -> Vec<f64> {
        if terms.iter().all(|term| term.grows) {
            return self.single.clone();
        }
        let work = |row: &Row| -> f64 {
            let shares = law.shares(row);
            let work: f64 = shares.iter().zip(terms).filter(|(_, term)| term.grows).map(|(share, _)| share).sum();
            work.max(LEAST_WORK)
        };
        let work: Vec<f64> = self.rows.iter().map(work).collect();
        let logs: Vec<f64> = self.logs.iter().zip(&work).map(|(log, work)| log + libm::log(*work)).collect();
        // The noise of the whole time is a larger share of the rest.
        let of_rows = self.precisions.iter().zip(&work).zip(weights);
        let precisions: Vec<f64> = of_rows.map(|((own, work), weight)| own * work * work * weight).collect();
        let noise = Noise::Independent(&precisions);
        LeastSquares { logs: &logs, ..self.least_squares(&self.size, noise) }.single()
    }

    /// Returns the variance of ln t that the parameters of a fitted law leave open at points: the
    /// curvature of the posterior at its mode (Laplace's method; MacKay, "Information theory,
    /// inference, and learning algorithms", 2003, §27). Empty if it is not positive definite.
    pub(crate) fn variances(&self, fit: &Fit, points: &Points) -> Vec<f64> {
        let weights: Vec<f64> = fit.weights.iter().zip(&self.own).map(|(weight, own)| weight * own).collect();
        let variances = |variance: f64, rows: &[Row]| -> Vec<f64> {
            let precisions: Vec<f64> = weights.iter().map(|weight| weight / variance).collect();
            let search = self.least_squares(&fit.penalty, Noise::Independent(&precisions));
            let Some(factor) = Cholesky::of(search.curvature(&fit.law.terms)) else { return Vec::new() };
            let of_row = |row: &Row| {
                let along = factor.forward(&fit.law.gradient(row));
                dot(&along, &along)
            };
            rows.iter().map(of_row).collect()
        };
        // The noise of the rows, without the parameters that follow it.
        let usual = fit.scale * fit.scale;
        let own = variances(usual, &self.rows);
        let parameters: f64 = own.iter().zip(&weights).map(|(own, weight)| own * weight / usual).sum();
        let residuals = self.residuals(&fit.law);
        let squares: f64 = residuals.iter().zip(&weights).map(|(r, weight)| weight * r * r).sum();
        let noise = (NOISE.0 * NOISE.0 + squares) / (1.0 + (residuals.len() as f64 - parameters).max(0.0));
        let rows: Vec<Row> = points.numeric.iter().zip(&points.category).map(|(x, c)| self.design.row(x, c)).collect();
        variances(noise.max(LEAST_NOISE * LEAST_NOISE), &rows)
    }

    /// Returns ln t less the law, one per row.
    fn residuals(&self, law: &Posynomial) -> Vec<f64> {
        self.rows.iter().zip(&self.logs).map(|(row, log)| log - law.at(row)).collect()
    }
}
