//! The messages between the page and its workers. A string in place of a message is the reason why
//! the worker failed.

use foreglow_model::{Effects, ScenarioRow};
use foreglow_shared::Job;
use serde::{Deserialize, Serialize};

use crate::worker::advice::AdviceText;
use crate::worker::import::{Added, Imported};
use crate::worker::network::NetworkHtml;
use crate::worker::plan::{PlanAnswer, PlanQuestion};
use crate::worker::wire::json;

/// What a plan is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// Measured jobs.
    Jobs(#[serde(with = "json")] Vec<Job>),
    /// A job without samples, in the form of the address.
    Unmeasured(String),
}

/// A request to the planning worker: its number, its subject if it changed since the last request,
/// and the question. The number distinguishes a late answer to an earlier request from the current
/// answer. The tables of public measurements precede the first request about a job without samples,
/// in a message of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Number of the fit to which the question belongs.
    pub fit: u64,
    /// What to fit; `None` to ask about the last fit.
    pub subject: Option<Subject>,
    /// The question.
    pub question: PlanQuestion,
}

/// A message with the encoding of both [`PlanResponse::Ready`] and [`Response::Ready`].
pub const READY: u8 = 0;

/// A message of the planning worker to the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PlanResponse {
    /// The worker has loaded and accepts requests.
    Ready,
    /// The answer to a question about the fit with this number; an error if it failed.
    Answer(u64, Result<Box<PlanAnswer>, String>),
    /// The worker has read tables of public measurements, with the names of their networks and
    /// GPUs.
    Names([Vec<String>; 2]),
    /// The request with this number is about a network that the tables of the usual networks lack.
    NeedsAll(u64),
}

/// A request to a module that is fetched on first use. It is separate from [`PlanRequest`], so that
/// the page contains no code for the work of another module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Evaluate every published scenario on this job with all learners of the published grid.
    Compare(#[serde(with = "json")] Job),
    /// Read a file, whose bytes accompany the message, with what the user adds to it.
    Import(Added),
    /// Advise which samples to collect next, for these jobs.
    Advise(#[serde(with = "json")] Vec<Job>, Box<PlanQuestion>),
    /// Evaluate the published scenarios on this job, without the perceptrons, and the predictions
    /// of whole jobs among the samples of this source.
    Evaluate(#[serde(with = "json")] Job, SampleSource),
    /// Compute the costs of the network in an ONNX file, which accompanies the message: name of the
    /// file, and side of the images if the file leaves it open, pixels.
    Network(String, u32),
}

/// A message of such a module to the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    /// The module has loaded and accepts requests.
    Ready,
    /// Progress of the comparison: steps done, steps in total.
    Progress(u64, u64),
    /// The finished comparison.
    Compared(Vec<Scenario>),
    /// The contents of the file.
    Imported(Result<Imported, String>),
    /// The samples to collect next.
    Advised(Result<AdviceText, String>),
    /// The published scenarios.
    Evaluated(Box<Published>),
    /// The error of the page's predictor, after the published scenarios.
    HeldOut(OwnAccuracy),
    /// How often the predictions of whole jobs held, in sentences; after the published scenarios.
    WholeJobs(Vec<String>),
    /// Costs of a network.
    Network(Result<NetworkHtml, String>),
}

/// Where the samples of the page's jobs are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum SampleSource {
    /// The page has runs without their samples, as from a link.
    #[default]
    Unknown,
    /// In files, which accompany the message, with what the user added to them.
    Files(Added),
    /// On the collector that serves the page.
    Collector,
}

/// Results of the paper's method on the same runs. They are computed when a view first shows them,
/// in a module that is fetched on demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The evaluation of each scenario.
    pub scenarios: Vec<Scenario>,
    /// The effect of each feature alone, or why it cannot be estimated.
    pub effects: Result<Effects, String>,
}

/// The error of the page's predictor on measured settings, each predicted by a fit without its
/// runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnAccuracy {
    /// Number of predicted settings.
    pub settings: usize,
    /// Median of |t − t̂|/t, percent; `None` if no setting could be predicted.
    pub median_error_percent: Option<f64>,
    /// Number of them with an interval.
    pub intervals: usize,
    /// Number of these intervals that contain the measured time.
    pub held: usize,
}

/// A published scenario with its techniques formatted as text, so that the page needs no code for
/// their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The scenario's name in the paper.
    pub label: String,
    /// The technique chosen for each place; empty if the scenario could not be fitted.
    pub techniques: String,
    /// Number of training rows.
    pub fitted: usize,
    /// Number of test rows.
    pub tested: usize,
    /// 100 − MAPE, percent.
    pub accuracy_percent: Option<f64>,
    /// t1: collecting its runs, seconds.
    pub t1_secs: f64,
    /// t2: training, seconds.
    pub t2_secs: f64,
    /// T = t1 + t2, seconds.
    pub total_secs: f64,
    /// Why the accuracy is unknown, and which samples would help.
    pub reason: Option<String>,
}

impl From<ScenarioRow> for Scenario {
    fn from(row: ScenarioRow) -> Self {
        let techniques: Vec<String> =
            row.choices.iter().map(|choice| format!("{}: {}", choice.place, choice.technique)).collect();
        let ScenarioRow { fitted, tested, accuracy_percent, t1_secs, t2_secs, total_secs, reason, .. } = row;
        Self {
            label: row.scenario.label().to_owned(),
            techniques: techniques.join(" · "),
            fitted,
            tested,
            accuracy_percent,
            t1_secs,
            t2_secs,
            total_secs,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::wire::encode;

    #[test]
    fn all_workers_are_ready_in_the_same_words() {
        assert_eq!(encode(&PlanResponse::Ready), encode(&READY));
        assert_eq!(encode(&Response::Ready), encode(&READY));
    }
}
