//! The supported events, each with the used fields; serde skips all other fields.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct LogStart {
    #[serde(rename = "Spark Version")]
    pub spark_version: String,
}

#[derive(Deserialize)]
pub(crate) struct ApplicationStart {
    #[serde(rename = "App Name")]
    pub name: Option<String>,
    #[serde(rename = "App ID")]
    pub id: Option<String>,
    #[serde(rename = "Timestamp")]
    pub at_ms: i64,
}

#[derive(Deserialize)]
pub(crate) struct ApplicationEnd {
    #[serde(rename = "Timestamp")]
    pub at_ms: i64,
}

#[derive(Deserialize)]
pub(crate) struct EnvironmentUpdate {
    #[serde(rename = "Spark Properties", default)]
    pub properties: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub(crate) struct ResourceProfileAdded {
    #[serde(rename = "Resource Profile Id")]
    pub id: u32,
    #[serde(rename = "Executor Resource Requests", default)]
    pub executor: BTreeMap<String, Amount>,
    #[serde(rename = "Task Resource Requests", default)]
    pub task: BTreeMap<String, Amount>,
}

#[derive(Deserialize)]
pub(crate) struct Amount {
    #[serde(rename = "Amount")]
    pub amount: f64,
}

#[derive(Deserialize)]
pub(crate) struct ExecutorAdded {
    #[serde(rename = "Timestamp")]
    pub at_ms: i64,
    #[serde(rename = "Executor ID")]
    pub id: String,
    #[serde(rename = "Executor Info")]
    pub info: ExecutorInfo,
}

#[derive(Deserialize)]
pub(crate) struct ExecutorInfo {
    #[serde(rename = "Host")]
    pub host: String,
    #[serde(rename = "Total Cores")]
    pub cores: u32,
    #[serde(rename = "Resources", default)]
    pub resources: BTreeMap<String, Addresses>,
    #[serde(rename = "Resource Profile Id", default)]
    pub profile: u32,
}

#[derive(Deserialize)]
pub(crate) struct Addresses {
    #[serde(default)]
    pub addresses: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct ExecutorRemoved {
    #[serde(rename = "Timestamp")]
    pub at_ms: i64,
    #[serde(rename = "Executor ID")]
    pub id: String,
    #[serde(rename = "Removed Reason", default)]
    pub reason: String,
}

#[derive(Deserialize)]
pub(crate) struct JobStart {
    #[serde(rename = "Job ID")]
    pub id: u32,
    #[serde(rename = "Submission Time")]
    pub at_ms: Option<i64>,
    #[serde(rename = "Stage IDs", default)]
    pub stages: Vec<u32>,
    #[serde(rename = "Stage Infos", default)]
    pub infos: Vec<StageInfo>,
    #[serde(rename = "Properties")]
    pub properties: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
pub(crate) struct JobEnd<'a> {
    #[serde(rename = "Job ID")]
    pub id: u32,
    #[serde(rename = "Completion Time")]
    pub at_ms: Option<i64>,
    #[serde(rename = "Job Result", borrow)]
    pub result: JobResult<'a>,
}

#[derive(Deserialize)]
pub(crate) struct JobResult<'a> {
    #[serde(rename = "Result", borrow)]
    pub result: Cow<'a, str>,
    #[serde(rename = "Exception")]
    pub exception: Option<Exception>,
}

#[derive(Deserialize)]
pub(crate) struct Exception {
    #[serde(rename = "Message")]
    pub message: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct StageEvent {
    #[serde(rename = "Stage Info")]
    pub info: StageInfo,
}

#[derive(Deserialize)]
pub(crate) struct StageInfo {
    #[serde(rename = "Stage ID")]
    pub id: u32,
    #[serde(rename = "Stage Attempt ID", default)]
    pub attempt: u32,
    #[serde(rename = "Stage Name", default)]
    pub name: String,
    #[serde(rename = "Number of Tasks")]
    pub tasks: u32,
    #[serde(rename = "Parent IDs", default)]
    pub parents: Vec<u32>,
    #[serde(rename = "Resource Profile Id", default)]
    pub profile: u32,
    #[serde(rename = "Submission Time")]
    pub submitted_ms: Option<i64>,
    #[serde(rename = "Completion Time")]
    pub completed_ms: Option<i64>,
    #[serde(rename = "Failure Reason")]
    pub failure: Option<String>,
    #[serde(rename = "Accumulables", default)]
    pub accumulables: Vec<Accumulable>,
    #[serde(rename = "RDD Info", default)]
    pub rdds: Vec<Rdd>,
}

#[derive(Deserialize)]
pub(crate) struct Rdd {
    #[serde(rename = "Barrier", default)]
    pub is_barrier: bool,
}

#[derive(Deserialize)]
pub(crate) struct Accumulable {
    #[serde(rename = "Name")]
    pub name: Option<String>,
    #[serde(rename = "Value")]
    pub value: Option<serde_json::Value>,
}

#[derive(Deserialize)]
pub(crate) struct TaskEnd<'a> {
    #[serde(rename = "Stage ID")]
    pub stage: u32,
    #[serde(rename = "Task End Reason", borrow)]
    pub reason: Reason<'a>,
    #[serde(rename = "Task Info", borrow)]
    pub info: TaskInfo<'a>,
    #[serde(rename = "Task Metrics")]
    pub metrics: Option<TaskMetrics>,
    #[serde(rename = "Task Executor Metrics")]
    pub executor_metrics: Option<ExecutorMetrics>,
}

#[derive(Deserialize)]
pub(crate) struct Reason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub reason: Cow<'a, str>,
    #[serde(rename = "Class Name")]
    pub class: Option<String>,
    #[serde(rename = "Description")]
    pub description: Option<String>,
    #[serde(rename = "Message")]
    pub message: Option<String>,
    #[serde(rename = "Loss Reason")]
    pub loss: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct TaskInfo<'a> {
    #[serde(rename = "Index")]
    pub index: u32,
    #[serde(rename = "Launch Time")]
    pub launched_ms: i64,
    #[serde(rename = "Executor ID", borrow)]
    pub executor: Cow<'a, str>,
    #[serde(rename = "Finish Time")]
    pub finished_ms: i64,
    #[serde(rename = "Killed", default)]
    pub is_killed: bool,
}

#[derive(Deserialize)]
pub(crate) struct TaskMetrics {
    #[serde(rename = "Executor Run Time")]
    pub run_ms: Option<u64>,
    #[serde(rename = "Executor CPU Time")]
    pub cpu_ns: Option<u64>,
    #[serde(rename = "JVM GC Time")]
    pub gc_ms: Option<u64>,
    #[serde(rename = "Peak Execution Memory")]
    pub peak_execution_bytes: Option<Measured>,
    #[serde(rename = "Disk Bytes Spilled")]
    pub spilled_bytes: Option<Measured>,
    #[serde(rename = "Input Metrics")]
    pub input: Option<InputMetrics>,
}

#[derive(Deserialize)]
pub(crate) struct InputMetrics {
    #[serde(rename = "Bytes Read")]
    pub bytes: Option<Measured>,
    #[serde(rename = "Records Read")]
    pub rows: Option<Measured>,
}

/// Peaks of the executor while a task ran; 0 if Spark did not look in that time.
#[derive(Deserialize)]
pub(crate) struct ExecutorMetrics {
    #[serde(rename = "JVMHeapMemory")]
    pub heap_bytes: Option<Measured>,
}

#[derive(Deserialize)]
pub(crate) struct StageExecutorMetrics {
    #[serde(rename = "Executor ID")]
    pub executor: String,
    #[serde(rename = "Stage ID")]
    pub stage: u32,
    #[serde(rename = "Executor Metrics")]
    pub metrics: ExecutorMetrics,
}

/// A number that may be negative where Spark could not measure it.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(crate) struct Measured(i64);

impl Measured {
    /// Returns the number; `None` if it was not measured.
    pub fn value(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}
