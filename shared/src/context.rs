//! Properties that samples must have in common to be comparable.

use serde::{Deserialize, Serialize};

use crate::{
    Configuration, Engine, Fingerprint, Fit, Host, Interpolation, NumberFormat, Resizing, Sample, Workload, printable,
};

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
        };
        for extra in [&mut context.workload.extra, &mut context.host.extra] {
            extra.sort_keys();
            extra.values_mut().for_each(serde_json::Value::sort_all_objects);
        }
        context
    }

    /// Returns the number of accelerators that all executors share; `None` if each holds its own,
    /// or if the number is unknown, as on a cluster.
    pub fn shared_accelerators(&self) -> Option<u32> {
        let count = u32::try_from(self.host.accelerators.len()).ok()?;
        (self.shares_accelerators && self.engine == Engine::Local && count > 0).then_some(count)
    }

    /// Returns a one-line title:
    /// `resnet18 inference, 2000 images of 32 px, batch 8, local, Some CPU`.
    pub fn title(&self) -> String {
        let Workload { model, mode, epochs, batch_size, .. } = &self.workload;
        let mut title = format!("{model} {}, {}", mode.as_str(), self.workload.describe_data());
        if let Some(path) = self.workload.data_path() {
            title.push_str(&format!(" from {path}"));
        }
        if let Some(classes) = self.workload.classes() {
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
        title.push_str(&format!(", batch {batch_size}"));
        if self.workload.number_format() != NumberFormat::F32 {
            title.push_str(&format!(", {}", self.workload.number_format()));
        }
        if *epochs > 1 {
            title.push_str(&format!(", {epochs} epochs"));
        }
        if let Some(every) = self.workload.average_every().filter(|every| *every > 1) {
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
        printable(&title)
    }

    /// Returns 16 hexadecimal digits that identify the context: the 64-bit FNV-1a hash of its JSON.
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(self.key().as_bytes());
        fingerprint.to_string()
    }

    /// Returns a key by which contexts are grouped and sorted: their JSON.
    pub(crate) fn key(&self) -> String {
        serde_json::to_string(self).expect("a context holds only strings, numbers and maps with string keys")
    }
}
