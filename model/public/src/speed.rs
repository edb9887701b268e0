//! Predicted speeds, and numbers of the user's own.

use foreglow_numeric::{Cholesky, Matrix, dot};
use libm::{exp, log};

use crate::fit::Projected;
use crate::{Case, PublicModel, SoftwareKind, squared};

/// A speed that the user knows.
#[derive(Clone, Copy, Debug)]
pub struct KnownSpeed<'a> {
    /// Its conditions; the kind of the software is ignored.
    pub case: Case<'a>,
    /// Images per second on all GPUs together.
    pub images_per_sec: f64,
    /// Variance of the error of ln(images/s), besides that of the public measurements; 0 for a
    /// measured speed.
    pub variance: f64,
}

/// Distribution of ln(images/s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Mean.
    pub log_mean: f64,
    /// Standard deviation.
    pub log_deviation: f64,
}

impl Speed {
    /// Returns the median, images per second.
    pub fn images_per_sec(self) -> f64 {
        exp(self.log_mean)
    }
}

/// How often software of unknown kind is of each kind.
const USUAL_KINDS: [(SoftwareKind, f64); 3] =
    [(SoftwareKind::Plain, 0.5), (SoftwareKind::Example, 0.35), (SoftwareKind::Tuned, 0.15)];

impl PublicModel {
    /// Predicts the speeds of cases, given numbers of the user's own, which share the effects of
    /// the user's software with the cases. Without `kind` the software may be of every kind; known
    /// speeds then show which is likely. `None` for a case whose GPU cannot compute in its number
    /// format.
    pub fn speeds(
        &self,
        cases: &[Case<'_>],
        known: &[KnownSpeed<'_>],
        kind: Option<SoftwareKind>,
    ) -> Vec<Option<Speed>> {
        let mut mixed: Vec<Vec<(f64, Speed)>> = vec![Vec::new(); cases.len()];
        for (kind, condition, weight) in self.conditions(known, kind) {
            for (case, mixed) in cases.iter().zip(&mut mixed) {
                if let Some(asked) = self.project(&Case { kind, ..*case }) {
                    mixed.push((weight, condition.speed(self, &asked)));
                }
            }
        }
        mixed.into_iter().map(|parts| mixture(&parts)).collect()
    }

    /// Predicts the ratio of the speeds of two cases, like [`PublicModel::speeds`]. It is surer
    /// than the speeds, which share the effects of the software and of the network.
    pub fn ratio(
        &self,
        [one, other]: [&Case<'_>; 2],
        known: &[KnownSpeed<'_>],
        kind: Option<SoftwareKind>,
    ) -> Option<Speed> {
        let parts: Option<Vec<(f64, Speed)>> = self
            .conditions(known, kind)
            .into_iter()
            .map(|(kind, condition, weight)| {
                let projected = [one, other].map(|case| self.project(&Case { kind, ..*case }));
                let [Some(one), Some(other)] = projected else { return None };
                Some((weight, condition.ratio(self, &one, &other)))
            })
            .collect();
        mixture(&parts?)
    }

    /// Returns the kinds that the software may be of, each with the known speeds to condition on
    /// and the logarithm of its weight.
    fn conditions(&self, known: &[KnownSpeed<'_>], kind: Option<SoftwareKind>) -> Vec<(SoftwareKind, Condition, f64)> {
        let kinds = kind.map_or_else(|| USUAL_KINDS.to_vec(), |kind| vec![(kind, 1.0)]);
        let condition = |(kind, weight): (SoftwareKind, f64)| {
            let own = known.iter();
            let own = own.filter_map(|own| {
                let mut projected = self.project(&Case { kind, ..own.case })?;
                projected.noise += own.variance;
                Some((projected, log(own.images_per_sec)))
            });
            let condition = Condition::new(self, own.collect())?;
            let weight = log(weight) + condition.log_evidence;
            Some((kind, condition, weight))
        };
        kinds.into_iter().filter_map(condition).collect()
    }
}

/// Returns the mean and deviation of a mixture, whose parts have logarithms of weights.
fn mixture(parts: &[(f64, Speed)]) -> Option<Speed> {
    let largest = parts.iter().map(|(weight, _)| *weight).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = parts.iter().map(|(weight, _)| exp(weight - largest)).collect();
    let total: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(Speed) -> f64| {
        parts.iter().zip(&weights).map(|((_, speed), weight)| weight * of(*speed)).sum::<f64>() / total
    };
    let log_mean = mean(&|speed| speed.log_mean);
    let variance = mean(&|speed| squared(speed.log_deviation) + squared(speed.log_mean - log_mean));
    (!parts.is_empty()).then(|| Speed { log_mean, log_deviation: variance.sqrt() })
}

/// The known speeds, to condition on.
struct Condition {
    known: Vec<Projected>,
    factor: Option<Cholesky>,
    /// K⁻¹ of the residuals.
    weights: Vec<f64>,
    log_evidence: f64,
}

impl Condition {
    fn new(model: &PublicModel, known: Vec<(Projected, f64)>) -> Option<Self> {
        let size = known.len();
        if size == 0 {
            return Some(Self { known: Vec::new(), factor: None, weights: Vec::new(), log_evidence: 0.0 });
        }
        let mut matrix = Matrix::zeros(size, size);
        for (i, (one, _)) in known.iter().enumerate() {
            for (j, (other, _)) in known.iter().enumerate().take(i + 1) {
                matrix[i][j] = one.covariance(other, model.variances());
            }
            matrix[i][i] += one.noise;
        }
        let residuals: Vec<f64> = known.iter().map(|(projected, log_speed)| log_speed - projected.mean).collect();
        let factor = Cholesky::of(matrix)?;
        let weights = factor.solve(&residuals);
        let log_evidence = -0.5 * (dot(&weights, &residuals) + factor.log_determinant());
        let known = known.into_iter().map(|(projected, _)| projected).collect();
        Some(Self { known, factor: Some(factor), weights, log_evidence })
    }

    fn speed(&self, model: &PublicModel, asked: &Projected) -> Speed {
        let variance = self.covariance(model, asked, asked) + asked.noise;
        Speed { log_mean: self.mean(model, asked), log_deviation: variance.max(LEAST).sqrt() }
    }

    fn ratio(&self, model: &PublicModel, one: &Projected, other: &Projected) -> Speed {
        let sum = self.covariance(model, one, one) + self.covariance(model, other, other) + one.noise + other.noise;
        let variance = sum - 2.0 * self.covariance(model, one, other);
        let log_mean = self.mean(model, one) - self.mean(model, other);
        Speed { log_mean, log_deviation: variance.max(LEAST).sqrt() }
    }

    fn mean(&self, model: &PublicModel, asked: &Projected) -> f64 {
        asked.mean + dot(&self.with_known(model, asked), &self.weights)
    }

    /// Returns the covariance of two questions, given the known speeds.
    fn covariance(&self, model: &PublicModel, one: &Projected, other: &Projected) -> f64 {
        let explained = self.factor.as_ref().map_or(0.0, |factor| {
            let half = |asked: &Projected| factor.forward(&self.with_known(model, asked));
            dot(&half(one), &half(other))
        });
        one.covariance(other, model.variances()) - explained
    }

    fn with_known(&self, model: &PublicModel, asked: &Projected) -> Vec<f64> {
        self.known.iter().map(|own| own.covariance(asked, model.variances())).collect()
    }
}

/// Least variance, against rounding.
const LEAST: f64 = 1e-12;
