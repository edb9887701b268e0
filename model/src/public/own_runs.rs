//! Speeds of the whole job that own runs show.

use std::collections::BTreeMap;

use foreglow_public::{Gpus, Precision};
use foreglow_shared::{Catalog, Context, Workload, distinct};

use super::OwnSpeed;
use crate::JointPredictor;

/// What own runs say about the speed of a job on GPUs.
pub(super) struct OwnRuns {
    /// The fastest speed for each GPU, number of GPUs and number of machines.
    pub(super) speeds: Vec<OwnSpeed>,
    /// The context of the fastest speed per GPU; of any run without a speed.
    pub(super) context: Context,
    /// Why runs do not anchor other machine types.
    pub(super) notes: Vec<String>,
}

impl OwnRuns {
    /// Returns what the runs of a predictor say; `None` without arms.
    pub(super) fn of(predictor: &JointPredictor, gpus: &Gpus, catalog: &Catalog, precision: Precision) -> Option<Self> {
        let mut fastest: BTreeMap<(usize, u32, u32), (OwnSpeed, &Context)> = BTreeMap::new();
        let mut notes: Vec<String> = Vec::new();
        let measured = (0..predictor.arms().len()).filter(|arm| !predictor.job(*arm).observations.is_empty());
        for arm in measured {
            let context = &predictor.job(arm).context;
            match place(context, gpus, catalog, precision) {
                Ok(None) => {}
                Ok(Some(gpu)) => {
                    for own in speeds(predictor, arm, &gpus.all()[gpu].name, gpus.all()[gpu].memory_gib) {
                        let key = (gpu, own.gpus, own.machines);
                        if fastest.get(&key).is_none_or(|(other, _)| other.images_per_sec < own.images_per_sec) {
                            fastest.insert(key, (own, context));
                        }
                    }
                }
                Err(note) if notes.contains(&note) => {}
                Err(note) => notes.push(note),
            }
        }
        if fastest.is_empty() && notes.is_empty() {
            notes.push(NO_ANCHOR.to_owned());
        }
        let per_gpu = |own: &OwnSpeed| own.images_per_sec / f64::from(own.gpus);
        let best = fastest.values().max_by(|(one, _), (other, _)| per_gpu(one).total_cmp(&per_gpu(other)));
        let context = best.map(|(_, context)| *context).or_else(|| predictor.contexts().first().copied())?.clone();
        Some(Self { speeds: fastest.into_values().map(|(own, _)| own).collect(), context, notes })
    }
}

/// Note if no run predicts the job on a GPU.
const NO_ANCHOR: &str = "no run of your own predicts the job on a GPU, and public measurements are of GPUs, so your runs do \
                         not narrow the intervals of other machine types; collect two sampling rates on one GPU";

/// Returns the index of the GPU of a context: that of the driver, or else that of the catalog's
/// machine type; `None` on processors.
///
/// # Errors
/// A note: the GPU is unknown, or cannot compute in the number format.
fn place(context: &Context, gpus: &Gpus, catalog: &Catalog, precision: Precision) -> Result<Option<usize>, String> {
    let Some(name) = context.accelerator.as_deref() else { return Ok(None) };
    let memory_mib = context.host.accelerators.first().and_then(|gpu| u32::try_from(gpu.memory_mib?).ok());
    let machine = context.host.machine.as_ref().and_then(|machine| catalog.find(machine).ok());
    let of_catalog = machine.and_then(|machine| machine.accelerators.as_ref());
    let found = gpus
        .place(name, memory_mib)
        .or_else(|error| of_catalog.map_or(Err(error), |gpu| gpus.place(&gpu.name, gpu.memory_mib)));
    match found {
        Ok(gpu) if gpus.all()[gpu].has(precision) => Ok(Some(gpu)),
        Ok(_) => Err(format!(
            "{name} has no units for {}, so your runs on it do not anchor other GPUs; give the number format of \
             your program with --dtype",
            precision.name()
        )),
        Err(_) => Err(format!(
            "no data sheet has the GPU {name} of your runs, so they do not anchor other GPUs; name the machine type \
             with --machine when you measure"
        )),
    }
}

/// Returns the speeds of the whole job on the configurations that ran.
fn speeds<'a>(
    predictor: &'a JointPredictor,
    arm: usize,
    gpu: &'a str,
    memory_gib: f64,
) -> impl Iterator<Item = OwnSpeed> + 'a {
    let job = predictor.job(arm);
    let splits = distinct(job.observations.iter().map(|run| run.split()));
    splits.into_iter().filter_map(move |split| {
        let prediction = predictor.predict_split(arm, split);
        let log_deviation = prediction.spread.as_ref()?.log_deviation()?;
        let images_per_sec = predictor.definition().images_processed() / prediction.completion_time_secs?;
        Some(OwnSpeed {
            memory_mib: Some((memory_gib * 1024.0) as u32),
            machines: job.context.machines.unwrap_or(1),
            batch_size: batch_size(&job.context.workload),
            log_deviation,
            ..OwnSpeed::new(gpu, gpus_of(&job.context, split.executors), images_per_sec)
        })
    })
}

/// Returns the GPUs of a number of executors.
pub(super) fn gpus_of(context: &Context, executors: u32) -> u32 {
    match context.shared_accelerators() {
        Some(shared) => executors.min(shared),
        None => executors.saturating_mul(context.accelerators_per_executor.unwrap_or(1)),
    }
}

/// Returns the images of a step on one GPU; `None` for a program whose samples do not tell them.
pub(super) fn batch_size(workload: &Workload) -> Option<u32> {
    Some(workload.batch_size).filter(|size| workload.command.is_none() || *size > 1)
}
