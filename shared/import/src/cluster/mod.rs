//! Finished jobs of a cluster: the records of Slurm and Kubernetes.

mod kubernetes;
mod operators;
mod slurm;

use std::collections::{BTreeMap, BTreeSet};

use foreglow_shared::{Labels, MachineType, Mode, Outcome, Sample, Timestamp, Uuid, parse_line, printable};

pub use self::kubernetes::{KUBERNETES_LABEL, Kubernetes};
pub use self::slurm::{SLURM_NAME, Slurm};
use crate::identity::run_id;
use crate::{Given, Import, ImportError};

/// Values that a cluster does not record.
const NEEDED: [(&str, &str); 6] = [
    ("model", "--model"),
    ("mode", "--mode"),
    ("image_px", "--image-px"),
    ("images", "--images"),
    ("batch_size", "--batch-size"),
    ("partition_size", "--partition-size"),
];

/// Reason why a job run by Foreglow is omitted: the cluster counts its executors as one task.
const OWN_RUN: &str = "ran `foreglow collect`, which recorded its samples itself: they are in the collector, or in the \
                       store of its machine";

const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

/// The jobs of a file.
#[derive(Debug, Default)]
struct Records {
    jobs: Vec<Finished>,
    /// Remarks, and the reasons why other jobs are left out.
    notes: Vec<String>,
}

/// A finished job.
#[derive(Clone, Debug, PartialEq)]
struct Finished {
    /// Name for messages.
    name: String,
    /// Unique identity of the job.
    identity: String,
    outcome: Outcome,
    reason: Option<String>,
    secs: f64,
    started_at: Timestamp,
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: Option<u32>,
    /// The cluster's name of the field with the memory.
    memory_field: &'static str,
    /// GPUs of each executor; 0 if the executors share GPUs, or have none.
    gpus_per_executor: u32,
    /// Nodes, if the cluster records them.
    nodes: Option<u32>,
    has_gpu: bool,
    /// The cluster's name of the type of GPU.
    gpu_type: Option<String>,
    /// Whether there were fewer GPUs than executors.
    shares_gpus: bool,
    machine: Option<String>,
}

impl Records {
    /// Returns the jobs as samples; `given` has the values that a cluster does not record.
    fn samples(self, given: &Given) -> Result<Import, ImportError> {
        let Self { mut jobs, mut notes } = self;
        if jobs.is_empty() {
            return Err(match notes.as_slice() {
                [] => refused("it lists no jobs; write it again after a job has finished"),
                notes => none_usable(notes),
            });
        }
        check_labels(&given.labels)?;
        notes.extend(without_gpu(&jobs, &given.labels));
        let mut seen = BTreeSet::new();
        jobs.retain(|job| {
            let is_new = seen.insert(job.id());
            if !is_new {
                notes.push(format!("{} is listed twice, and imported once", job.name));
            }
            is_new
        });
        let names = || jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
        let labels = given.labels_of_runs(jobs.len(), || format!("{} finished jobs: {}", jobs.len(), names()))?;
        if given.sampling_rates.is_empty() {
            notes.push(
                "without --sampling-rate every job counts as a run on all images, with sampling rate 1".to_owned(),
            );
        }
        let (mut samples, mut rated) = (Vec::new(), BTreeMap::new());
        for (job, labels) in jobs.iter().zip(&labels) {
            match job.sample(labels, given) {
                Ok(sample) => {
                    if labels.get("sampling_rate").is_some() && sample.outcome != Outcome::Failed {
                        rated.insert(sample.id, None);
                    }
                    samples.push(sample);
                }
                Err(reason) => notes.push(format!("{} is left out: {reason}", job.name)),
            }
        }
        if samples.is_empty() {
            return Err(none_usable(&notes));
        }
        Ok(Import { samples, notes, rated, ..Import::default() })
    }
}

fn none_usable(notes: &[String]) -> ImportError {
    refused(format!("no finished job can be used; {}", notes.join("; ")))
}

fn refused(sentence: impl Into<String>) -> ImportError {
    ImportError::Records(sentence.into())
}

/// Fails with the options that are missing.
fn check_labels(labels: &Labels) -> Result<(), ImportError> {
    let missing = |(name, _): &&(&str, &str)| labels.get(name).is_none();
    let mut flags: Vec<&str> = NEEDED.iter().filter(missing).map(|(_, flag)| *flag).collect();
    let lacks_epochs = labels.get("epochs").is_none();
    let mut more = "";
    match labels.get("mode") {
        None if lacks_epochs => more = ", and --epochs too for training",
        Some(mode) if mode.trim() == Mode::Training.as_str() && lacks_epochs => flags.push("--epochs"),
        _ => {}
    }
    if flags.is_empty() {
        return Ok(());
    }
    Err(refused(format!("a cluster does not record the job; give {}{more}", flags.join(", "))))
}

/// Returns a remark about the jobs without a GPU, if the user named one.
fn without_gpu(jobs: &[Finished], labels: &Labels) -> Option<String> {
    let accelerator = labels.get("accelerator")?;
    let names: Vec<&str> = jobs.iter().filter(|job| !job.has_gpu).map(|job| job.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "no GPU is recorded for {}, so that {accelerator} is not recorded there; Slurm records GPUs with \
             AccountingStorageTRES=gres/gpu",
            names.join(", ")
        )
    })
}

/// Whether the user's name of a GPU may be that of the cluster: `a100` and `NVIDIA A100 40GB`. A
/// cluster's name without a model, such as `tesla`, may be any GPU.
fn may_be(cluster: &str, user: &str) -> bool {
    let is_separator = |letter: char| !letter.is_ascii_alphanumeric();
    let is_model = |word: &&str| {
        let letters = word.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
        (1..=3).contains(&letters) && !word.starts_with("gpu")
    };
    let (cluster, user) = (cluster.to_ascii_lowercase(), user.to_ascii_lowercase().replace(is_separator, ""));
    cluster.split(is_separator).find(is_model).is_none_or(|model| user.contains(model))
}

impl Finished {
    fn sample(&self, labels: &Labels, given: &Given) -> Result<Sample, String> {
        let label = |name: &str| labels.get(name).map(str::trim);
        let number = |name: &str| label(name).and_then(|text| text.parse::<u64>().ok());
        let memory = self.memory(number("memory_per_executor_mib"))?;
        let accelerator = label("accelerator").filter(|_| self.has_gpu);
        match (accelerator, &self.gpu_type) {
            (None, _) if self.has_gpu => {
                return Err("it had a GPU, whose name is unknown; give --accelerator".to_owned());
            }
            (Some(name), Some(recorded)) if !may_be(recorded, name) => {
                return Err(format!("its GPU is recorded as {recorded}, but --accelerator says {name:?}"));
            }
            _ => {}
        }
        let mut sample = given.labelled(labels);
        sample["id"] = self.id().to_string().into();
        sample["sampling_rate"] = label("sampling_rate").and_then(foreglow_shared::number).unwrap_or(1.0).into();
        sample["outcome"] = self.outcome.as_str().into();
        sample["completion_time_secs"] = self.secs.into();
        sample["started_at"] = self.started_at.to_string().into();
        let configuration = &mut sample["configuration"];
        configuration["executors"] = self.executors.into();
        configuration["cores_per_executor"] = self.cores_per_executor.into();
        configuration["memory_per_executor_mib"] = memory.into();
        configuration["accelerator"] = accelerator.into();
        configuration["shares_accelerators"] = self.shares_gpus.into();
        for (field, count) in
            [("accelerators_per_executor", self.gpus_per_executor), ("machines", self.nodes.unwrap_or(1))]
        {
            if count > 1 {
                configuration[field] = count.into();
            }
        }
        if let Some(machine) = self.machine.as_ref().filter(|machine| MachineType::is_name(machine)) {
            sample["host"]["machine"] = machine.as_str().into();
        }
        if let Some(reason) = &self.reason {
            // A file with control characters would not be read as text.
            sample["reason"] = printable(reason).into();
        }
        parse_line(&sample.to_string()).map_err(|error| error.to_string())
    }

    /// Returns the memory of an executor, MiB, as recorded or given.
    fn memory(&self, given: Option<u64>) -> Result<u64, String> {
        let field = self.memory_field;
        match (self.memory_per_executor_mib.map(u64::from), given) {
            (Some(recorded), Some(given)) if recorded != given => {
                Err(format!("each executor has {recorded} MiB ({field}), but --memory says {given} MiB; omit --memory"))
            }
            (Some(mib), _) | (None, Some(mib)) => Ok(mib),
            (None, None) => Err(format!("it has no memory ({field}); give --memory")),
        }
    }

    /// Derives a UUID (version 7) that is the same every time the job is imported.
    fn id(&self) -> Uuid {
        run_id(&self.identity, self.started_at)
    }
}

/// Splits a quantity such as `4G` into its number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (value, unit) = text.split_at(split);
    Some((value.parse().ok()?, unit))
}

/// Returns a quantity in MiB, rounded down; `unit_bytes` gives the bytes of a unit, which differ
/// between Slurm and Kubernetes.
fn mebibytes(text: &str, unit_bytes: fn(&str) -> Option<f64>) -> Option<u32> {
    let (value, unit) = quantity(text)?;
    let mib = value * unit_bytes(unit)? / BYTES_PER_MIB;
    (1.0..=f64::from(u32::MAX)).contains(&mib).then_some(mib as u32)
}

#[cfg(test)]
mod tests {
    use super::may_be;

    #[test]
    fn a_gpu_may_have_another_name_but_not_another_model() {
        for (cluster, user) in [
            ("a100", "NVIDIA A100-SXM4-40GB"),
            ("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti"),
            ("nvidia-tesla-t4", "Tesla T4"),
            ("tesla", "NVIDIA V100"),
            ("gpu1", "NVIDIA V100"),
        ] {
            assert!(may_be(cluster, user), "{cluster}, {user}");
        }
        for (cluster, user) in [("a100", "NVIDIA A10G"), ("NVIDIA-A100-SXM4-40GB", "NVIDIA H100"), ("v100", "gpu")] {
            assert!(!may_be(cluster, user), "{cluster}, {user}");
        }
    }
}
