//! Groups the measurements of one job over all configurations: machine types, engines, batches,
//! averaging intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Context, Job, Sample, Workload, distinct, group_by_context, sort_by_cached_key};

/// Name of the field of a workload that the JSON of a definition lacks.
const BATCH_SIZE: &str = "batch_size";

/// Definition of a job, independent of the hardware that runs it: the workload without batch size
/// and averaging interval, which are configuration like all other fields of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct JobDefinition(Workload);

/// The measurements of one job on all configurations, of all sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct JobGroup {
    /// The job, with the images and epochs that are asked about.
    pub definition: JobDefinition,
    /// Its measurements, one [`Job`] for each context.
    pub jobs: Vec<Job>,
    /// Measurements of other jobs of the same mode, which show how machine types differ. Groups
    /// share them.
    pub lenders: Vec<Arc<Job>>,
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

    /// Whether this is the same job, perhaps with another number of images or epochs, which are
    /// amounts of the work.
    pub fn is_same_job(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Returns a text that is equal for the same job of any size: its JSON, with sorted fields.
    fn key(&self) -> String {
        let any_size = Workload { images: 1, epochs: 1, ..self.0.clone() };
        let mut json = serde_json::to_value(any_size).expect("a workload is an object of strings and numbers");
        json.sort_all_objects();
        json.to_string()
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
        other_machines(&own, &self.lenders.iter().map(Arc::as_ref).collect::<Vec<_>>())
    }
}

fn other_machines<'a>(own: &[&Job], lenders: &[&'a Job]) -> Vec<&'a Job> {
    let own = distinct(own.iter().map(|job| job.context.hardware()));
    let key = |job: &Job| JobDefinition::of(&job.context).key();
    let (beside, mut others): (Vec<&Job>, Vec<&Job>) =
        lenders.iter().partition(|job| own.contains(&job.context.hardware()));
    let beside = distinct(beside.into_iter().map(key));
    others.retain(|job| job.context.host.machine.is_some() && beside.binary_search(&key(job)).is_ok());
    sort_by_cached_key(&mut others, |job| job.context.hardware());
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
        jobs.iter().filter(has_times).partition(|job| JobDefinition::of(&job.context).is_same_job(&definition));
    let mut choices: BTreeSet<(String, u32, Option<u32>, u32)> = BTreeSet::new();
    for job in &own {
        let machine = job.context.machine_name();
        let (batch_size, average_every) = (job.context.workload.batch_size, job.context.workload.average_every);
        for run in &job.observations {
            choices.insert((machine.clone(), batch_size, average_every, run.partition_size));
        }
    }
    choices.len() + other_machines(&own, &lenders).len()
}

/// Groups samples by job, as [`group_jobs`] does.
pub fn group_by_definition(samples: &[Sample]) -> Vec<JobGroup> {
    group_jobs(group_by_context(samples))
}

/// Groups measurements, one [`Job`] for each context, by job. A group has the size of its largest
/// job, of those with a completed run if there is one. The result does not depend on the order of
/// the measurements.
pub fn group_jobs(mut jobs: Vec<Job>) -> Vec<JobGroup> {
    sort_by_cached_key(&mut jobs, |job| job.context.key());
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<JobGroup> = Vec::new();
    let mut lenders: Vec<(usize, Arc<Job>)> = Vec::new();
    for job in jobs {
        let definition = JobDefinition::of(&job.context);
        let place = *places.entry(definition.key()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(JobGroup { definition, jobs: Vec::new(), lenders: Vec::new() });
        }
        if !job.observations.is_empty() {
            lenders.push((place, Arc::new(job.clone())));
        }
        groups[place].jobs.push(job);
    }
    for (place, group) in groups.iter_mut().enumerate() {
        if let Some(largest) = Job::largest(&group.jobs) {
            group.definition = JobDefinition::of(&largest.context);
        }
        let mode = group.definition.mode;
        let others = lenders.iter().filter(|(own, job)| *own != place && job.context.workload.mode == mode);
        group.lenders = others.map(|(_, job)| Arc::clone(job)).collect();
    }
    let key = |group: &JobGroup| serde_json::to_string(&group.definition).unwrap_or_default();
    sort_by_cached_key(&mut groups, key);
    groups
}
