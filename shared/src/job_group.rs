//! Groups the measurements of one job over all configurations: machine types, engines, batches,
//! averaging intervals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::accuracy::AVERAGE_EVERY;
use crate::{Context, Job, Mode, Sample, Workload, group_by_context, sort_by};

/// Definition of a job, independent of the hardware that runs it. All other fields of a sample are
/// configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobDefinition {
    /// Name of the CNN.
    pub model: String,
    /// Inference or training.
    pub mode: Mode,
    /// Side of the square input image, pixels.
    pub image_px: u32,
    /// Number of images of the whole job.
    pub images: u64,
    /// Passes over the images.
    pub epochs: u32,
    /// Further fields of the workload, such as the data set.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The measurements of one job on all configurations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobGroup {
    /// The job.
    pub definition: JobDefinition,
    /// Its measurements, one [`Job`] for each context.
    pub jobs: Vec<Job>,
    /// Measurements of other jobs of the same mode, which show how machine types differ.
    pub lenders: Vec<Job>,
}

impl JobDefinition {
    /// Returns the job of a context.
    pub fn of(context: &Context) -> Self {
        let Workload { model, mode, image_px, images, epochs, batch_size: _, mut extra } = context.workload.clone();
        extra.remove(AVERAGE_EVERY);
        Self { model, mode, image_px, images, epochs, extra }
    }

    /// Returns the images that the whole job processes, over all epochs.
    pub fn images_processed(&self) -> f64 {
        self.images as f64 * f64::from(self.epochs)
    }

    /// Returns a one-line title: `resnet18 inference, 2000 images of 32 px`.
    pub fn title(&self) -> String {
        let Self { model, mode, image_px, images, epochs, extra } = self.clone();
        let workload = Workload { model, mode, image_px, images, epochs, batch_size: 1, extra };
        let mut title = format!("{} {}, {}", workload.model, mode.as_str(), workload.describe_data());
        if let Some(path) = workload.data_path() {
            title.push_str(&format!(" from {path}"));
        }
        if epochs > 1 {
            title.push_str(&format!(", {epochs} epochs"));
        }
        crate::printable(&title)
    }
}

impl Context {
    /// Returns the machine type, or a description of the hardware if the type is unknown:
    /// `Some CPU, 4 processors`.
    pub fn machine_name(&self) -> String {
        if let Some(machine) = &self.host.machine {
            return match self.host.describe_slow_cores() {
                Some(cores) => format!("{machine}, {cores}"),
                None => machine.clone(),
            };
        }
        let hardware = [&self.host.adapter, &self.accelerator, &self.host.cpu].into_iter().flatten().next();
        let mut name = hardware.cloned().unwrap_or_else(|| "unknown machine".to_owned());
        if let Some(processors) = self.host.processors {
            let cores = self.host.describe_slow_cores().unwrap_or_else(|| "processors".to_owned());
            name.push_str(&format!(", {processors} {cores}"));
        }
        name
    }
}

/// Machine type, engine and accelerator, and whether executors share accelerators.
pub type Hardware = (String, &'static str, Option<String>, bool);

impl Context {
    /// Returns the hardware that runs the executors.
    pub fn hardware(&self) -> Hardware {
        (self.machine_name(), self.engine.as_str(), self.accelerator.clone(), self.shares_accelerators)
    }
}

impl JobGroup {
    /// Returns a job of another CNN for each named machine type, with its engine and accelerator,
    /// on which this job never ran. The other CNN also ran on the hardware of this job, so the
    /// ratio of its times shows how the machine types differ.
    pub fn other_machines(&self) -> Vec<&Job> {
        let own: Vec<&Job> = self.jobs.iter().filter(|job| !job.observations.is_empty()).collect();
        other_machines(&own, &self.lenders.iter().collect::<Vec<_>>())
    }
}

fn other_machines<'a>(own: &[&Job], lenders: &[&'a Job]) -> Vec<&'a Job> {
    // Sets would instantiate a sort of their own, and there are few kinds of hardware.
    let own: Vec<Hardware> = own.iter().map(|job| job.context.hardware()).collect();
    let (beside, mut others): (Vec<&Job>, Vec<&Job>) =
        lenders.iter().partition(|job| own.contains(&job.context.hardware()));
    let beside: Vec<JobDefinition> = beside.iter().map(|job| JobDefinition::of(&job.context)).collect();
    others.retain(|job| job.context.host.machine.is_some() && beside.contains(&JobDefinition::of(&job.context)));
    sort_by(&mut others, |a, b| a.context.hardware().cmp(&b.context.hardware()));
    others.dedup_by_key(|job| job.context.hardware());
    others
}

/// Returns the number of measured combinations of machine type, batch size, averaging interval and
/// partition size for the job of a context, and the number of further machine types on which other
/// CNNs allow a prediction.
pub fn measured_choices(jobs: &[Job], context: &Context) -> usize {
    let definition = JobDefinition::of(context);
    let has_times = |job: &&Job| job.context.workload.mode == definition.mode && !job.observations.is_empty();
    let (own, lenders): (Vec<&Job>, Vec<&Job>) =
        jobs.iter().filter(has_times).partition(|job| JobDefinition::of(&job.context) == definition);
    let mut choices: Vec<(String, u32, Option<u32>, u32)> = Vec::new();
    for job in &own {
        let machine = job.context.machine_name();
        let (batch_size, average_every) = (job.context.workload.batch_size, job.context.workload.average_every());
        for run in &job.observations {
            let choice = (machine.clone(), batch_size, average_every, run.partition_size);
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
    }
    choices.len() + other_machines(&own, &lenders).len()
}

/// Groups samples by job. The result does not depend on the order of the samples.
pub fn group_by_definition(samples: &[Sample]) -> Vec<JobGroup> {
    group_jobs(group_by_context(samples))
}

/// Groups measurements, one [`Job`] for each context, by job definition. The result does not depend
/// on their order.
pub fn group_jobs(mut jobs: Vec<Job>) -> Vec<JobGroup> {
    sort_by(&mut jobs, |a, b| a.context.key().cmp(&b.context.key()));
    let mut groups: Vec<JobGroup> = Vec::new();
    for job in &jobs {
        let definition = JobDefinition::of(&job.context);
        match groups.iter_mut().find(|group| group.definition == definition) {
            Some(group) => group.jobs.push(job.clone()),
            None => groups.push(JobGroup { definition, jobs: vec![job.clone()], lenders: Vec::new() }),
        }
    }
    for group in &mut groups {
        let is_other = |job: &&Job| {
            job.context.workload.mode == group.definition.mode
                && JobDefinition::of(&job.context) != group.definition
                && !job.observations.is_empty()
        };
        group.lenders = jobs.iter().filter(is_other).cloned().collect();
    }
    let key = |group: &JobGroup| serde_json::to_string(&group.definition).unwrap_or_default();
    sort_by(&mut groups, |a, b| key(a).cmp(&key(b)));
    groups
}
