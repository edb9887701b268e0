//! The first runs of a job, before any time can be predicted.

use foreglow_numeric::median;
use foreglow_shared::{Job, JobGroup, Observation, distinct};

use super::pool::{most_executors, partition_size, settings};
use super::{Advice, Suggestion, Verdict};
use crate::joint::FittedArm;
use crate::{Arm, DecideError, Limits, Objective, Placement, Plan, Setting, Space};

/// Why runs that could be fitted predict no choice.
const TOO_FEW: &str = "the runs so far are too few to compare configurations or machine types";

/// Largest share of the job of a first run whose progress tells the whole: a tenth has an error of
/// 4 % (docs/accuracy.md, "Public training programs").
const LONG: f64 = 0.1;

/// Proposes the first runs on the machine type with the most runs: two sampling rates on one
/// configuration, then one configuration with more of each resource.
pub(super) fn first_runs(group: &JobGroup, plan: &Plan, limits: &Limits) -> Result<Advice, DecideError> {
    let most = group.jobs.iter().max_by_key(|job| job.observations.len());
    let Some(job) = most else { return Err(DecideError::NoConfiguration) };
    let predictor = plan.predictor();
    let arms = predictor.arms();
    let of_job = arms.iter().position(|arm| arm.machine == job.context.machine_name());
    let Some(index) = of_job else { return Err(DecideError::NoConfiguration) };
    let (arm, fitted) = (&arms[index], predictor.fitted(index));
    let reason = fitted.unfit.as_ref().map_or_else(|| TOO_FEW.to_owned(), ToString::to_string);
    let suggestions = first_settings(job, &counts(arm, job, plan.space()), (fitted, plan.space()))
        .into_iter()
        .map(|setting| suggestion(job, (index, fitted), setting, plan, limits))
        .collect();
    Ok(Advice {
        verdict: Verdict::First { reason },
        best: None,
        expected_saving: None,
        saves: Objective::Cost,
        suggestions,
        left_out: Vec::new(),
    })
}

/// Returns the numbers of executors and of cores to choose from.
fn counts(arm: &Arm, job: &Job, space: &Space) -> (Vec<u32>, Vec<u32>) {
    let processors = arm.processors.filter(|_| job.context.engine.is_on_one_machine());
    let largest = |count: fn(&Setting) -> u32| job.observations.iter().map(Setting::of).map(|run| count(&run)).max();
    let counts = |given: &[u32], measured: Option<u32>| match given {
        [] => (1..=processors.or(measured).unwrap_or(1)).collect(),
        given => given.to_vec(),
    };
    let most = most_executors(job).filter(|_| space.executors.is_empty()).unwrap_or(u32::MAX);
    let executors = counts(&space.executors, largest(|run| run.executors));
    (
        executors.into_iter().filter(|executors| *executors <= most).collect(),
        counts(&space.cores_per_executor, largest(|run| run.cores_per_executor)),
    )
}

/// Returns the settings of the first runs, in order.
fn first_settings(
    job: &Job,
    (executors, cores): &(Vec<u32>, Vec<u32>),
    (fitted, space): (&FittedArm, &Space),
) -> Vec<Setting> {
    let memory = space.memory_per_executor_mib.unwrap_or(fitted.memory_per_executor_mib);
    let pool = settings(job, executors, cores, memory);
    let first = job.observations.iter().map(Setting::of).chain(pool.iter().copied()).min_by(|a, b| a.order(b));
    let Some(Setting { executors, cores_per_executor, .. }) = first else { return Vec::new() };
    let at = |e: u32, c: u32| pool.iter().filter(move |s| (s.executors, s.cores_per_executor) == (e, c)).copied();
    let largest = |count: fn(&Setting) -> u32| pool.iter().map(count).max().unwrap_or(1);
    let same = at(executors, cores_per_executor);
    let wider = [(largest(|s| s.executors), cores_per_executor), (executors, largest(|s| s.cores_per_executor))];
    let small_there =
        job.observations.iter().map(Setting::of).filter(|s| {
            (s.executors, s.cores_per_executor) == (executors, cores_per_executor) && s.sampling_rate < 1.0
        });
    let rates_there = distinct(small_there.map(|s| s.sampling_rate.to_bits()));
    // A part of the job whose progress tells the whole needs no other one on its configuration,
    // and a long part elsewhere.
    let is_whole_known = |run: &Observation| {
        (run.executors, run.cores_per_executor) == (executors, cores_per_executor) && run.log_error > 0.0
    };
    let needed: usize = if job.observations.iter().any(is_whole_known) { 0 } else { 2 };
    let mut chosen: Vec<Setting> = same.take(needed.saturating_sub(rates_there.len())).collect();
    for (e, c) in wider {
        let is_there = |setting: &Setting| (setting.executors, setting.cores_per_executor) == (e, c);
        let measured = job.observations.iter().any(|run| is_there(&Setting::of(run)));
        if !measured && !chosen.iter().any(is_there) {
            let long = at(e, c).rfind(|setting| needed == 0 && setting.sampling_rate <= LONG);
            chosen.extend(long.or_else(|| at(e, c).next()));
        }
    }
    chosen
}

fn suggestion(
    job: &Job,
    (arm, fitted): (usize, &FittedArm),
    setting: Setting,
    plan: &Plan,
    limits: &Limits,
) -> Suggestion {
    let Setting { executors, cores_per_executor, sampling_rate, .. } = setting;
    let memory_per_executor_mib = plan.space().memory_per_executor_mib.unwrap_or(fitted.memory_per_executor_mib);
    let placement = Placement::new(arm, setting.split(), memory_per_executor_mib);
    let secs = rough_secs(job, setting);
    // How many machines of a catalog the run needs is not known yet.
    let is_priced = plan.pricing(arm).machine_type().is_none();
    let rate = plan.rate(placement, limits).filter(|_| is_priced);
    Suggestion {
        machine: job.context.machine_name(),
        is_new_machine: job.observations.is_empty() && !plan.predictor().was_tried_on(&job.context.machine_name()),
        executors,
        cores_per_executor,
        memory_per_executor_mib,
        batch_size: job.context.workload.batch_size,
        average_every: job.context.workload.average_every,
        partition_size: partition_size(job),
        sampling_rate,
        secs,
        cost: secs.zip(rate).map(|(secs, rate)| rate.cost(secs)),
        expected_saving: None,
        context: Some(job.context.clone()),
    }
}

/// Estimates the time of a setting from the first run, seconds: proportional to the images and
/// inversely proportional to the task threads, plus start-up.
fn rough_secs(job: &Job, setting: Setting) -> Option<f64> {
    let run = job.observations.first()?;
    let share = |setting: Setting| setting.sampling_rate / f64::from(setting.slots().max(1));
    let startup_secs = median(job.observations.iter().filter_map(|run| run.startup_secs));
    Some(run.completion_time_secs * share(setting) / share(Setting::of(run)) + startup_secs)
}
