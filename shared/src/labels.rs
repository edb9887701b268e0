//! Labels: facts about a run that Spark does not record, given as Spark properties or as flags.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::{LABEL_PREFIX, number};

/// A label and the equivalent flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Name after [`LABEL_PREFIX`], such as `image_px`.
    pub name: &'static str,
    /// Flag, such as `--image-px`; `None` if only the log can hold it.
    pub flag: Option<&'static str>,
}

/// Labels that a workload holds under the same name, in addition to its own fields, because they
/// influence the time.
pub const WORKLOAD_LABELS: [&str; 16] = [
    "dtype",
    "resize",
    "resize_px",
    "interpolation",
    "classes",
    "network",
    "network_fingerprint",
    "data",
    "data_format",
    "data_items",
    "data_fingerprint",
    "optimizer",
    "average_every",
    "average_optimizer_state",
    "share_size",
    // A `TextInput` as JSON.
    "text",
];

/// All labels.
pub const LABELS: [Label; 36] = [
    Label { name: "model", flag: Some("--model") },
    Label { name: "mode", flag: Some("--mode") },
    Label { name: "image_px", flag: Some("--image-px") },
    Label { name: "images", flag: Some("--images") },
    Label { name: "steps", flag: Some("--steps") },
    Label { name: "epochs", flag: Some("--epochs") },
    Label { name: "batch_size", flag: Some("--batch-size") },
    Label { name: "partition_size", flag: Some("--partition-size") },
    Label { name: "sampling_rate", flag: Some("--sampling-rate") },
    Label { name: "memory_per_executor_mib", flag: Some("--memory") },
    Label { name: "dtype", flag: None },
    Label { name: "resize", flag: None },
    Label { name: "resize_px", flag: None },
    Label { name: "interpolation", flag: None },
    Label { name: "classes", flag: None },
    Label { name: "network", flag: None },
    Label { name: "network_fingerprint", flag: None },
    Label { name: "data", flag: Some("--data-name") },
    Label { name: "data_format", flag: None },
    Label { name: "data_items", flag: None },
    Label { name: "data_fingerprint", flag: None },
    // A `TextInput` as JSON.
    Label { name: "text", flag: None },
    Label { name: "accelerator", flag: Some("--accelerator") },
    Label { name: "gpus", flag: Some("--gpus") },
    Label { name: "cpu", flag: Some("--cpu") },
    Label { name: "adapter", flag: Some("--adapter") },
    // Training.
    Label { name: "optimizer", flag: None },
    Label { name: "average_every", flag: None },
    Label { name: "average_optimizer_state", flag: None },
    Label { name: "share_size", flag: None },
    Label { name: "seed", flag: None },
    // Requested values, compared with what ran.
    Label { name: "executors", flag: None },
    Label { name: "cores_per_executor", flag: None },
    Label { name: "runner_version", flag: None },
    // The sample's UUID, shared by all measured jobs of one run, and the number of these jobs.
    Label { name: "run", flag: None },
    Label { name: "jobs", flag: None },
];

/// Values of labels by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<&'static str, String>);

/// Errors of the labels of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// Required labels are in neither the log nor the flags.
    #[error("the log lacks {}; give {}", names(.0), asked(.0))]
    Missing(Vec<Label>),
    /// A value is invalid.
    #[error("the label {name} is {value:?}; it must be {must}")]
    Value {
        /// Name of the label.
        name: &'static str,
        /// Its value.
        value: String,
        /// The values it may have.
        must: &'static str,
    },
    /// The log and a flag contradict each other.
    #[error("{name} is {log:?} in the log, but {flag} says {given:?}; omit {flag}, or import this log separately")]
    Conflict {
        /// Name of the label.
        name: &'static str,
        /// Its flag.
        flag: &'static str,
        /// Value in the log.
        log: String,
        /// Value of the flag.
        given: String,
    },
}

fn names(labels: &[Label]) -> String {
    list(certain(labels).map(|label| label.name), "and")
}

fn asked(labels: &[Label]) -> String {
    let flags = list(certain(labels).filter_map(|label| label.flag), "and");
    if certain(labels).count() == labels.len() { flags } else { format!("{flags}, and --epochs too for training") }
}

/// Returns the missing labels that every mode needs; only training needs epochs.
fn certain(labels: &[Label]) -> impl Iterator<Item = &Label> {
    let is_mode_known = labels.iter().all(|label| label.name != "mode");
    labels.iter().filter(move |label| is_mode_known || label.name != "epochs")
}

fn list<'a>(words: impl Iterator<Item = &'a str>, last: &str) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

impl Labels {
    /// Extracts the labels from Spark properties.
    pub fn of(properties: &BTreeMap<String, String>) -> Self {
        let value =
            |label: &Label| Some((label.name, properties.get(&format!("{LABEL_PREFIX}{}", label.name))?.clone()));
        Self(LABELS.iter().filter_map(value).collect())
    }

    /// Sets a label; ignores empty values and unknown names.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if let Some(label) = LABELS.iter().find(|label| label.name == name).filter(|_| !value.trim().is_empty()) {
            self.0.insert(label.name, value);
        }
    }

    /// Removes a label.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns the value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds labels from `others` that are not set yet.
    pub fn or(mut self, others: &Self) -> Self {
        for (name, value) in &others.0 {
            self.0.entry(name).or_insert_with(|| value.clone());
        }
        self
    }

    /// Combines the labels of a log with those given as flags.
    ///
    /// # Errors
    /// A flag contradicts the log.
    pub fn with_flags(self, given: &Self) -> Result<Self, LabelError> {
        for Label { name, flag } in LABELS {
            if let (Some(log), Some(given), Some(flag)) = (self.get(name), given.get(name), flag)
                && !is_same(log, given)
            {
                return Err(LabelError::Conflict { name, flag, log: log.to_owned(), given: given.to_owned() });
            }
        }
        Ok(self.or(given))
    }

    /// Returns the labels among `names` that are not set.
    pub fn missing(&self, names: &[&str]) -> Vec<Label> {
        LABELS.iter().filter(|label| names.contains(&label.name) && self.get(label.name).is_none()).copied().collect()
    }

    /// Parses the value of a label.
    ///
    /// # Errors
    /// The label is missing or its value is invalid.
    pub fn value<T: FromStr>(&self, name: &'static str, must: &'static str) -> Result<T, LabelError> {
        self.read(name, must, |text| text.parse().ok())
    }

    /// Parses the value of an optional label.
    ///
    /// # Errors
    /// Its value is invalid.
    pub fn optional<T: FromStr>(&self, name: &'static str, must: &'static str) -> Result<Option<T>, LabelError> {
        self.get(name).map(|_| self.value(name, must)).transpose()
    }

    /// Parses the value of a label with `read`; otherwise like [`value`](Self::value).
    pub fn read<T>(
        &self,
        name: &'static str,
        must: &'static str,
        read: fn(&str) -> Option<T>,
    ) -> Result<T, LabelError> {
        let Some(text) = self.get(name) else {
            return Err(LabelError::Missing(self.missing(&[name])));
        };
        read(text.trim()).ok_or_else(|| LabelError::Value { name, value: text.to_owned(), must })
    }
}

/// Whether two values are equal as text or as numbers: `0.10` equals `0.1`.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    one == other || number(one).is_some_and(|one| number(other) == Some(one))
}
