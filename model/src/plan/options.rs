//! Lists, packs and predicts the configurations of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreglow_shared::{CoreSplit, Job, Question};

use super::cache::Cache;
use super::grid::GridCounts;
use super::{Exclusion, MAX_CONFIGURATIONS, MAX_LISTED, Omission, Placement, Plan, Pricing, Space, Timed};
use crate::capacity::Capacity;
use crate::chance::stopped_secs;
use crate::joint::{ArmPredictor, FittedArm};
use crate::memory::{Footprint, expected_peak_mib};
use crate::{
    Arm, Basis, DecideError, ExecutorSize, JointPredictor, PartitionSizeUnknown, Prediction, Predictor, Setting,
    pack_split,
};

/// Memory of an executor as a multiple of the expected peak, and the unit to which it is rounded
/// up, MiB.
const SPARE_MEMORY: f64 = 1.2;
const MEMORY_STEP_MIB: u32 = 256;

impl Plan {
    /// Lists the configurations of a space, packs them on machines and predicts their times.
    ///
    /// # Errors
    /// [`DecideError`]: a count is zero, there are more than a million configurations, or the price
    /// sheet is invalid or in another currency than the catalog.
    pub fn new(predictor: impl Into<Arc<JointPredictor>>, space: Space) -> Result<Self, DecideError> {
        space.check()?;
        let predictor = with_sizes(predictor.into(), &space);
        let arms = predictor.arms();
        let pricing: Vec<Pricing> = (0..arms.len()).map(|arm| space.pricing(&predictor, arm)).collect();
        let mut plan = Self {
            currency: space.currency(),
            options: Vec::new(),
            excluded: Vec::new(),
            omissions: Vec::new(),
            grid: GridCounts::of(&predictor, &space, &pricing)?,
            cache: Cache::default(),
            pricing,
            predictor: Arc::clone(&predictor),
            space,
        };
        let mut listing = Listing::default();
        let mut count = 0;
        for (index, arm) in arms.iter().enumerate().filter(|(_, arm)| plan.space.has(arm)) {
            if let Some(reason) = plan.cannot_predict(index) {
                listing.omit(&arm.machine, 0, reason);
                continue;
            }
            if plan.grid.is_some() {
                continue;
            }
            let configurations = configurations(&predictor, index, &plan.space);
            count += configurations.len();
            if count > MAX_CONFIGURATIONS {
                return Err(DecideError::TooMany(count));
            }
            if matches!(plan.pricing[index], Pricing::Unknown) && arms.len() > 1 {
                let reason = "neither the catalog nor a price sheet has its price, so its cost is unknown; name the \
                              machine type with --machine when you measure, or give --catalog or --prices";
                listing.omit(&arm.machine, 0, reason.to_owned());
            }
            listing.add(&plan, index, &configurations);
        }
        listing.omit_unmeasured(&predictor, &plan.space);
        plan.take(listing);
        Ok(plan)
    }

    /// Plans a single context with a fitted predictor, for a question about it.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Space::from_context`].
    pub fn from_context(
        predictor: impl Into<Arc<Predictor>>,
        job: &Job,
        question: &Question,
    ) -> Result<Self, DecideError> {
        Self::new(JointPredictor::from_predictor(predictor, job), Space::from_context(question, job)?)
    }

    /// Returns the plan of these configurations of the only arm.
    pub(super) fn of_splits(&self, splits: &[CoreSplit]) -> Self {
        let mut plan = Self {
            predictor: Arc::clone(&self.predictor),
            space: self.space.clone(),
            pricing: self.pricing.clone(),
            currency: self.currency.clone(),
            options: Vec::new(),
            excluded: Vec::new(),
            omissions: self.omissions.clone(),
            grid: None,
            cache: Cache::default(),
        };
        let mut listing = Listing::default();
        listing.add(&plan, 0, splits);
        plan.take(listing);
        plan
    }

    /// Returns why no time of an arm can be predicted; `None` if it can.
    fn cannot_predict(&self, arm: usize) -> Option<String> {
        let fitted = self.predictor.fitted(arm);
        if self.predictor.arms()[arm].basis == Basis::Unknown {
            return Some(fitted.unfit.as_ref().map_or_else(
                || "too few runs completed to predict any time; collect two sampling rates of one configuration".into(),
                ToString::to_string,
            ));
        }
        fitted.is_size_unknown.then(|| PartitionSizeUnknown.to_string())
    }

    /// Moves the listed configurations into the plan, ascending by time.
    fn take(&mut self, listing: Listing) {
        let Listing { mut options, excluded, omissions } = listing;
        options.sort_by(|(a, _), (b, _)| a.secs.total_cmp(&b.secs));
        let is_listed = options.len() + excluded.len() <= MAX_LISTED;
        let (options, predictions): (Vec<Timed>, Vec<Option<Prediction>>) = options.into_iter().unzip();
        self.options = options;
        self.omissions.extend(omissions.into_iter().map(|((machine, reason), configurations)| Omission {
            machine,
            configurations,
            reason,
        }));
        if is_listed {
            self.cache = Cache::with_predictions(predictions.into_iter().flatten().collect());
            self.excluded = excluded;
        }
    }
}

/// Returns the predictor for the partition size and the batch sizes of a space.
fn with_sizes(predictor: Arc<JointPredictor>, space: &Space) -> Arc<JointPredictor> {
    let predictor = match space.partition_size {
        Some(size) => Arc::new(Arc::unwrap_or_clone(predictor).with_partition_size(size)),
        None => predictor,
    };
    let is_measured = |size: &u32| predictor.arms().iter().any(|arm| arm.batch_size == *size);
    let unmeasured: Vec<u32> = space.batch_sizes.iter().filter(|size| !is_measured(size)).copied().collect();
    match unmeasured.as_slice() {
        [] => predictor,
        sizes => Arc::new(Arc::unwrap_or_clone(predictor).with_batch_sizes(sizes)),
    }
}

/// Returns the executors and cores to compare on an arm.
fn configurations(predictor: &JointPredictor, index: usize, space: &Space) -> Vec<CoreSplit> {
    let (executors, cores) = counts(predictor, index, space);
    if !space.total_cores.is_empty() {
        let mut splits = CoreSplit::all(&executors, &distinct(&space.total_cores, None));
        splits.sort();
        splits.dedup();
        return splits;
    }
    executors.iter().flat_map(|executors| cores.iter().map(|cores| CoreSplit::even(*executors, *cores))).collect()
}

/// Returns the numbers of executors and of cores per executor to compare on an arm, ascending.
pub(super) fn counts(predictor: &JointPredictor, index: usize, space: &Space) -> (Vec<u32>, Vec<u32>) {
    let arm = &predictor.arms()[index];
    // The measured range includes the runs of other batch sizes of the machine type, and the runs
    // of other machine types if the arm borrows from them.
    let alike: Vec<usize> = (0..predictor.arms().len())
        .filter(|other| {
            // Arms that differ only in the partition size have the same runs.
            if predictor.fitted(*other).must_be_shown_to_fit {
                return false;
            }
            let other = &predictor.arms()[*other];
            matches!(arm.basis, Basis::Borrowed | Basis::OtherCnns)
                || (&other.machine, other.engine, &other.accelerator) == (&arm.machine, arm.engine, &arm.accelerator)
        })
        .collect();
    let runs = || alike.iter().flat_map(|other| &predictor.fitted(*other).job.observations);
    (
        distinct(&space.executors, runs().map(|run| run.executors).max()),
        distinct(&space.cores_per_executor, runs().map(|run| run.cores_per_executor).max()),
    )
}

/// Returns the given counts, or 1 to `most`, ascending.
fn distinct(given: &[u32], most: Option<u32>) -> Vec<u32> {
    let mut counts = if given.is_empty() { (1..=most.unwrap_or(1)).collect() } else { given.to_vec() };
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The configurations of a plan while it is made.
#[derive(Default)]
struct Listing {
    /// With the predictions of the first ones.
    options: Vec<(Timed, Option<Prediction>)>,
    excluded: Vec<Excluded>,
    /// Number of configurations by machine type and reason.
    omissions: BTreeMap<(String, String), usize>,
}

/// A configuration that cannot be recommended.
#[derive(Clone, Debug)]
pub(super) struct Excluded {
    pub(super) placement: Placement,
    pub(super) prediction: Prediction,
    pub(super) exclusion: Exclusion,
}

impl Listing {
    /// Adds configurations of an arm.
    fn add(&mut self, plan: &Plan, index: usize, configurations: &[CoreSplit]) {
        let predictor = &plan.predictor;
        let (arm, fitted) = (&predictor.arms()[index], predictor.fitted(index));
        let pricing = &plan.pricing[index];
        let mut of_arm = predictor.of_arm(index, pricing.machine_type().is_none());
        for split in configurations {
            match place((arm, fitted), *split, pricing, &plan.space) {
                Ok(placement) => self.add_placed(&mut of_arm, (arm, fitted), Placement { arm: index, ..placement }),
                Err((placement, exclusion)) => {
                    let placement = Placement { arm: index, ..placement };
                    // The time of executors that do not fit the machines means nothing.
                    let is_shown = exclusion.is_about_memory() && self.excluded.len() < MAX_LISTED;
                    let prediction = is_shown.then(|| of_arm.predict(*split));
                    self.exclude(&arm.machine, placement, exclusion, prediction);
                }
            }
        }
    }

    fn add_placed(&mut self, of_arm: &mut ArmPredictor, (arm, fitted): (&Arm, &FittedArm), placement: Placement) {
        let split = placement.split();
        let prediction = of_arm.predict(split);
        let Some(secs) = prediction.completion_time_secs else {
            let reason =
                prediction.warnings.first().map_or_else(|| "its time is unknown".to_owned(), ToString::to_string);
            self.exclude(&arm.machine, placement, Exclusion::Impossible { reason }, Some(prediction));
            return;
        };
        let at_least_secs = stopped_secs(&fitted.job, split, fitted.whole_job);
        let timed = Timed { placement, secs, spread: prediction.spread.clone(), at_least_secs };
        let is_shown = self.options.len() < MAX_LISTED;
        self.options.push((timed, is_shown.then_some(prediction)));
    }

    fn exclude(&mut self, machine: &str, placement: Placement, exclusion: Exclusion, prediction: Option<Prediction>) {
        self.omit(machine, 1, exclusion.to_string());
        if let Some(prediction) = prediction.filter(|_| self.excluded.len() < MAX_LISTED) {
            self.excluded.push(Excluded { placement, prediction, exclusion });
        }
    }

    fn omit(&mut self, machine: &str, configurations: usize, reason: String) {
        *self.omissions.entry((machine.to_owned(), reason)).or_default() += configurations;
    }

    /// Adds the machine types and batch sizes of the space that were not measured.
    fn omit_unmeasured(&mut self, predictor: &JointPredictor, space: &Space) {
        let arms = predictor.arms();
        for name in &space.machines {
            if !arms.iter().any(|arm| arm.machine == *name) {
                self.omit(name, 0, "it was not measured; collect two or three runs on it".to_owned());
            }
        }
        let is_measured = |size: &u32| arms.iter().any(|arm| arm.batch_size == *size);
        for size in space.batch_sizes.iter().filter(|size| !is_measured(size)) {
            let measured = arms.iter().filter(|arm| arm.basis != Basis::Interpolated);
            let measured: BTreeSet<u32> = measured.map(|arm| arm.batch_size).collect();
            let measured: Vec<String> = measured.iter().map(u32::to_string).collect();
            let reason =
                format!("it was not measured, only {}; collect two or three runs with it", measured.join(", "));
            self.omit(&format!("batch size {size}"), 0, reason);
        }
    }
}

/// Packs the executors of one configuration on machines, each with the memory that it needs. A
/// machine type outside the catalog has one machine; without accelerators of its own for each
/// executor, a configuration that exceeds it is as fast as a smaller one.
///
/// # Errors
/// Why it cannot run, and the placement as far as it is known.
pub(crate) fn place(
    (arm, fitted): (&Arm, &FittedArm),
    split: CoreSplit,
    pricing: &Pricing,
    space: &Space,
) -> Result<Placement, (Placement, Exclusion)> {
    let CoreSplit { executors, cores_per_executor: cores, total_cores } = split;
    let peak = expected_peak_mib(&fitted.memory.peaks, cores, fitted.partition_size);
    let enough = peak.map(|mib| ((mib * SPARE_MEMORY) as u32).div_ceil(MEMORY_STEP_MIB) * MEMORY_STEP_MIB);
    let memory = space.memory_per_executor_mib.or(enough).unwrap_or(fitted.memory_per_executor_mib);
    let placement = Placement {
        arm: 0,
        executors,
        cores_per_executor: cores,
        total_cores,
        memory_per_executor_mib: memory,
        machines: 0,
        executors_per_machine: 0,
    };
    let footprint = Footprint {
        executors,
        cores_per_executor: cores,
        memory_per_executor_mib: memory,
        partition_size: fitted.partition_size,
        sampling_rate: 1.0,
    };
    if let Some(exclusion) = Exclusion::of(&fitted.memory, Setting::at(split, 1.0), memory, fitted.partition_size) {
        return Err((placement, exclusion));
    }
    if !fitted.may_fit(footprint) {
        let (partition_size, batch_size) = (fitted.partition_size, arm.batch_size);
        return Err((placement, Exclusion::UnknownMemory { partition_size, batch_size }));
    }
    let machines = pack((arm, fitted), split, memory, pricing, space);
    let (machines, executors_per_machine) = machines.map_err(|reason| (placement, Exclusion::Impossible { reason }))?;
    Ok(Placement { machines, executors_per_machine, ..placement })
}

/// Returns the number of machines, and of executors on a full one; 0 outside the catalog.
///
/// # Errors
/// A sentence that says why the executors do not fit.
fn pack(
    (arm, fitted): (&Arm, &FittedArm),
    split: CoreSplit,
    memory_mib: u32,
    pricing: &Pricing,
    space: &Space,
) -> Result<(u32, u32), String> {
    let Some(machine) = pricing.machine_type() else {
        let setting = Setting::at(split, 1.0);
        let capacity = Capacity::of(&fitted.job.context).filter(|capacity| capacity.is_exceeded_by(setting));
        return match capacity {
            // Only the arm's own predictor knows how fast an oversubscribed machine is.
            Some(capacity) if fitted.own.is_none() => Err(capacity.refusal(setting)),
            _ => Ok((0, 0)),
        };
    };
    let holds_accelerator = arm.accelerator.is_some() && !arm.shares_accelerators;
    let size = ExecutorSize { cores: split.cores_per_executor, memory_mib, holds_accelerator };
    let packing = pack_split(machine, split, size).map_err(|error| error.to_string())?;
    if packing.machines > 1 && arm.engine.is_on_one_machine() && space.executors.is_empty() {
        return Err(
            "the samples ran on one machine at a time, so executors on several are compared only where their number \
                    is given"
                .to_owned(),
        );
    }
    Ok((packing.machines, packing.executors_per_machine))
}
