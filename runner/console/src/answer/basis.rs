//! Runs and layers on which a prediction of a CNN that was never run is based.

use foreglow_exit::unusable;
use foreglow_shared::format_count;
use serde::Serialize;

/// Runs and layers on which a prediction of a CNN that was never run is based.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// Names of the measured CNNs.
    pub measured_models: Vec<String>,
    /// Their completed runs.
    pub runs: usize,
    /// Number of layers that were timed on the machine; absent without a calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_layers: Option<usize>,
    /// The CNN, for messages.
    #[serde(skip)]
    pub what: String,
}

impl Basis {
    /// Returns the error of an option that needs runs of the CNN itself.
    pub fn needs_runs(&self, option: &str) -> anyhow::Error {
        unusable(format!("{option} needs runs of {}, which was never run here; leave it out", self.what))
    }

    /// Describes the basis in a sentence.
    pub fn describe(&self) -> String {
        let (count, runs) = (self.measured_models.len(), format_count(self.runs, "run"));
        let others = if count == 1 { "1 CNN".to_owned() } else { format!("{count} CNNs") };
        let by = match self.timed_layers {
            None => "by the cost of its layers".to_owned(),
            Some(timed) => format!("and the times of {timed} layers"),
        };
        format!(
            "{} was never run here: predicted from {runs} of {others} ({}) {by}.",
            self.what,
            self.measured_models.join(", ")
        )
    }
}
