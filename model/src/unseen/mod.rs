//! Predicts a CNN that was never run on a machine from the costs of its graph and the runs of other
//! CNNs.

mod calibrated;
mod costs;
mod fitted;
mod layer;
mod layer_times;
mod preparation;
mod structure;
mod transfer;

pub use self::calibrated::LayeredCnn;
pub use self::costs::{CostedLayer, GraphCosts, LayerKind};
pub use self::fitted::{CostedRun, UnseenCnn};
pub use self::layer::{Calibration, ConvolutionSizes, Layer, TimedLayer};
pub use self::layer_times::LayerTimes;
pub use self::preparation::RunParts;
pub use self::transfer::{MeasuredCnn, TransferredJob};
