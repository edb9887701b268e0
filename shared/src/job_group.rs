//! Groups the measurements of one job over all configurations: machine types, engines, batches,
//! averaging intervals.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Context, Job, Sample, Workload, group_by_context};

/// Name of the field of a workload that the JSON of a definition lacks.
const BATCH_SIZE: &str = "batch_size";

/// Definition of a job, independent of the hardware that runs it: the workload without batch size
/// and averaging interval, which are configuration like all other fields of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct JobDefinition(Workload);

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
        Self(Workload { batch_size: 1, average_every: None, ..context.workload.clone() })
    }

    /// Returns the workload with a batch size and an averaging interval.
    pub fn workload(&self, batch_size: u32, average_every: Option<u32>) -> Workload {
        Workload { batch_size, average_every, ..self.0.clone() }
    }

    /// Returns the images that the whole job processes, over all epochs.
    pub fn images_processed(&self) -> f64 {
        self.images as f64 * f64::from(self.epochs)
    }

    /// Returns a one-line title: `resnet18 inference, 2000 images of 32 px`.
    pub fn title(&self) -> String {
        let mut title = format!("{}, {}", self.describe_job(), self.describe_data());
        if let Some(path) = self.data_path() {
            title.push_str(&format!(" from {path}"));
        }
        if self.epochs > 1 {
            title.push_str(&format!(", {} epochs", self.epochs));
        }
        crate::printable(&title)
    }
}

impl Deref for JobDefinition {
    type Target = Workload;

    fn deref(&self) -> &Workload {
        &self.0
    }
}

impl DerefMut for JobDefinition {
    fn deref_mut(&mut self) -> &mut Workload {
        &mut self.0
    }
}

impl From<JobDefinition> for Map<String, Value> {
    fn from(definition: JobDefinition) -> Self {
        match serde_json::to_value(definition.0) {
            Ok(Value::Object(mut fields)) => {
                fields.shift_remove(BATCH_SIZE);
                fields
            }
            _ => unreachable!("a workload is an object of strings and numbers"),
        }
    }
}

impl TryFrom<Map<String, Value>> for JobDefinition {
    type Error = serde_json::Error;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self, Self::Error> {
        fields.insert(BATCH_SIZE.to_owned(), 1.into());
        serde_json::from_value(Value::Object(fields)).map(Self)
    }
}

impl Context {
    /// Returns the machine type, or a description of the hardware if the type is unknown:
    /// `Some CPU, 4 processors`. Several machines and several accelerators per executor are part of
    /// the name, so that their times are not mixed with others.
    pub fn machine_name(&self) -> String {
        let counts = self.describe_machines();
        if let Some(machine) = &self.host.machine {
            return match self.host.describe_slow_cores() {
                Some(cores) => format!("{machine}, {cores}{counts}"),
                None => format!("{machine}{counts}"),
            };
        }
        let hardware = [&self.host.adapter, &self.accelerator, &self.host.cpu].into_iter().flatten().next();
        let mut name = hardware.cloned().unwrap_or_else(|| "unknown machine".to_owned());
        if let Some(processors) = self.host.processors {
            let cores = self.host.describe_slow_cores().unwrap_or_else(|| "processors".to_owned());
            name.push_str(&format!(", {processors} {cores}"));
        }
        name + &counts
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
    let own: Vec<Hardware> = own.iter().map(|job| job.context.hardware()).collect();
    let (beside, mut others): (Vec<&Job>, Vec<&Job>) =
        lenders.iter().partition(|job| own.contains(&job.context.hardware()));
    let beside: Vec<JobDefinition> = beside.iter().map(|job| JobDefinition::of(&job.context)).collect();
    others.retain(|job| job.context.host.machine.is_some() && beside.contains(&JobDefinition::of(&job.context)));
    others.sort_by_cached_key(|job| job.context.hardware());
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
        let (batch_size, average_every) = (job.context.workload.batch_size, job.context.workload.average_every);
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
    jobs.sort_by_cached_key(|job| job.context.key());
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
    groups.sort_by_cached_key(key);
    groups
}
