//! The configurations of an arm, and the machines that each needs.

use foreglow_shared::{CoreSplit, Engine, LEAST_SPARK_MEMORY_MIB, Observation, SlotTimes, distinct};

use super::{Exclusion, MAX_LISTED, Placement, Pricing, Space};
use crate::capacity::Capacity;
use crate::joint::FittedArm;
use crate::memory::{Footprint, expected_peak_mib};
use crate::{Arm, Basis, ExecutorSize, JointPredictor, Setting, pack_split};

/// Memory of an executor as a multiple of the expected peak, and the unit to which it is rounded
/// up, MiB.
const SPARE_MEMORY: f64 = 1.2;
const MEMORY_STEP_MIB: u32 = 256;

/// Returns the executors and cores to compare on an arm: all that are given, and of the default
/// ones at most the arm's share of [`MAX_LISTED`] configurations.
pub(super) fn configurations(predictor: &JointPredictor, index: usize, space: &Space) -> Vec<CoreSplit> {
    let (mut executors, mut cores) = counts(predictor, index, space);
    let most = (MAX_LISTED / predictor.arms().len()).max(1);
    if space.is_grid() && executors.len() * cores.len() > most && !predictor.has_public_arm(index) {
        let side = libm::sqrt(most as f64) as usize;
        let runs = measured(predictor, index);
        if space.cores_per_executor.is_empty() {
            let most = (most / executors.len()).max(side);
            cores = thinned(&cores, distinct(runs.iter().map(|run| run.cores_per_executor)), most);
        }
        if space.executors.is_empty() {
            let most = (most / cores.len()).max(side);
            executors = thinned(&executors, distinct(runs.iter().map(|run| run.executors)), most);
        }
    }
    space.splits(&executors, &cores)
}

/// Returns at most about `most` of these ascending counts: the measured ones, if they are at most
/// half of that, and geometric steps to the largest one.
fn thinned(counts: &[u32], measured: Vec<u32>, most: usize) -> Vec<u32> {
    let Some(largest) = counts.last().filter(|_| counts.len() > most) else { return counts.to_vec() };
    let mut kept = if measured.len() <= most / 2 { measured } else { Vec::new() };
    let steps = (most - kept.len()).max(2) - 1;
    let step = |step: usize| libm::round(libm::pow(f64::from(*largest), step as f64 / steps as f64)) as u32;
    kept.extend((0..=steps).map(step));
    distinct(kept)
}

/// Returns the numbers of executors and of cores per executor to compare on an arm, ascending.
pub(super) fn counts(predictor: &JointPredictor, index: usize, space: &Space) -> (Vec<u32>, Vec<u32>) {
    let fitted = predictor.fitted(index);
    if let Some(public) = &fitted.public {
        return (public.executors(), vec![1]);
    }
    let runs = measured(predictor, index);
    let executors = runs.iter().map(|run| run.executors);
    let cores = runs.iter().map(|run| run.cores_per_executor);
    if predictor.arms()[index].basis == Basis::Simulated {
        let usual: Vec<u32> = SlotTimes::compared_executors(executors.max().unwrap_or(1)).collect();
        let or_given = |usual: Vec<u32>, given: &[u32]| distinct(if given.is_empty() { usual } else { given.to_vec() });
        return (or_given(usual, &space.executors), or_given(cores.collect(), &space.cores_per_executor));
    }
    (given_or_all(&space.executors, executors.max()), given_or_all(&space.cores_per_executor, cores.max()))
}

/// Returns the runs whose executors and cores are the measured range of an arm.
fn measured(predictor: &JointPredictor, index: usize) -> Vec<&Observation> {
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
    alike.into_iter().flat_map(|other| &predictor.fitted(other).job.observations).collect()
}

/// Returns the given counts, or 1 to `most`, ascending.
fn given_or_all(given: &[u32], most: Option<u32>) -> Vec<u32> {
    if given.is_empty() { (1..=most.unwrap_or(1)).collect() } else { distinct(given.iter().copied()) }
}

/// Returns the memory for an executor with this peak, MiB: with a margin, rounded up, and not below
/// what the engine needs.
pub fn sufficient_memory_mib(peak_mib: f64, engine: Engine) -> u32 {
    let least = if engine == Engine::Spark { LEAST_SPARK_MEMORY_MIB } else { 0 };
    ((peak_mib * SPARE_MEMORY) as u32).max(least).div_ceil(MEMORY_STEP_MIB).saturating_mul(MEMORY_STEP_MIB)
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
    let CoreSplit { executors, cores_per_executor: cores, .. } = split;
    let peak = expected_peak_mib(&fitted.memory.peaks, cores, fitted.partition_size);
    let enough = peak.map(|mib| sufficient_memory_mib(mib, arm.engine));
    let memory = space.memory_per_executor_mib.or(enough).unwrap_or(fitted.memory_per_executor_mib);
    let placement = Placement::new(0, split, memory);
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
