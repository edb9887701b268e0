//! What was never run: a CNN on a machine, predicted from what its graph costs and from the runs of
//! other CNNs there; and a pair of a machine type and a CNN that were measured only apart.

mod calibrated;
mod costs;
mod fitted;
mod layer;
mod layer_times;
mod pairs;
mod preparation;
mod process;
mod structure;
mod transfer;

pub use self::calibrated::LayeredCnn;
pub use self::costs::{CostedLayer, GraphCosts, LayerKind};
pub use self::fitted::{CostedRun, UnseenCnn};
pub use self::layer::{Calibration, ConvolutionSizes, Layer, TimedLayer};
pub use self::layer_times::LayerTimes;
pub use self::pairs::Pairs;
pub use self::preparation::RunParts;
pub use self::transfer::{MeasuredCnn, TransferredJob};
use crate::{Interval, Prediction, Spread};

/// Nominal probability of an interval.
const PROBABILITY: f64 = 0.9;

/// Returns a prediction of ln t with the absolute errors of held-out runs.
fn prediction_of(log: f64, errors: impl IntoIterator<Item = f64>) -> Option<Prediction> {
    prediction_with(log, Spread::conformal(errors).ok()?)
}

fn prediction_with(log: f64, spread: Spread) -> Option<Prediction> {
    let secs = libm::exp(log);
    if !(secs.is_finite() && secs > 0.0) {
        return None;
    }
    let ends = [0.5 - PROBABILITY / 2.0, 0.5 + PROBABILITY / 2.0].map(|share| secs * spread.quantile(share));
    let interval =
        ends[1].is_finite().then_some(Interval { lower_secs: ends[0], upper_secs: ends[1], probability: PROBABILITY });
    Some(Prediction { completion_time_secs: Some(secs), interval, spread: Some(spread), warnings: Vec::new() })
}
