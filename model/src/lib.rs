//! Foreglow's mathematics: predicts the completion time and cost of every configuration from a few
//! short runs.
//!
//! [`Predictor::fit`] learns from [`Observation`](foreglow_shared::Observation)s of one
//! [`Context`](foreglow_shared::Context), and [`Predictor::predict`] answers for any [`Setting`].
//! [`TablePredictor`] does the same for any table of runs, a [`Dataset`]. A [`Plan`] compares all
//! configurations, over all machine types; a single context is a plan with one arm.
//! [`scenario_table`] evaluates the published scenarios on measured runs.
//!
//! Where no other source is named: Myung and Yu, "Performance Prediction for Convolutional Neural
//! Network on Spark Cluster", Electronics 9(9):1340, 2020 ("the paper" below).
//!
//! This crate must not read files, clocks or sources of randomness. It uses `+ − × ÷ √`, which IEEE
//! 754 defines to the last digit, and exponentials and logarithms from `libm`, which uses only
//! these. The same observations, in any order, therefore give the same bytes natively and in the
//! browser.

mod accuracy;
mod advice;
mod at_rate;
mod capacity;
mod chance;
mod cheapest;
mod error;
mod explain;
mod hindsight;
mod joint;
mod line;
mod machines;
mod measured_ratios;
mod memory;
mod plan;
mod predictor;
mod public;
mod published;
mod range;
mod rates;
mod repetitions;
mod restart;
mod runs;
mod scaling;
mod simulated_times;
mod unseen;
mod whole_job;
mod work;

pub use crate::accuracy::{Accuracy, AccuracyUnknown};
pub use crate::advice::{Advice, BestSoFar, Suggestion, Verdict, advise};
pub use crate::cheapest::LEAST_SAVING;
pub use crate::error::{DecideError, PartitionSizeUnknown};
pub use crate::explain::{Factors, HeldOut, shared_processors};
pub use crate::hindsight::{CheckedGroup, CheckedGroups, CheckedRun, PredictedFrom, checked_run, checked_runs};
pub use crate::joint::{Arm, Basis, JointPredictor, SizesFrom};
pub use crate::line::{Line, line_through};
pub use crate::machines::{ExecutorSize, Packing, PackingError, pack, pack_split};
pub use crate::memory::{BatchMemory, Bracket, Estimate, LargestBatch, MemoryRun, NetworkBytes, UsableMemory, Work};
pub use crate::plan::{
    Candidate, Decision, Exclusion, Limits, Neighbours, Objective, Omission, Placement, Plan, Prices, PricesNote,
    Pricing, Space, TrainedSetting, pareto_front, sufficient_memory_mib,
};
pub use crate::predictor::Predictor;
pub use crate::public::{
    Comparison, MeasuredJob, NetworkFromFile, NetworkSource, OwnPeak, OwnSpeed, PublicAnswer, PublicBasis, PublicData,
    PublicJob, PublicQuestion, Refusal, SpeedOrder, UnmeasuredError, UnmeasuredJob,
};
pub use crate::published::{Choice, Effect, Effects, Place, Scenario, ScenarioRow, scenario_row, scenario_table};
pub use crate::repetitions::Repetitions;
pub use crate::restart::{Restart, RestartReason, RunningJob, WholeRun};
pub use crate::scaling::{Gain, Measured, Scaling, ScalingRow, WeakScaling, efficiency, speed_up};
pub use crate::unseen::{
    Calibration, ConvolutionSizes, CostedLayer, CostedRun, GraphCosts, Layer, LayerKind, LayerTimes, LayeredCnn,
    MeasuredCnn, RunParts, TimedLayer, TransferredJob, UnseenCnn,
};
pub use crate::whole_job::{extrapolated, whole_job};
pub use foreglow_curve::{CurveError, INTERVAL_PROBABILITY, Pauses, WholeJob};
pub use foreglow_learner::{Activation, Cancelled, Grid, MaxFeatures, Solver, Technique};
pub use foreglow_numeric::{MetricError, mape, median};
pub use foreglow_onnx::{PeakBytes, StepBytes};
pub use foreglow_predictor::{
    Answer, Column, Coverage, Dataset, DatasetError, Ensemble, Explanation, Feature, Features, FitError, Held,
    HeldOutErrors, Interval, Meaning, Outcome, Part, Prediction, Probe, Proposal, RIVALS, Repeats, Replay, Rival,
    RivalError, Roles, Score, SearchTable, Setting, Settings, Split, Spread, SpreadError, Strategy, TablePredictor,
    Term, TermError, Transform, Trial, Tuning, Values, Warning, draw, format_cost, format_time, replay, sample_trial,
    score,
};
pub use foreglow_public::{
    BuiltInNetwork, Gpu, Gpus, GraphSums, Measurements, MemorySource, NetworkCosts, Precision, PublicError,
    PublicModel, SoftwareKind, Source, StepMemory, Variances, short_name,
};
