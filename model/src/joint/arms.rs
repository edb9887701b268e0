//! Arms: the choices of a user besides executors and cores.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreglow_shared::{
    Context, Engine, Hardware, IncompleteOutcome, IncompleteRun, Job, JobGroup, Observation, TrainedAccuracy, Workload,
    distinct, sort_by,
};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::memory::is_out_of_memory;
use crate::public::{PublicArm, PublicTimes};
use crate::runs::Items;
use crate::{Accuracy, FitError, Predictor};

/// A machine type with its engine, accelerator, batch size and averaging interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Name of the machine type, or a description of the hardware.
    pub machine: String,
    /// Whether the samples name the machine type.
    pub is_named: bool,
    /// The engine that runs the executors.
    pub engine: Engine,
    /// Accelerator of each executor; `None` on CPUs.
    pub accelerator: Option<String>,
    /// Whether executors may share an accelerator.
    pub shares_accelerators: bool,
    /// Hardware threads of the machine that was measured; `None` if unknown.
    pub processors: Option<u32>,
    /// Accelerators of the machine that was measured, if each executor holds one; `None` if their
    /// number is unknown or does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerators: Option<u32>,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages of the executors; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_every: Option<u32>,
    /// Images of one task, P. The most frequent size comes first, then the other measured ones.
    pub partition_size: u32,
    /// Completed runs of the arm.
    pub runs: usize,
    /// The runs from which the arm's times are predicted.
    pub basis: Basis,
    /// The runs from which memory and partition size are taken.
    pub sizes_from: SizesFrom,
}

/// Settings, besides the number of executors, that influence the trained CNN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Learning {
    batch_size: u32,
    average_every: Option<u32>,
}

impl Learning {
    fn of(job: &Job) -> Self {
        let workload = &job.context.workload;
        Self { batch_size: workload.batch_size, average_every: workload.average_every }
    }

    fn write(self, workload: &mut Workload) {
        workload.batch_size = self.batch_size;
        workload.average_every = self.average_every.or(workload.average_every);
    }
}

/// The runs from which the memory of an executor and the images of one task are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizesFrom {
    /// The sizes of the arm.
    Own,
    /// The sizes of the batch size on other machine types with the same kind of device.
    OtherMachines,
    /// Sizes of other batch sizes or of the other kind of device; the memory that an executor needs
    /// on this arm is unknown.
    OtherDevices,
}

/// The runs from which the times of an arm are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Only from runs of the arm.
    Own,
    /// From few runs of the arm, or none, and from runs of other arms.
    Borrowed,
    /// From runs with smaller and with larger batches, because no run had this batch size.
    Interpolated,
    /// From runs of other CNNs on this machine type, because the job never ran on it.
    OtherCnns,
    /// From the costs of the layers and the runs of other CNNs, because the CNN never ran.
    Layers,
    /// From public measurements of the runs of others, because the job never ran, or not on this
    /// machine type.
    Public,
    /// From the simulation of event logs of the job, and their spread.
    Simulated,
    /// Too little was measured for a prediction.
    Unknown,
}

impl Basis {
    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Borrowed => "borrowed",
            Self::Interpolated => "interpolated",
            Self::OtherCnns => "other_cnns",
            Self::Layers => "layers",
            Self::Public => "public",
            Self::Simulated => "simulated",
            Self::Unknown => "unknown",
        }
    }

    /// Describes the runs from which the times are predicted, unless these are the arm's own: `few
    /// runs and other machines`.
    pub fn borrowed_from(self) -> Option<&'static str> {
        match self {
            Self::Own | Self::Unknown => None,
            Self::Borrowed => Some("few runs and other machines"),
            Self::Interpolated => Some("other batch sizes"),
            Self::OtherCnns => Some("other CNNs there"),
            Self::Layers => Some("the costs of its layers"),
            Self::Public => Some("public measurements"),
            Self::Simulated => Some("simulation of event logs"),
        }
    }
}

/// Memory of the host for each GPU of a job that never ran there, MiB.
const PUBLIC_MEMORY_MIB: u32 = 4096;

/// An arm with its measurements.
#[derive(Clone, Debug)]
pub(crate) struct FittedArm {
    /// Measurements. Sampling rates are shares of the largest number of images of a run or of the
    /// question.
    pub(crate) job: Arc<Job>,
    /// The sampling rate of the whole job.
    pub(crate) whole_job: f64,
    /// Peaks, out-of-memory runs and completed runs of all arms with this batch size and kind of
    /// device, because the memory that an executor needs does not depend on the machine type.
    pub(crate) memory: Arc<Job>,
    pub(crate) partition_size: u32,
    pub(crate) memory_per_executor_mib: u32,
    pub(super) sizes_from: SizesFrom,
    pub(crate) own: Option<Arc<Predictor>>,
    /// Why the arm's own runs could not be fitted.
    pub(crate) unfit: Option<FitError>,
    /// The features of `own`, with the partition size that it assumes.
    pub(super) items: Option<Items>,
    /// The measured accuracies by number of executors, ascending, from all machine types, because
    /// the machine type does not influence the trained CNN.
    pub(crate) accuracies: Vec<(u32, Accuracy)>,
    /// Whether the runs do not show the effect of the requested partition size on the time.
    pub(crate) is_size_unknown: bool,
    /// Whether only other CNNs ran on the hardware.
    pub(super) is_lent: bool,
    /// Whether no run had the batch size.
    pub(super) is_interpolated: bool,
    /// Whether all runs on the hardware ran out of memory, so that it has no times.
    pub(crate) has_only_exceeded: bool,
    /// Whether the partition or batch size is unusual. Then only configurations whose memory was
    /// measured are offered.
    pub(crate) must_be_shown_to_fit: bool,
    /// Times from public measurements, which take the place of a fit of the runs.
    pub(crate) public: Option<Arc<PublicTimes>>,
}

impl FittedArm {
    /// Creates an arm without runs, whose times are from public measurements.
    pub(super) fn from_public(PublicArm { context, times }: PublicArm) -> Self {
        let batch_size = context.workload.batch_size;
        let job = Arc::new(Job::of_runs(context, Vec::new()));
        let memory = Arc::clone(&job);
        let arm = Self::not_fitted(job, memory, (SizesFrom::Own, batch_size, PUBLIC_MEMORY_MIB));
        Self { public: Some(Arc::new(times)), ..arm }
    }

    /// Creates an arm beside own runs, whose times are from public measurements. Its memory is that
    /// of the runs, because samples of programs may record the whole memory of a machine, at most
    /// that of a job that never ran. `None` if no run completed.
    pub(super) fn beside(group: &JobGroup, PublicArm { context, times }: PublicArm) -> Option<Self> {
        let template = Job::of_runs(context, Vec::new());
        let arm = Shared::of(group).arm(&template, &[], Learning::of(&template))?;
        let memory_per_executor_mib = arm.memory_per_executor_mib.min(PUBLIC_MEMORY_MIB);
        Some(Self { memory_per_executor_mib, public: Some(Arc::new(times)), ..arm })
    }

    /// Creates an arm that is not fitted yet; `memory` has the runs that show the memory of an
    /// executor, and the sizes are images per task and MiB per executor, with their source.
    fn not_fitted(
        job: Arc<Job>,
        memory: Arc<Job>,
        (sizes_from, partition_size, memory_per_executor_mib): (SizesFrom, u32, u32),
    ) -> Self {
        Self {
            whole_job: 1.0,
            partition_size,
            memory_per_executor_mib,
            sizes_from,
            accuracies: Vec::new(),
            job,
            memory,
            own: None,
            unfit: None,
            items: None,
            is_size_unknown: false,
            is_lent: false,
            is_interpolated: false,
            has_only_exceeded: false,
            must_be_shown_to_fit: false,
            public: None,
        }
    }

    /// Predicts the arm with a predictor of its own.
    pub(super) fn take_predictor(&mut self, own: Arc<Predictor>) {
        self.items = Some(own.items.clone());
        self.own = Some(own);
    }

    /// Whether times are predicted for another partition size than that of most runs.
    pub(crate) fn assumes_another_size(&self) -> bool {
        self.items.as_ref().zip(self.own.as_ref()).is_some_and(|(items, own)| *items != own.items)
    }

    pub(super) fn describe(&self, has_joint: bool) -> Arm {
        let Context { workload, engine, host, accelerator, shares_accelerators, .. } = &self.job.context;
        Arm {
            machine: self.job.context.machine_name(),
            is_named: host.machine.is_some(),
            engine: *engine,
            accelerator: accelerator.clone(),
            shares_accelerators: *shares_accelerators,
            processors: host.processors,
            accelerators: Capacity::of(&self.job.context).and_then(|capacity| capacity.accelerators),
            batch_size: workload.batch_size,
            average_every: workload.average_every,
            partition_size: self.partition_size,
            runs: if self.is_interpolated { 0 } else { self.job.observations.len() },
            basis: match (&self.own, has_joint) {
                _ if self.has_only_exceeded => Basis::Unknown,
                _ if self.public.is_some() => Basis::Public,
                (Some(own), _) if own.is_simulated() => Basis::Simulated,
                (Some(own), _) if own.is_transferred() => Basis::Layers,
                (Some(_), _) => Basis::Own,
                (None, true) if self.is_lent => Basis::OtherCnns,
                (None, true) if self.is_interpolated => Basis::Interpolated,
                (None, true) => Basis::Borrowed,
                (None, false) => Basis::Unknown,
            },
            sizes_from: self.sizes_from,
        }
    }
}

/// Limit on the arms. Each has its runs, candidates and, for its memory, the runs of others.
const MOST_ARMS: usize = 500;
/// Limit on the arms with each of their partition sizes.
const MOST_SIZES: usize = 2_000;

/// Checks the number of the arms of a group before they are built.
///
/// # Errors
/// There are more than [`MOST_ARMS`].
pub(super) fn check_count(group: &JobGroup) -> Result<(), FitError> {
    let measured = || group.jobs.iter().filter(|job| !job.observations.is_empty());
    let shown =
        group.jobs.iter().filter(|job| !job.observations.is_empty() || job.incomplete.iter().any(is_out_of_memory));
    let hardware = distinct(shown.map(|job| job.context.hardware()));
    let learnings = distinct(measured().map(Learning::of));
    let count = (hardware.len() + group.other_machines().len()) * learnings.len();
    if count > MOST_ARMS { Err(FitError::TooManyArms { count, most: MOST_ARMS }) } else { Ok(()) }
}

/// Returns the arms with each of their partition sizes, or, if these are more than [`MOST_SIZES`],
/// with the usual one.
pub(super) fn with_each_size(arms: Vec<FittedArm>, has_column: bool) -> Vec<FittedArm> {
    let count: usize = arms.iter().map(|arm| 1 + arm.other_sizes(has_column).len()).sum();
    if count > MOST_SIZES {
        return arms;
    }
    arms.into_iter().flat_map(|arm| arm.with_each_size(has_column)).collect()
}

/// Returns the arms of a group: each hardware on which a run completed or ran out of memory, with
/// each batch size and averaging interval of the group, sorted by name; then those on which only
/// other CNNs ran.
pub(super) fn arms(group: &JobGroup) -> Vec<FittedArm> {
    let mut by_arm: BTreeMap<(Hardware, Learning), Vec<&Job>> = BTreeMap::new();
    for job in &group.jobs {
        by_arm.entry((job.context.hardware(), Learning::of(job))).or_default().push(job);
    }
    let has_times = |jobs: &[&Job]| jobs.iter().any(|job| !job.observations.is_empty());
    let measured =
        |side: &dyn Fn(&(Hardware, Learning)) -> bool| by_arm.iter().any(|(key, jobs)| side(key) && has_times(jobs));
    let mut hardware_of: Vec<&Hardware> = by_arm.keys().map(|(hardware, _)| hardware).collect();
    hardware_of.dedup();
    let has_times_on = |hardware: &Hardware| measured(&|(own, _)| own == hardware);
    let has_exceeded = |hardware: &Hardware| {
        let mut runs = by_arm.iter().filter(|((own, _), _)| own == hardware).flat_map(|(_, jobs)| jobs);
        runs.any(|job| job.incomplete.iter().any(is_out_of_memory))
    };
    hardware_of.retain(|hardware| has_times_on(hardware) || has_exceeded(hardware));
    let mut learnings = distinct(by_arm.keys().map(|(_, learning)| *learning));
    learnings.retain(|learning| measured(&|(_, own)| own == learning));
    let mut shared = Shared::of(group);
    let mut arms = Vec::new();
    for hardware in hardware_of {
        // The machine with the most accelerators, because machines of one name may differ in their
        // number.
        let alike = by_arm.iter().filter(|((own, _), _)| own == hardware).flat_map(|(_, jobs)| jobs);
        let Some(template) = alike.rev().max_by_key(|job| job.context.host.accelerators.len()) else { continue };
        for learning in &learnings {
            let own = by_arm.get(&(hardware.clone(), *learning)).cloned().unwrap_or_default();
            let has_only_exceeded = !has_times_on(hardware);
            arms.extend(shared.arm(template, &own, *learning).map(|arm| FittedArm { has_only_exceeded, ..arm }));
        }
    }
    let Some(first) = group.jobs.first() else { return arms };
    for lent in group.other_machines() {
        let context = Context { workload: first.context.workload.clone(), ..lent.context.clone() };
        let template = Job::of_runs(context, Vec::new());
        let mut arm = |learning: &Learning| Some(FittedArm { is_lent: true, ..shared.arm(&template, &[], *learning)? });
        arms.extend(learnings.iter().filter_map(&mut arm));
    }
    arms
}

/// What the arms of a group share, so that many arms need no copies.
struct Shared<'a> {
    group: &'a JobGroup,
    /// The usual partition size and the largest memory of all completed runs.
    sizes: Option<(u32, u32)>,
    /// Whether the memory of an accelerator was exceeded, which another may have.
    has_exceeded_accelerators: bool,
    memories: BTreeMap<MemoryKey, Arc<Job>>,
}

/// What the runs that show the memory of an arm depend on: the batch size, whether executors have
/// an accelerator and share it, and perhaps the hardware.
type MemoryKey = (u32, bool, bool, Option<Hardware>);

impl<'a> Shared<'a> {
    fn of(group: &'a JobGroup) -> Self {
        let mut incomplete = group.jobs.iter().flat_map(|job| &job.incomplete);
        let has_exceeded_accelerators = incomplete.any(|run| run.outcome == IncompleteOutcome::OutOfAcceleratorMemory);
        let sizes = sizes(group.jobs.iter().flat_map(|job| &job.observations));
        Self { group, sizes, has_exceeded_accelerators, memories: BTreeMap::new() }
    }

    /// Returns the arm for training settings, with its own runs; `None` if no run of the group
    /// completed.
    fn arm(&mut self, template: &Job, own: &[&Job], learning: Learning) -> Option<FittedArm> {
        let asked = self.group.definition.images_processed();
        let largest_run = own.iter().flat_map(|job| {
            let images = job.context.workload.images_processed();
            job.observations.iter().map(move |run| run.sampling_rate * images)
        });
        let total = largest_run.fold(asked, f64::max);
        // Advice proposes runs of this size.
        let is_asked = |job: &&&Job| job.context.workload.images_processed() == asked;
        let context = own.iter().find(is_asked).or(own.last()).map_or(&template.context, |job| &job.context);
        let mut job = Job::joined(context.clone(), own, total);
        learning.write(&mut job.context.workload);
        job.context.host.accelerators.clone_from(&template.context.host.accelerators);
        let memory = self.memory(template, learning.batch_size);
        let (from, (partition_size, mib)) = None
            .or_else(|| Some((SizesFrom::Own, sizes(&job.observations)?)))
            .or_else(|| Some((SizesFrom::OtherMachines, sizes(&memory.observations)?)))
            .or_else(|| Some((SizesFrom::OtherDevices, self.sizes?)))?;
        let arm = FittedArm::not_fitted(Arc::new(job), memory, (from, partition_size, mib));
        Some(FittedArm { whole_job: asked / total, accuracies: accuracies(self.group, learning), ..arm })
    }

    /// Returns the runs that show the memory of an executor on a template's hardware.
    fn memory(&mut self, template: &Job, batch_size: u32) -> Arc<Job> {
        let context = &template.context;
        let hardware = self.has_exceeded_accelerators.then(|| context.hardware());
        let key = (batch_size, context.accelerator.is_some(), context.shares_accelerators, hardware);
        let group = self.group;
        Arc::clone(self.memories.entry(key).or_insert_with(|| Arc::new(memory(group, template, batch_size))))
    }
}

/// Returns the usual partition size of runs and their largest memory, MiB; `None` without a run.
fn sizes<'a>(runs: impl IntoIterator<Item = &'a Observation> + Clone) -> Option<(u32, u32)> {
    let largest = runs.clone().into_iter().map(|run| run.memory_per_executor_mib).max()?;
    Some((commonest(runs.into_iter().map(|run| run.partition_size))?, largest))
}

/// Aggregates the accuracies for training settings by number of executors.
fn accuracies(group: &JobGroup, learning: Learning) -> Vec<(u32, Accuracy)> {
    let jobs = group.jobs.iter().filter(|job| Learning::of(job) == learning);
    let mut runs: Vec<TrainedAccuracy> = jobs.flat_map(|job| job.accuracies.iter().cloned()).collect();
    sort_by(&mut runs, TrainedAccuracy::order);
    Accuracy::by_executors(&runs, group.definition.images, group.definition.epochs)
}

/// Collects the out-of-memory outcomes of all arms. A larger batch never needs less memory, so
/// failures with smaller batches count too. Failures of a GPU count for GPUs with at most as much
/// memory.
fn memory(group: &JobGroup, template: &Job, batch_size: u32) -> Job {
    let context = &template.context;
    let is_alike = |job: &&Job| job.context.accelerator.is_some() == context.accelerator.is_some();
    let mut memory = Job::of_runs(template.context.clone(), Vec::new());
    for job in group.jobs.iter().filter(is_alike) {
        if job.context.workload.batch_size == batch_size {
            memory.observations.extend(&job.observations);
            memory.peaks.extend(&job.peaks);
        }
        if job.context.workload.batch_size <= batch_size {
            let holds_no_more = context.hardware() == job.context.hardware()
                || context.has_no_more_accelerator_memory_than(&job.context);
            let applies =
                |run: &&IncompleteRun| holds_no_more || run.outcome != IncompleteOutcome::OutOfAcceleratorMemory;
            memory.incomplete.extend(job.incomplete.iter().filter(applies));
        }
    }
    memory.sort_runs();
    memory
}

/// Returns the most frequent value; the smallest of several.
fn commonest(values: impl Iterator<Item = u32>) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}
