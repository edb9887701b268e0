//! Log-additive regression: a power of each number times a factor for each name.

use crate::dataset::Training;
use crate::ensemble::Schema;
use crate::regression::Regression as _;
use crate::regression::log_additive::LogAdditive;
use crate::rival::{Rival, RivalError, Roles};
use crate::{Dataset, Features};

/// ln t = b + Σ w·ln x + Σ u\[name\] by ridge regression; the penalty is chosen by leave-one-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogAdditiveRival;

impl Rival for LogAdditiveRival {
    fn name(&self) -> &'static str {
        "log-additive"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, _: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let schema = Schema::of(fit.features());
        let mut logs: Vec<f64> = fit.secs().iter().map(|secs| libm::log(*secs)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.iter_mut().for_each(|log| *log -= mean);
        let line = LogAdditive::fit(&Training::new(schema.points(fit.features()), logs));
        Ok(line.logs(&schema.points(asked)).into_iter().map(|log| Some(libm::exp(mean + log))).collect())
    }
}
