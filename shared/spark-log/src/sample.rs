//! Converts a run to a timing sample.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use uuid::{Builder, Uuid};

use crate::application::TaskTotals;
use crate::outcome::Ending;
use crate::run::Run;
use foreglow_shared::{
    APPLICATION_UNITS, Configuration, CoreSplit, Engine, Host, LabelError, Labels, Mode, NO_IMAGE_PX, Outcome, SCHEMA,
    Sample, SampleError, TextInput, Workload, number, printable,
};

/// Labels that every sample of a CNN needs and Spark does not record.
const NEEDED: [&str; 7] = ["model", "mode", "image_px", "images", "batch_size", "partition_size", "sampling_rate"];

/// Why a run cannot become a timing sample.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSample {
    /// A label is missing or invalid.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The log has no executors.
    #[error("the log has no executor events; run it again")]
    NoExecutors,
    /// The log is of a streaming query and has no labels.
    #[error("it is of a streaming application, whose time is not that of a job; give the log of a batch application")]
    Stream,
    /// The log has no tasks and no labels, so that the work of the application is unknown.
    #[error("the log has no tasks, so the work of the application is unknown; give the log of one that ran a stage")]
    NoTasks,
    /// A value is out of range.
    #[error(transparent)]
    Sample(#[from] SampleError),
}

impl Run<'_> {
    /// Returns the timing sample of a run and remarks for the user. `given` supplies labels that
    /// the log lacks; `runner_version` is the version of the calling program. A run without the
    /// labels of a CNN is one of the whole application.
    ///
    /// # Errors
    /// Some of the labels of a CNN are in the log or in `given` and others in neither, the two
    /// contradict each other, or a value is out of range. Without labels: the application is a
    /// stream or ran no tasks.
    pub fn sample(&self, given: &Labels, runner_version: &str) -> Result<(Sample, Vec<String>), NoSample> {
        let labels = self.labels().with_flags(given)?;
        let application = if is_of_cnn(&labels) { None } else { Some(self.application_labels(&labels)?) };
        let unit = application.as_ref().map(|(_, unit)| *unit);
        let mut labels = match application {
            Some((of_application, _)) => labels.or(&of_application),
            None => labels,
        };
        let mut usual_memory = None;
        if unit.is_some() && self.application.executor_memory_mib().is_none() {
            usual_memory = Some(USUAL_MEMORY_MIB).filter(|_| labels.get(MEMORY).is_none());
            labels = labels.or(&of_pairs([(MEMORY, USUAL_MEMORY_MIB.to_string())]));
        }
        let mut missing = labels.missing(&NEEDED);
        if self.application.executor_memory_mib().is_none() {
            missing.extend(labels.missing(&[MEMORY]));
        }
        if labels.get("mode").is_none_or(|mode| mode != Mode::Inference.as_str()) {
            missing.extend(labels.missing(&["epochs"]));
        }
        if !missing.is_empty() {
            return Err(LabelError::Missing(missing).into());
        }
        let Ending { executors, cores_per_executor, outcome, reason, mut notes } =
            self.ending().ok_or(NoSample::NoExecutors)?;
        let text = |name: &str| labels.get(name).map(str::to_owned);
        let memory_per_executor_mib = self.memory_per_executor_mib(&labels, given)?;
        let workload = Workload { unit: unit.map(str::to_owned), ..workload(&labels)? };
        if let Some(unit) = unit {
            notes.push(format!(
                "it has no labels of a CNN, and counts as a run of the application {} with {} {unit}",
                workload.model, workload.images
            ));
        }
        if let Some(mib) = usual_memory {
            notes.push(format!(
                "the log has no spark.executor.memory, so that Spark's default of {mib} MiB is assumed; give another with --memory"
            ));
        }
        let completion_time_secs = Some(self.completion_time_secs()).filter(|secs| *secs > 0.0);
        let held = self.accelerators();
        if let Some((name, count @ 2..)) = held {
            notes.push(format!("each executor holds {count} of the resource {name}; costs count one per executor"));
        }
        if let (None, Some(name)) = (held, given.get("accelerator")) {
            notes.push(format!(
                "the log records no GPU of the executors; the sample has {name} because of --accelerator"
            ));
        }
        let resource = held.filter(|_| labels.get("accelerator").is_none()).map(|(name, count)| match count {
            1 => name.to_owned(),
            _ => format!("{count} {name}"),
        });
        if let Some(resource) = &resource {
            notes.push(format!(
                "the log names the executors' accelerator only as {resource}; give its name with --accelerator, such as \
                 --accelerator \"NVIDIA A10G\""
            ));
        }
        let simulated = unit.and_then(|_| self.slot_times().ok().flatten());
        let is_whole = self.shortfall().is_none() && self.unequal_executors().is_none();
        // The simulation sees lost executors, failed attempts, and executors that came and went.
        let (outcome, reason) = match reason {
            Some(reason) if simulated.is_some() && is_whole => {
                notes.push(reason);
                (Outcome::Completed, None)
            }
            reason => (outcome, reason),
        };
        let sample = Sample {
            schema: SCHEMA,
            id: text("run").and_then(|run| Uuid::parse_str(&run).ok()).unwrap_or_else(|| self.id()),
            workload,
            configuration: Configuration {
                accelerator: text("accelerator").or(resource),
                ..Configuration::new(
                    CoreSplit::even(executors, cores_per_executor),
                    memory_per_executor_mib,
                    labels.value("partition_size", COUNT)?,
                )
            },
            sampling_rate: labels.read("sampling_rate", "a share above 0 and at most 1", number)?,
            outcome,
            completion_time_secs,
            startup_secs: self.startup_secs(),
            predicted: None,
            // A file with control characters would not be read as text.
            reason: reason.map(|reason| printable(&reason)),
            engine: Engine::Spark,
            runner_version: text("runner_version").unwrap_or_else(|| runner_version.to_owned()),
            host: Host { cpu: text("cpu"), adapter: text("adapter"), ..Host::default() },
            started_at: jiff::Timestamp::from_millisecond(self.submitted_ms).unwrap_or_default(),
            seed: labels.optional("seed", "a whole number")?,
            images_processed: None,
            peak_memory_mib: None,
            exceeded_memory: None,
            progress: None,
            simulated,
            log_error: 0.0,
            extra: Map::from_iter([("spark".to_owned(), Value::Object(self.facts()))]),
        };
        sample.check()?;
        Ok((sample, notes))
    }

    /// Returns the amount of work and its unit: the bytes that the run reads from files, or else
    /// the rows, or else its tasks; `None` without any.
    pub fn work(&self) -> Option<(&'static str, u64)> {
        let stages = self.stages();
        let sum =
            |of: fn(&TaskTotals) -> u64| stages.values().map(|stage| of(&stage.totals)).fold(0, u64::saturating_add);
        let amounts = [
            sum(|totals| totals.read_bytes.unwrap_or(0)),
            sum(|totals| totals.read_rows.unwrap_or(0)),
            sum(|totals| totals.succeeded.into()),
        ];
        APPLICATION_UNITS.into_iter().zip(amounts).find(|(_, amount)| *amount > 0)
    }

    /// Returns the labels of a whole application that has none, and the unit of its
    /// [`work`](Self::work). `known` may name it.
    fn application_labels(&self, known: &Labels) -> Result<(Labels, &'static str), NoSample> {
        if self.jobs.iter().any(|(_, job)| job.is_of_stream) {
            return Err(NoSample::Stream);
        }
        let (unit, amount) = self.work().ok_or(NoSample::NoTasks)?;
        let application = self.application;
        let names = [known.get("model"), application.name.as_deref(), application.id.as_deref()];
        let name = names.into_iter().flatten().map(str::trim).find(|name| !name.is_empty()).unwrap_or("application");
        let labels = [
            ("model", printable(name)),
            ("mode", Mode::Inference.as_str().to_owned()),
            ("image_px", NO_IMAGE_PX.to_string()),
            ("images", amount.to_string()),
            ("batch_size", "1".to_owned()),
            ("partition_size", "1".to_owned()),
            ("sampling_rate", "1".to_owned()),
        ];
        Ok((of_pairs(labels), unit))
    }

    /// Returns the memory of an executor: from a label, from Spark's properties, or as given.
    /// `labels` has all labels, and `given` those that must agree with the log.
    fn memory_per_executor_mib(&self, labels: &Labels, given: &Labels) -> Result<u32, NoSample> {
        let in_log = match self.labels().get(MEMORY) {
            Some(_) => Some(self.labels().value(MEMORY, COUNT)?),
            None => self.application.executor_memory_mib().map(|mib| u32::try_from(mib).unwrap_or(u32::MAX)),
        };
        let given_mib = given.get(MEMORY).map(|_| given.value(MEMORY, COUNT)).transpose()?;
        match (in_log, given_mib) {
            (Some(log), Some(given)) if log != given => Err(NoSample::from(LabelError::Conflict {
                name: "spark.executor.memory",
                flag: "--memory",
                log: format!("{log} MiB"),
                given: format!("{given} MiB"),
            })),
            (Some(mib), _) | (None, Some(mib)) => Ok(mib),
            (None, None) => Ok(labels.value(MEMORY, COUNT)?),
        }
    }

    /// Returns Spark's name of a resource that the executors hold, usually `gpu`, and how many each
    /// holds. The log does not record the name of the hardware.
    fn accelerators(&self) -> Option<(&str, usize)> {
        let mut held = self.executors().flat_map(|executor| &executor.resources);
        held.find_map(|(name, addresses)| (!addresses.is_empty()).then_some((name.as_str(), addresses.len())))
    }

    /// Returns Spark's counts, for the field `spark` of the sample. Counts that the log lacks are
    /// omitted, and so are amounts of 0.
    pub fn facts(&self) -> Map<String, Value> {
        let application = self.application;
        let stages = self.stages();
        let machines = self.executors().map(|executor| &executor.host).collect::<BTreeSet<_>>().len();
        let totals = || stages.values().map(|stage| &stage.totals);
        let count = |of: fn(&TaskTotals) -> u32| totals().map(|totals| u64::from(of(totals))).sum::<u64>();
        // Exact up to 2^53, which is 104 days in nanoseconds.
        let secs = |of: fn(&TaskTotals) -> Option<u64>, a_second: f64| {
            totals().filter_map(of).reduce(u64::saturating_add).map(|sum| sum as f64 / a_second)
        };
        let sum = |of: fn(&TaskTotals) -> Option<u64>| {
            let sum = totals().filter_map(of).reduce(u64::saturating_add);
            sum.filter(|sum| *sum > 0).map(Value::from)
        };
        let facts = [
            ("application", application.id.clone().map(Value::from)),
            ("version", application.spark_version.clone().map(Value::from)),
            ("machines", (machines > 0).then(|| machines.into())),
            ("stages", Some(stages.len().into())),
            ("tasks", Some(count(|totals| totals.succeeded).into())),
            ("failed_tasks", Some(count(|totals| totals.failed).into())),
            ("killed_tasks", Some(count(|totals| totals.killed).into())),
            ("run_secs", secs(|totals| totals.run_ms, 1e3).map(Value::from)),
            ("cpu_secs", secs(|totals| totals.cpu_ns, 1e9).map(Value::from)),
            ("gc_secs", secs(|totals| totals.gc_ms, 1e3).map(Value::from)),
            ("read_bytes", sum(|totals| totals.read_bytes)),
            ("read_rows", sum(|totals| totals.read_rows)),
            ("spilled_bytes", sum(|totals| totals.spilled_bytes)),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Derives a UUID (version 7) that is the same every time the log is read.
    fn id(&self) -> Uuid {
        let application = self.application.id.iter().chain(&self.application.name);
        let jobs = self.jobs.iter().map(|(id, _)| id.to_string());
        let text: Vec<String> = application.cloned().chain(jobs).collect();
        // FNV-1a, 128 bits (Fowler, Noll, Vo).
        let hash = text.join("\n").bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        });
        let [chance @ .., _, _, _, _, _, _] = hash.to_le_bytes();
        Builder::from_unix_timestamp_millis(u64::try_from(self.submitted_ms).unwrap_or(0), &chance).into_uuid()
    }
}

const COUNT: &str = "a whole number, 1 or more";
const MEMORY: &str = "memory_per_executor_mib";
/// Spark's default of `spark.executor.memory`, MiB (Spark's documentation, "Configuration").
const USUAL_MEMORY_MIB: u32 = 1024;

/// Whether labels describe a CNN. The name alone may be that of any application.
fn is_of_cnn(labels: &Labels) -> bool {
    NEEDED.iter().chain(&["epochs"]).any(|name| *name != "model" && labels.get(name).is_some())
}

fn of_pairs<const N: usize>(pairs: [(&str, String); N]) -> Labels {
    let mut labels = Labels::default();
    pairs.into_iter().for_each(|(name, value)| labels.set(name, value));
    labels
}

fn workload(labels: &Labels) -> Result<Workload, LabelError> {
    let mode = match labels.get("mode") {
        Some("inference") => Mode::Inference,
        Some("training") => Mode::Training,
        other => {
            let value = other.unwrap_or_default().to_owned();
            return Err(LabelError::Value { name: "mode", value, must: "inference or training" });
        }
    };
    let text: Option<TextInput> = match labels.get("text") {
        None => None,
        Some(json) => Some(serde_json::from_str(json).map_err(|_| LabelError::Value {
            name: "text",
            value: json.to_owned(),
            must: "the field `text` of a workload, as JSON",
        })?),
    };
    let word = |name| labels.get(name).map(str::to_owned);
    let (image_px, images) = (labels.value("image_px", COUNT)?, labels.value("images", COUNT)?);
    let mut workload = Workload {
        epochs: labels.optional("epochs", COUNT)?.unwrap_or(1),
        batch_size: labels.value("batch_size", COUNT)?,
        average_every: labels.optional("average_every", COUNT)?,
        average_optimizer_state: labels.optional("average_optimizer_state", "true or false")?,
        classes: labels.optional("classes", COUNT)?,
        data: word("data"),
        data_fingerprint: word("data_fingerprint"),
        data_format: word("data_format"),
        data_items: labels.optional("data_items", COUNT)?,
        dtype: labels.optional("dtype", "f16 or bf16")?,
        interpolation: labels.optional("interpolation", "nearest, bicubic or lanczos")?,
        network: word("network"),
        network_fingerprint: word("network_fingerprint"),
        optimizer: word("optimizer"),
        resize: labels.optional("resize", "stretch")?,
        resize_px: labels.optional("resize_px", COUNT)?,
        share_size: labels.optional("share_size", COUNT)?,
        ..Workload::new(labels.value::<String>("model", "the name of a CNN")?, mode, image_px, images)
    };
    text.into_iter().for_each(|text| workload.set_text(text));
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_input_of_a_job_is_a_label() {
        let mut labels = Labels::default();
        let given =
            [("model", "text_cnn"), ("mode", "inference"), ("image_px", "1"), ("images", "9"), ("batch_size", "8")];
        given.into_iter().for_each(|(name, value)| labels.set(name, value));
        assert_eq!(workload(&labels).unwrap().text, None);
        let text = TextInput {
            words: 500,
            vector_dims: 50,
            vocabulary: Some(5000),
            vectors: Some("glove.txt".into()),
            ..TextInput::default()
        };
        labels.set("text", serde_json::to_string(&text).unwrap());
        assert_eq!(workload(&labels).unwrap().text, Some(text));
        labels.set("text", "500 words");
        let error = workload(&labels).unwrap_err().to_string();
        assert!(
            error.contains("the label text is \"500 words\"; it must be the field `text` of a workload"),
            "{error}"
        );
    }
}
