//! Lists, packs and predicts the configurations of a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreglow_shared::{Catalog, CatalogError, CoreSplit, Engine, IncompleteOutcome, PriceSheet, sort_by};

use super::kept::Cache;
use super::{Comparison, MOST_CANDIDATES, Omission, Placement, Pricing, Timed};
use crate::capacity::Capacity;
use crate::chance::stopped_secs;
use crate::decision::{Footprint, expected_peak_mib};
use crate::joint::FittedArm;
use crate::{Arm, Basis, DecideError, ExecutorSize, JointPredictor, PartitionSizeUnknown, Setting, pack_split};

/// Memory of an executor as a multiple of the expected peak, and the unit to which it is rounded
/// up, MiB.
const SPARE_MEMORY: f64 = 1.2;
const MEMORY_STEP_MIB: u32 = 256;

/// The configurations and prices to choose from.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Machine types with prices.
    pub catalog: Option<Catalog>,
    /// Prices per executor, core and GiB, for machines that the catalog lacks. A published list
    /// applies to the hardware that it names; other hardware has its own published list.
    pub sheet: Option<PriceSheet>,
    /// Whether the sheet prices all hardware, even if it is a published list.
    pub keeps_sheet: bool,
    /// Names of the machine types to choose from; empty for all that were measured.
    pub machines: Vec<String>,
    /// Numbers of executors; empty for 1 to the largest measured one of each machine type.
    pub executors: Vec<u32>,
    /// Numbers of cores per executor; empty for 1 to the largest measured one of each machine type.
    pub cores_per_executor: Vec<u32>,
    /// Total numbers of cores, each divided among every number of executors, in place of
    /// `cores_per_executor`; empty for equal executors.
    pub total_cores: Vec<u32>,
    /// Memory of each executor, MiB; `None` for the memory that the measured peaks require, or the
    /// largest measured memory if there are no peaks.
    pub memory_per_executor_mib: Option<u32>,
    /// Batch sizes, measured or between measured ones; empty for all that were measured.
    pub batch_sizes: Vec<u32>,
    /// Images of one task; `None` for the best of the measured sizes of each machine type.
    pub partition_size: Option<u32>,
}

impl Comparison {
    /// Lists the configurations of an offer, packs them on machines and predicts their times.
    ///
    /// # Errors
    /// [`DecideError`]: a count is zero, there are more than a million configurations, or the price
    /// sheet is invalid or in another currency than the catalog.
    pub fn of(predictor: impl Into<Arc<JointPredictor>>, offer: &Offer) -> Result<Self, DecideError> {
        check(offer)?;
        let predictor = predictor.into();
        let predictor = match offer.partition_size {
            Some(size) => Arc::new(Arc::unwrap_or_clone(predictor).with_partition_size(size)),
            None => predictor,
        };
        let is_measured = |size: &u32| predictor.arms().iter().any(|arm| arm.batch_size == *size);
        let unmeasured: Vec<u32> = offer.batch_sizes.iter().filter(|size| !is_measured(size)).copied().collect();
        let predictor = match unmeasured.as_slice() {
            [] => predictor,
            sizes => Arc::new(Arc::unwrap_or_clone(predictor).with_batch_sizes(sizes)),
        };
        let arms = predictor.arms();
        let pricing: Vec<Pricing> = (0..arms.len()).map(|arm| pricing(&predictor, arm, offer)).collect();
        let currency = match (&offer.catalog, &offer.sheet) {
            (Some(catalog), _) => catalog.currency.clone(),
            (None, Some(sheet)) => sheet.currency.clone(),
            (None, None) => "USD".to_owned(),
        };
        let mut candidates = Vec::new();
        let mut omissions = Omissions::default();
        let mut count = 0;
        for (index, arm) in arms.iter().enumerate() {
            if !is_offered(arm, offer) {
                continue;
            }
            let configurations = configurations(&predictor, index, offer);
            count += configurations.len();
            if count > MOST_CANDIDATES {
                return Err(DecideError::TooMany(count));
            }
            if arm.basis == Basis::Unknown {
                let reason =
                    "too few runs completed to predict any time; collect two sampling rates of one configuration";
                omissions.add(&arm.machine, 0, reason.to_owned());
                continue;
            }
            if predictor.fitted(index).is_size_unknown {
                omissions.add(&arm.machine, 0, PartitionSizeUnknown.to_string());
                continue;
            }
            if matches!(pricing[index], Pricing::Unknown) {
                let reason = "neither the catalog nor a price sheet has its price, so its cost is unknown; name the \
                              machine type with --machine when you measure, or give --catalog or --prices";
                omissions.add(&arm.machine, 0, reason.to_owned());
            }
            for split in configurations {
                match timed(&predictor, index, split, &pricing[index], offer) {
                    Ok(timed) => candidates.push(timed),
                    Err(reason) => omissions.add(&arm.machine, 1, reason),
                }
            }
        }
        for name in &offer.machines {
            if !arms.iter().any(|arm| arm.machine == *name) {
                omissions.add(name, 0, "it was not measured; collect two or three runs on it".to_owned());
            }
        }
        let is_measured = |size: &u32| arms.iter().any(|arm| arm.batch_size == *size);
        for size in offer.batch_sizes.iter().filter(|size| !is_measured(size)) {
            let measured = arms.iter().filter(|arm| arm.basis != Basis::Interpolated);
            let measured: BTreeSet<u32> = measured.map(|arm| arm.batch_size).collect();
            let measured: Vec<String> = measured.iter().map(u32::to_string).collect();
            let reason =
                format!("it was not measured, only {}; collect two or three runs with it", measured.join(", "));
            omissions.add(&format!("batch size {size}"), 0, reason);
        }
        sort_by(&mut candidates, |a: &Timed, b: &Timed| a.secs.total_cmp(&b.secs));
        let (omissions, kept) = (omissions.list(), Cache::default());
        Ok(Self { predictor, pricing, currency, candidates, omissions, kept })
    }
}

fn check(offer: &Offer) -> Result<(), DecideError> {
    let counts = [&offer.executors, &offer.cores_per_executor, &offer.total_cores];
    let counts = counts.into_iter().flatten().chain(&offer.memory_per_executor_mib);
    if counts.chain(&offer.batch_sizes).chain(&offer.partition_size).any(|count| *count == 0) {
        return Err(DecideError::ZeroConfiguration);
    }
    if let Some(sheet) = &offer.sheet {
        sheet.check()?;
    }
    match (&offer.catalog, &offer.sheet) {
        (Some(catalog), Some(sheet)) if catalog.currency != sheet.currency => {
            let (first, second) = (catalog.currency.clone(), sheet.currency.clone());
            Err(DecideError::Catalog(CatalogError::TwoCurrencies { first, second }))
        }
        _ => Ok(()),
    }
}

pub(crate) fn is_offered(arm: &Arm, offer: &Offer) -> bool {
    let among = |names: &[String]| names.is_empty() || names.contains(&arm.machine);
    among(&offer.machines) && (offer.batch_sizes.is_empty() || offer.batch_sizes.contains(&arm.batch_size))
}

/// Returns the prices of an arm: those of the catalog, or else those of the sheet if it covers the
/// arm's hardware.
pub(crate) fn pricing(predictor: &JointPredictor, arm: usize, offer: &Offer) -> Pricing {
    let context = &predictor.fitted(arm).job.context;
    let arm = &predictor.arms()[arm];
    let in_catalog = offer.catalog.as_ref().and_then(|catalog| catalog.find(&arm.machine).ok());
    if let Some(machine) = in_catalog.filter(|_| arm.is_named) {
        return Pricing::Machines(machine.clone());
    }
    let accelerated = arm.accelerator.is_some();
    let fitting = |sheet: PriceSheet| {
        if offer.keeps_sheet { sheet } else { sheet.or_usual_for(arm.accelerator.as_deref()) }
    };
    match offer.sheet.clone().map(fitting) {
        Some(sheet) if sheet.covers(accelerated) => {
            Pricing::Sheet { sheet, accelerated, shared_accelerators: context.shared_accelerators() }
        }
        _ => Pricing::Unknown,
    }
}

/// Returns the executors and cores to compare on an arm.
fn configurations(predictor: &JointPredictor, index: usize, offer: &Offer) -> Vec<CoreSplit> {
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
    let up_to = |most: Option<u32>| (1..=most.unwrap_or(1)).collect::<Vec<u32>>();
    let distinct = |given: &[u32], most: Option<u32>| {
        let mut counts = if given.is_empty() { up_to(most) } else { given.to_vec() };
        sort_by(&mut counts, u32::cmp);
        counts.dedup();
        counts
    };
    let executors = distinct(&offer.executors, runs().map(|run| run.executors).max());
    if !offer.total_cores.is_empty() {
        return CoreSplit::all(&executors, &distinct(&offer.total_cores, None));
    }
    let cores = distinct(&offer.cores_per_executor, runs().map(|run| run.cores_per_executor).max());
    executors.iter().flat_map(|executors| cores.iter().map(|cores| CoreSplit::even(*executors, *cores))).collect()
}

/// Packs and predicts one configuration.
///
/// # Errors
/// A sentence that says why it cannot be compared.
fn timed(
    predictor: &JointPredictor,
    index: usize,
    split: CoreSplit,
    pricing: &Pricing,
    offer: &Offer,
) -> Result<Timed, String> {
    let (arm, fitted) = (&predictor.arms()[index], predictor.fitted(index));
    let placement = Placement { arm: index, ..place((arm, fitted), split, pricing, offer)? };
    let prediction = predictor.predict_split(index, split);
    let Some(secs) = prediction.completion_time_secs else {
        let why = prediction.warnings.first().map_or_else(|| "its time is unknown".to_owned(), ToString::to_string);
        return Err(why);
    };
    let at_least_secs = stopped_secs(&fitted.job, split, fitted.whole_job);
    Ok(Timed { placement, secs, spread: prediction.spread, at_least_secs })
}

/// Packs the executors of one configuration on machines, each with the memory that it needs.
///
/// # Errors
/// A sentence that says why it cannot run.
pub(crate) fn place(
    (arm, fitted): (&Arm, &FittedArm),
    split: CoreSplit,
    pricing: &Pricing,
    offer: &Offer,
) -> Result<Placement, String> {
    let CoreSplit { executors, cores_per_executor: cores, total_cores } = split;
    let peak = expected_peak_mib(&fitted.memory.peaks, cores, fitted.partition_size);
    let enough = peak.map(|mib| ((mib * SPARE_MEMORY) as u32).div_ceil(MEMORY_STEP_MIB) * MEMORY_STEP_MIB);
    let memory = offer.memory_per_executor_mib.or(enough).unwrap_or(fitted.memory_per_executor_mib);
    let footprint = Footprint {
        executors,
        cores_per_executor: cores,
        memory_per_executor_mib: memory,
        partition_size: fitted.partition_size,
        sampling_rate: 1.0,
    };
    match footprint.goes_over_memory(&fitted.memory).map(|run| run.outcome) {
        None => {}
        Some(IncompleteOutcome::OutOfAcceleratorMemory) => {
            return Err(
                "the GPU ran out of memory in a run that needed no more; choose a smaller mini-batch, fewer cores per \
                        executor or a machine type whose GPU has more memory"
                    .to_owned(),
            );
        }
        Some(_) => {
            return Err(format!(
                "executors with {memory} MiB ran out of memory in a run that needed no more; give them more"
            ));
        }
    }
    if let Some(expected) = footprint.expected_over_memory(&fitted.memory) {
        return Err(format!("each executor is expected to need {expected} MiB and has {memory}; give it more"));
    }
    if !fitted.may_fit(footprint) {
        return Err(format!(
            "no run with partitions of {} images or more and as many cores completed there with a batch of {} or more, so \
             whether they fit into memory is not known; measure one",
            fitted.partition_size, arm.batch_size
        ));
    }
    let mut placement = Placement {
        arm: 0,
        executors,
        cores_per_executor: cores,
        total_cores,
        memory_per_executor_mib: memory,
        machines: 0,
        executors_per_machine: 0,
    };
    match pricing.machine_type() {
        Some(machine) => {
            let holds_accelerator = arm.accelerator.is_some() && !arm.shares_accelerators;
            let size = ExecutorSize { cores, memory_mib: memory, holds_accelerator };
            let packing = pack_split(machine, split, size).map_err(|error| error.to_string())?;
            placement.machines = packing.machines;
            placement.executors_per_machine = packing.executors_per_machine;
            if packing.machines > 1 && arm.engine == Engine::Local && offer.executors.is_empty() {
                return Err(
                    "the samples ran on one machine at a time, so executors on several are compared only where their number \
                            is given"
                        .to_owned(),
                );
            }
        }
        None => {
            let setting = Setting::at(split, 1.0);
            let capacity = Capacity::of(&fitted.job.context);
            if let Some(capacity) = capacity.filter(|capacity| capacity.is_exceeded_by(setting)) {
                return Err(capacity.refusal(setting));
            }
        }
    }
    Ok(placement)
}

/// Reasons by machine type, each with the number of its configurations.
#[derive(Default)]
struct Omissions(BTreeMap<(String, String), usize>);

impl Omissions {
    fn add(&mut self, machine: &str, configurations: usize, reason: String) {
        *self.0.entry((machine.to_owned(), reason)).or_default() += configurations;
    }

    fn list(self) -> Vec<Omission> {
        self.0
            .into_iter()
            .map(|((machine, reason), configurations)| Omission { machine, configurations, reason })
            .collect()
    }
}
