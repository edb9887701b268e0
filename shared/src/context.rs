//! Properties that samples must have in common to be comparable.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Configuration, CoreSplit, Engine, Fingerprint, Fit, Host, Interpolation, NumberFormat, Resizing, Sample, Workload,
    printable, sort_by,
};

/// Fields that every workload has; they come first in its JSON.
const REQUIRED_FIELDS: usize = 6;

/// Everything besides the features that must be equal for two completion times to be comparable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The CNN job.
    pub workload: Workload,
    /// The engine that ran the executors.
    pub engine: Engine,
    /// The machine that ran the job.
    pub host: Host,
    /// Accelerator of each executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<String>,
    /// Whether executors may share an accelerator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_accelerators: bool,
    /// Accelerators that each executor holds, from 2; `None` for one, or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerators_per_executor: Option<u32>,
    /// Machines (nodes) that the executors ran on, from 2; `None` for one, or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
}

impl Context {
    /// Returns the context of a sample.
    pub fn of(sample: &Sample) -> Self {
        Self::new(sample.workload.clone(), &sample.configuration, sample.engine, &sample.host)
    }

    /// Returns the context of runs. Unknown fields are sorted by name, because the order in which a
    /// tool writes them must not make contexts differ.
    pub fn new(workload: Workload, configuration: &Configuration, engine: Engine, host: &Host) -> Self {
        let mut context = Self {
            workload,
            engine,
            host: host.without_addresses(),
            accelerator: configuration.accelerator.clone(),
            shares_accelerators: configuration.shares_accelerators,
            accelerators_per_executor: configuration.accelerators_per_executor.filter(|count| *count > 1),
            machines: configuration.machines.filter(|count| *count > 1),
        };
        let of_text = context.workload.text.as_mut().map(|text| &mut text.extra);
        for extra in [&mut context.workload.extra, &mut context.host.extra].into_iter().chain(of_text) {
            extra.sort_keys();
            extra.values_mut().for_each(Value::sort_all_objects);
        }
        context
    }

    /// Returns the context of a job with other numbers of images and epochs.
    pub fn with_size(&self, images: u64, epochs: u32) -> Self {
        Self { workload: Workload { images, epochs, ..self.workload.clone() }, ..self.clone() }
    }

    /// Whether two contexts differ at most in their numbers of images and epochs.
    pub fn is_same_but_for_size(&self, other: &Self) -> bool {
        self.with_size(other.workload.images, other.workload.epochs) == *other
    }

    /// Returns the number of accelerators that all executors share; `None` if each holds its own,
    /// or if the number is unknown, as on a cluster.
    pub fn shared_accelerators(&self) -> Option<u32> {
        let count = u32::try_from(self.host.accelerators.len()).ok()?;
        (self.shares_accelerators && self.engine.is_on_one_machine() && count > 0).then_some(count)
    }

    /// Returns a configuration on the hardware of this context.
    pub fn configuration(&self, split: CoreSplit, memory_per_executor_mib: u32, partition_size: u32) -> Configuration {
        Configuration {
            accelerator: self.accelerator.clone(),
            shares_accelerators: self.shares_accelerators,
            accelerators_per_executor: self.accelerators_per_executor,
            machines: self.machines,
            ..Configuration::new(split, memory_per_executor_mib, partition_size)
        }
    }

    /// Returns a one-line title:
    /// `resnet18 inference, 2000 images of 32 px, batch 8, local, Some CPU`.
    pub fn title(&self) -> String {
        let Workload { epochs, batch_size, .. } = &self.workload;
        let mut title = format!("{}, {}", self.workload.describe_job(), self.workload.describe_data());
        if let Some(path) = self.workload.data_path() {
            title.push_str(&format!(" from {path}"));
        }
        if let Some(classes) = self.workload.classes {
            title.push_str(&format!(", {classes} classes"));
        }
        let Resizing { fit, resize_px, interpolation } = self.workload.resizing();
        if fit == Fit::Stretch {
            title.push_str(", stretched");
        }
        if let Some(px) = resize_px {
            title.push_str(&format!(", cut from {px} px"));
        }
        if interpolation != Interpolation::default() {
            title.push_str(&format!(", {interpolation}"));
        }
        // A program need not have batches.
        if self.workload.command.is_none() || *batch_size > 1 {
            title.push_str(&format!(", batch {batch_size}"));
        }
        if self.workload.number_format() != NumberFormat::F32 {
            title.push_str(&format!(", {}", self.workload.number_format()));
        }
        if *epochs > 1 {
            title.push_str(&format!(", {epochs} epochs"));
        }
        if let Some(every) = self.workload.average_every.filter(|every| *every > 1) {
            title.push_str(&format!(", averaged every {every} mini-batches"));
        }
        title.push_str(&format!(", {}", self.engine.as_str()));
        if let Some(machine) = &self.host.machine {
            title.push_str(&format!(", {machine}"));
        }
        for part in [&self.host.adapter, &self.accelerator, &self.host.cpu].into_iter().flatten().take(1) {
            title.push_str(&format!(", {part}"));
        }
        if let Some(cores) = self.host.describe_slow_cores() {
            title.push_str(&format!(", {cores}"));
        }
        if self.host.accelerators.len() > 1 {
            title.push_str(&format!(" × {}", self.host.accelerators.len()));
        }
        if self.shares_accelerators {
            title.push_str(", shared");
        }
        title.push_str(&self.describe_machines());
        printable(&title)
    }

    /// Returns 16 hexadecimal digits that identify the context: the 64-bit FNV-1a hash of its JSON.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(self.key().as_bytes());
        fingerprint.to_string()
    }

    /// Describes the machines and the accelerators of an executor if there are several: `, 8
    /// accelerators per executor, 2 machines`.
    pub(crate) fn describe_machines(&self) -> String {
        let counts = [(self.accelerators_per_executor, "accelerators per executor"), (self.machines, "machines")];
        counts.iter().filter_map(|(count, what)| Some(format!(", {} {what}", (*count)?))).collect()
    }

    /// Returns a key by which contexts are grouped and sorted: their JSON. Optional and unknown
    /// fields of the workload are sorted together, as in earlier versions.
    pub fn key(&self) -> String {
        let invariant = "a context holds only strings, numbers and maps with string keys";
        if self.workload.extra.is_empty() {
            return serde_json::to_string(self).expect(invariant);
        }
        let mut context = serde_json::to_value(self).expect(invariant);
        if let Some(Value::Object(workload)) = context.get_mut("workload") {
            let mut fields: Vec<(String, Value)> = std::mem::take(workload).into_iter().collect();
            sort_by(&mut fields[REQUIRED_FIELDS..], |(one, _), (other, _)| one.cmp(other));
            *workload = fields.into_iter().collect();
        }
        context.to_string()
    }
}
