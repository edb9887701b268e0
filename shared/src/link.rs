//! Share links: `<planner>#v1.<payload>`, with all data for showing the same numbers without a
//! server.
//!
//! The payload is the [`View`] as JSON, compressed with zlib, whose checksum detects damaged links,
//! and encoded in URL-safe base64 without padding. Browsers never send the fragment to a server.

use std::ops::RangeInclusive;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::limits::{
    ACCURACIES, DEADLINE_SECS, MONEY, MOST_CANDIDATES, MOST_CORES, MOST_EXECUTORS, PROBABILITIES, check_properties,
    is_incomplete_run, is_run,
};
use crate::{
    Context, CoreSplit, IncompleteRun, Job, JobDefinition, LoggedRun, Observation, PeakMemory, Question,
    TrainedAccuracy, WhatIf, measured_choices,
};

/// Prefix of the fragment in this version of the format.
pub const FRAGMENT_PREFIX: &str = "v1.";
/// Prefix of the fragment of a short link, [`crate::ShortLink`].
pub const SHORT_PREFIX: &str = "q1.";
/// Size limit of an unpacked payload, against decompression bombs; real links are far smaller.
const MAX_JSON_BYTES: usize = 4 << 20;
const COMPRESSION_LEVEL: u8 = 9;
/// Limit on the runs in a link; mail and chat programs reject longer links.
pub const MOST_RUNS_IN_LINK: usize = 2_000;
/// Limit on the jobs in a link: each is fitted and has candidates of its own.
pub const MOST_JOBS_IN_LINK: usize = 500;

/// A page that can be shared: measurements and question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct View {
    /// The measurements.
    pub job: Job,
    /// The question.
    pub question: Question,
    /// Configurations that the user compares, in display order.
    pub pins: Vec<WhatIf>,
    /// Runs that the user excluded. They are stored outside the job, so that a version without this
    /// field answers from the same runs.
    pub left_out: LeftOut,
    /// The measurements that the job is compared with: on other machine types and with other batch
    /// sizes, and of other CNNs.
    pub compared: Vec<Job>,
}

/// The JSON fields of a link. The job's fields are repeated here instead of `serde(flatten)`, which
/// would compile the code that reads a job into the page twice. Empty fields are omitted, so that
/// older and newer versions open each other's links.
#[derive(Clone, Serialize, Deserialize)]
struct Fields {
    context: Context,
    observations: Vec<Observation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<IncompleteRun>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    peaks: Vec<PeakMemory>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accuracies: Vec<TrainedAccuracy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logged: Vec<LoggedRun>,
    question: Question,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pins: Vec<WhatIf>,
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    left_out: LeftOut,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Job>,
}

impl From<Fields> for View {
    fn from(fields: Fields) -> Self {
        let Fields { question, pins, left_out, compared, .. } = fields;
        let Fields { context, observations, incomplete, peaks, accuracies, logged, .. } = fields;
        let job = Job { context, observations, incomplete, peaks, accuracies, logged };
        Self { job, question, pins, left_out, compared }
    }
}

impl From<View> for Fields {
    fn from(view: View) -> Self {
        let View { job, question, pins, left_out, compared } = view;
        let Job { context, observations, incomplete, peaks, accuracies, logged } = job;
        Self { context, observations, incomplete, peaks, accuracies, logged, question, pins, left_out, compared }
    }
}

/// Measured runs that the user excluded from the fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Excluded completed runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// Excluded incomplete runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteRun>,
}

impl LeftOut {
    /// Whether no run is excluded.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty() && self.incomplete.is_empty()
    }
}

/// Why a link cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The text is not a Foreglow link.
    #[error("it is not a Foreglow link; a link ends with #v1. followed by letters and digits")]
    NotALink,
    /// The link is a short one, which holds no runs.
    #[error("this is a short link, which holds no runs; open it in the planner of its collector")]
    Short,
    /// The link was written by a newer version.
    #[error("this link is from a newer Foreglow (format v{0}); open it with that version")]
    Newer(u32),
    /// The link was truncated or changed.
    #[error("this link is damaged ({0}); copy the whole link again")]
    Damaged(&'static str),
    /// The link unpacks to content that this version does not understand.
    #[error("this link cannot be used ({0}); make a new one with Share or `foreglow link`")]
    Form(String),
}

impl View {
    /// Returns the fragment, without `#`.
    ///
    /// ```
    /// # use foreglow_shared::{View, FRAGMENT_PREFIX};
    /// # let view: View = serde_json::from_str(r#"{"context":{"workload":{"model":"lenet5",
    /// # "mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
    /// # "engine":"local","host":{}},"observations":[[1,1,1024,8,0.1,2.5,null]],
    /// # "question":{"deadline_secs":null,"executors":[1],"cores_per_executor":[1],
    /// # "memory_per_executor_mib":1024,
    /// # "prices":{"name":"mine","date":"2026-01-31","currency":"EUR","core_hour":0.05},
    /// # "what_if":{"executors":1,"cores_per_executor":1}}}"#).unwrap();
    /// let fragment = view.to_fragment();
    /// assert!(fragment.starts_with(FRAGMENT_PREFIX));
    /// let link = format!("https://example.org/planner/#{fragment}");
    /// assert_eq!(View::from_link(&link).unwrap(), view);
    /// ```
    pub fn to_fragment(&self) -> String {
        format!("{FRAGMENT_PREFIX}{}", pack(self))
    }

    /// Returns the whole link for the planner at the URL `planner`.
    pub fn to_link(&self, planner: &str) -> String {
        let base = planner.split('#').next().unwrap_or_default();
        format!("{base}#{}", self.to_fragment())
    }

    /// Opens a link or a fragment, with or without `#`.
    ///
    /// # Errors
    /// [`LinkError`]: not a link, a newer format, or a damaged payload.
    pub fn from_link(link: &str) -> Result<Self, LinkError> {
        let fragment = link.trim().rsplit('#').next().unwrap_or_default();
        let view: Self = unpack(payload(fragment)?)?;
        view.check()?;
        Ok(view)
    }

    /// Adds those of the jobs that the view's job is compared with, if it was measured with several
    /// machine types, batch sizes or partition sizes. If these have too many runs for a link, other
    /// CNNs are omitted first.
    pub fn comparing(mut self, jobs: &[Job]) -> Self {
        self.compared.clear();
        let definition = JobDefinition::of(&self.job.context);
        let is_other = |job: &&Job| job.context.workload.mode == definition.mode && job.context != self.job.context;
        let is_same = |job: &Job| JobDefinition::of(&job.context).is_same_job(&definition);
        let mut others: Vec<&Job> = jobs.iter().filter(is_other).collect();
        if measured_choices(jobs, &self.job.context) <= 1 && !others.iter().any(|job| is_same(job)) {
            return self;
        }
        let fits = |others: &[&Job]| {
            others.len() < MOST_JOBS_IN_LINK
                && self.job.runs() + others.iter().map(|job| job.runs()).sum::<usize>() <= MOST_RUNS_IN_LINK
        };
        if !fits(&others) {
            others.retain(|job| is_same(job));
        }
        if fits(&others) {
            self.compared = others.into_iter().cloned().collect();
        }
        self
    }

    /// Whether the runs of the job fit in a link.
    pub fn fits_in_link(&self) -> bool {
        self.job.runs() <= MOST_RUNS_IN_LINK
    }

    fn check(&self) -> Result<(), LinkError> {
        let form = |what: &str| Err(LinkError::Form(what.to_owned()));
        check_question(&self.question)?;
        self.check_sizes()?;
        for Context { workload, host, accelerator, .. } in self.jobs().map(|job| &job.context) {
            check_properties(workload, host, accelerator.as_ref())
                .map_err(|error| LinkError::Form(error.to_string()))?;
        }
        let any = |is: fn(CoreSplit) -> bool| self.splits().any(is);
        if any(|split| split.executors == 0 || split.cores_per_executor == 0) {
            return form(ZERO_CONFIGURATION);
        }
        if any(|split| split.executors > MOST_EXECUTORS || split.cores_per_executor > MOST_CORES) {
            return form("it has a configuration with more executors or cores than a sample may have");
        }
        if any(|split| split.check().is_err()) {
            return form("a total number of cores does not match its executors");
        }
        if !self.jobs().flat_map(|job| &job.observations).chain(&self.left_out.observations).all(is_run) {
            return form("a run has an invalid time or sampling rate");
        }
        if !self.jobs().flat_map(|job| &job.incomplete).chain(&self.left_out.incomplete).all(is_incomplete_run) {
            return form("an incomplete run has an invalid time or sampling rate");
        }
        let is_empty = |peak: &PeakMemory| [peak.cores_per_executor, peak.partition_size, peak.peak_mib].contains(&0);
        if self.jobs().flat_map(|job| &job.peaks).any(is_empty) {
            return form("a peak memory entry contains a zero");
        }
        if !self.jobs().flat_map(|job| &job.accuracies).all(TrainedAccuracy::is_valid) {
            return form("an accuracy is not between 0 and 1");
        }
        if !self.jobs().flat_map(|job| &job.logged).all(LoggedRun::is_valid) {
            return form("a time from an event log is invalid");
        }
        Ok(())
    }

    /// Checks that the lists are not longer than those of a link that is written.
    fn check_sizes(&self) -> Result<(), LinkError> {
        let sum = |count: fn(&Job) -> usize| self.jobs().map(count).sum::<usize>();
        let counts = [
            (sum(Job::runs), "runs"),
            (self.left_out.observations.len() + self.left_out.incomplete.len(), "excluded runs"),
            (sum(|job| job.peaks.len()), "peaks of memory"),
            (sum(|job| job.accuracies.len()), "accuracies"),
            (sum(|job| job.logged.len()), "event logs"),
            (self.pins.len(), "pinned configurations"),
        ];
        let of_jobs = (self.jobs().count(), "jobs", MOST_JOBS_IN_LINK);
        let counts = counts.map(|(count, what)| (count, what, MOST_RUNS_IN_LINK));
        for (count, what, most) in counts.into_iter().chain([of_jobs]) {
            if count > most {
                return Err(LinkError::Form(format!("it has {count} {what}, and a link holds at most {most}")));
            }
        }
        Ok(())
    }

    /// The job and those that it is compared with.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        std::iter::once(&self.job).chain(&self.compared)
    }

    /// Executors and cores of the runs and of the selected configuration.
    fn splits(&self) -> impl Iterator<Item = CoreSplit> {
        let completed = self.jobs().flat_map(|job| &job.observations).chain(&self.left_out.observations);
        let completed = completed.map(Observation::split);
        let incomplete = self.jobs().flat_map(|job| &job.incomplete).chain(&self.left_out.incomplete);
        let incomplete = incomplete.map(IncompleteRun::split);
        let looked_at = self.pins.iter().chain([&self.question.what_if]);
        let looked_at = looked_at.map(|looked| looked.split());
        completed.chain(incomplete).chain(looked_at)
    }
}

const ZERO_CONFIGURATION: &str = "a configuration has zero executors, cores or memory";

/// Checks the ranges that the types of a question do not enforce.
pub(crate) fn check_question(question: &Question) -> Result<(), LinkError> {
    let form = |what: &str| Err(LinkError::Form(what.to_owned()));
    if let Err(error) = question.prices.check() {
        return Err(LinkError::Form(error.to_string()));
    }
    if question.executors.is_empty() || question.cores_per_executor.is_empty() {
        return form("the question has no configurations to choose from");
    }
    for (what, counts, most) in [
        ("numbers of executors", &question.executors, MOST_EXECUTORS),
        ("numbers of cores", &question.cores_per_executor, MOST_CORES),
    ] {
        if counts.len() > MOST_CANDIDATES || counts.iter().any(|count| *count > most) {
            let count = counts.len();
            return Err(LinkError::Form(format!(
                "it has {count} {what}; at most {MOST_CANDIDATES} up to {most} are possible"
            )));
        }
    }
    let what_if = question.what_if;
    let counts = [&question.executors, &question.cores_per_executor].into_iter().flatten();
    if counts
        .chain([&question.memory_per_executor_mib, &what_if.executors, &what_if.cores_per_executor])
        .any(|n| *n == 0)
    {
        return form(ZERO_CONFIGURATION);
    }
    let out_of = |value: Option<f64>, range: RangeInclusive<f64>| value.is_some_and(|value| !range.contains(&value));
    if out_of(question.deadline_secs, DEADLINE_SECS) {
        return form("its deadline is not a number of seconds from 1e-9 to 1e12");
    }
    if out_of(question.budget, MONEY) {
        return form("its budget is not an amount from 1e-12 to 1e12");
    }
    if out_of(question.min_accuracy, ACCURACIES) {
        return form("its minimum accuracy is not above 0 and at most 1");
    }
    if out_of(Some(question.probability), PROBABILITIES) {
        return form("its probability is not between 0 and 1");
    }
    Ok(())
}

/// Encodes a value as the payload of a link.
pub(crate) fn pack(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("a link holds only strings, numbers and maps with string keys");
    URL_SAFE_NO_PAD.encode(miniz_oxide::deflate::compress_to_vec_zlib(&json, COMPRESSION_LEVEL))
}

/// Decodes the payload of a link. The part after `&` names a view of the page and is ignored.
///
/// # Errors
/// [`LinkError::Damaged`] or [`LinkError::Form`].
pub(crate) fn unpack<T: serde::de::DeserializeOwned>(payload: &str) -> Result<T, LinkError> {
    let payload = payload.split('&').next().unwrap_or_default();
    let packed = URL_SAFE_NO_PAD.decode(payload).map_err(|_| LinkError::Damaged("a character is missing or wrong"))?;
    let json = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&packed, MAX_JSON_BYTES)
        .map_err(|_| LinkError::Damaged("its checksum does not match"))?;
    let json = String::from_utf8(json).map_err(|_| LinkError::Form("it is not text".to_owned()))?;
    serde_json::from_str(&json).map_err(|error| LinkError::Form(error.to_string()))
}

/// Returns the part of the fragment after the version.
fn payload(fragment: &str) -> Result<&str, LinkError> {
    if let Some(payload) = fragment.strip_prefix(FRAGMENT_PREFIX) {
        return Ok(payload);
    }
    if fragment.starts_with(SHORT_PREFIX) {
        return Err(LinkError::Short);
    }
    let version = fragment.strip_prefix('v').and_then(|rest| rest.split_once('.'));
    match version.and_then(|(digits, _)| digits.parse::<u32>().ok()) {
        Some(version) if version > 1 => Err(LinkError::Newer(version)),
        _ => Err(LinkError::NotALink),
    }
}
