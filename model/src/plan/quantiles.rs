//! Late times: quantiles of predicted times.

use super::Timed;
use crate::Spread;
use crate::chance::above;

/// Cache of quantiles by the degrees of freedom of a spread, because the quantile of Student's t is
/// slow to compute. A plan has few different degrees of freedom.
#[derive(Default)]
pub(crate) struct Quantiles {
    known: Vec<(f64, f64)>,
}

impl Quantiles {
    /// Returns the logarithm of the quantile of a spread of scale 1.
    fn unit(&mut self, degrees_of_freedom: f64, probability: f64) -> f64 {
        if let Some((_, unit)) = self.known.iter().find(|(degrees, _)| *degrees == degrees_of_freedom) {
            return *unit;
        }
        let spread = Spread::student_t(1.0, degrees_of_freedom);
        let unit = spread.map_or(f64::INFINITY, |spread| libm::log(spread.quantile(probability)));
        self.known.push((degrees_of_freedom, unit));
        unit
    }

    /// Returns the time that is exceeded with a probability of at most 1 − `probability`, seconds.
    /// A run that was stopped took longer than the prediction may say.
    pub(crate) fn late_secs(&mut self, option: &Timed, probability: f64) -> f64 {
        let late = match &option.spread {
            // The predicted time is the median.
            _ if probability <= 0.5 => option.secs,
            None => f64::INFINITY,
            Some(Spread::StudentT { scale, degrees_of_freedom }) => {
                option.secs * libm::exp(scale * self.unit(*degrees_of_freedom, probability))
            }
            Some(spread) => option.secs * spread.quantile(probability),
        };
        above(late, option.at_least_secs)
    }
}
