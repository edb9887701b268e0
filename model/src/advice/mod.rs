//! Advice on what to measure next, what it is worth, and when to stop.
//!
//! The times of configurations come from the [`Plan`]. Times that cannot be predicted yet, as
//! on a machine type that was never measured, are guessed from the others. A [Gaussian
//! process](belief) gives their uncertainty and its reduction by a run. The value of a run is the
//! [expected saving](knowledge_gradient) of the decision after it, per cost of the run. If nothing
//! can be predicted yet, the [first runs](first) are proposed.

mod belief;
mod contrast;
mod experiments;
mod first;
mod knowledge_gradient;
mod pool;
mod site;

use foreglow_shared::{Context, Host, JobGroup, MachineType, sort_by};
use serde::{Deserialize, Serialize};

use self::belief::Belief;
use self::experiments::{Experiments, Run};
use self::first::first_runs;
use self::knowledge_gradient::KnowledgeGradient;
use self::site::Site;
use crate::cheapest::LEAST_SAVING;
use crate::plan::Timed;
use crate::{Arm, Candidate, DecideError, Interval, Limits, Objective, Placement, Plan, Setting};

/// Runs that are expected to save less are not proposed.
const WORTH_NAMING: f64 = 0.005;
/// Default standard deviation of ln t between equal runs if the predictor has no error estimate,
/// and bounds of the estimate.
const USUAL_NOISE: f64 = 0.1;
const NOISE: std::ops::RangeInclusive<f64> = 0.02..=0.5;
/// Probability one standard deviation above the median of a normal distribution.
const ONE_DEVIATION: f64 = 0.841_344_746_068_542_9;
/// Accelerator of a machine type on which no run named it.
const UNNAMED_GPU: &str = "gpu";

/// What to measure next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Whether to go on, and why.
    pub verdict: Verdict,
    /// The recommendation from the runs so far; `None` if no configuration meets the limits.
    pub best: Option<BestSoFar>,
    /// Largest expected saving of a run, as a share of the recommended configuration's objective.
    /// `None` without a recommendation.
    pub expected_saving: Option<f64>,
    /// The quantity that the saving is a share of.
    pub saves: Objective,
    /// Runs to make, the best first: by expected saving per cost, or per second without a price. If
    /// nothing can be compared yet, the first runs in order.
    pub suggestions: Vec<Suggestion>,
    /// Machine types that cannot be measured for this job, and why.
    pub left_out: Vec<(String, String)>,
}

/// Whether to collect more samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing can be predicted yet: make the suggested runs.
    First {
        /// Why no predictor can be fitted.
        reason: String,
    },
    /// Another configuration may be better, or no configuration is certain enough: make the first
    /// suggested run and ask again.
    GoOn,
    /// Stop: no run is expected to save enough.
    Enough,
    /// Stop: nothing meets the limits, and no run is expected to change that.
    Exhausted,
}

/// The recommended configuration, that of [`Plan::decide`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestSoFar {
    /// The configuration.
    pub placement: Placement,
    /// Its predicted time, seconds.
    pub secs: f64,
    /// The interval of its time; `None` if too few runs tell it.
    pub interval: Option<Interval>,
    /// Its cost; `None` if no price is known.
    pub cost: Option<f64>,
}

/// A run to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Name of the machine type, or a description of the hardware.
    pub machine: String,
    /// Whether the job never ran on the machine type, not even in part.
    pub is_new_machine: bool,
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages of the executors; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_every: Option<u32>,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Sampling rate, in (0, 1).
    pub sampling_rate: f64,
    /// Expected time to collect it, start-up included, seconds; `None` if unknown.
    pub secs: Option<f64>,
    /// Expected cost to collect it; `None` if unknown.
    pub cost: Option<f64>,
    /// Expected saving of the decision after the run, as a share of the recommended configuration's
    /// objective; without a recommended configuration, the probability that the run finds one.
    /// `None` before anything can be predicted.
    pub expected_saving: Option<f64>,
    /// Context of the sample.
    #[serde(skip)]
    pub context: Option<Context>,
}

/// Proposes the next runs of a job: on all measured machine types of the plan, and on `unmeasured`
/// ones of its catalog. The result is deterministic.
///
/// # Errors
/// The errors of [`Plan::decide`].
pub fn advise(
    group: &JobGroup,
    plan: &Plan,
    limits: &Limits,
    unmeasured: &[MachineType],
) -> Result<Advice, DecideError> {
    let decision = plan.decide(limits)?;
    let (unmeasured, left_out) = measurable(plan.predictor().arms(), unmeasured);
    let experiments = Experiments::of(plan.predictor(), plan.space(), &unmeasured);
    if !experiments.has_times() || has_one_setting(group) {
        return first_runs(group, plan, limits);
    }
    let (points, noise) = experiments.runs_so_far();
    let belief = Belief::after(&points, experiments.devices_and_batches(), noise);
    let choices = experiments.choices(plan, limits);
    let place = |candidate: &Candidate| {
        choices.iter().position(|choice| choice.is_known && choice.timed.placement == candidate.placement)
    };
    let best = decision.recommended.and_then(|best| place(&decision.candidates[best]));
    // A faster configuration that counts as equally cheap is recommended, but saves nothing.
    let least = decision.least().and_then(place);
    let gradient = KnowledgeGradient::new(&experiments, &belief, &choices, least, *limits);
    let of_site = |site: usize| experiments.runs(site, plan.space(), limits);
    let all = (0..experiments.sites.len()).filter(|site| gradient.matters(*site)).flat_map(of_site);
    let mut worth: Vec<(f64, Run)> = all
        // A run of unknown cost cannot be ranked by its saving per cost.
        .filter(|run| run.rate.is_some() || decision.objective != Objective::Cost)
        .map(|run| (gradient.saving(&run), run))
        .filter(|(saving, _)| *saving >= WORTH_NAMING)
        .collect();
    let cost = |run: &Run| run.rate.map_or(run.secs + limits.startup_secs, |rate| rate.cost(run.secs));
    let most = worth.iter().map(|(saving, _)| *saving).fold(0.0, f64::max);
    // Runs whose saving is below the stopping threshold come last, even if they are cheap.
    sort_by(&mut worth, |(a, run), (b, other)| {
        (*b >= LEAST_SAVING).cmp(&(*a >= LEAST_SAVING)).then((b / cost(other)).total_cmp(&(a / cost(run))))
    });
    let verdict = match (most >= LEAST_SAVING, best) {
        (true, _) => Verdict::GoOn,
        (false, Some(_)) => Verdict::Enough,
        (false, None) => Verdict::Exhausted,
    };
    let suggestions = worth.iter().map(|(saving, run)| suggestion(&experiments, run, *saving, limits)).collect();
    let saves = if gradient.saves_objective { decision.objective } else { Objective::Time };
    let best = best.map(|place| BestSoFar::of(&choices[place].timed, plan, limits));
    Ok(Advice { verdict, expected_saving: best.as_ref().map(|_| most), best, saves, suggestions, left_out })
}

impl BestSoFar {
    fn of(timed: &Timed, plan: &Plan, limits: &Limits) -> Self {
        let Timed { placement, secs, .. } = *timed;
        let cost = plan.rate(placement, limits).map(|rate| rate.cost(secs));
        Self { placement, secs, interval: plan.predict(placement).interval, cost }
    }
}

/// Whether all runs have one setting, so that they tell only its own time. Event logs tell more.
fn has_one_setting(group: &JobGroup) -> bool {
    let mut measured = group.jobs.iter().filter(|job| !job.observations.is_empty());
    let (Some(job), None) = (measured.next(), measured.next()) else { return false };
    !job.is_logged() && job.observations.iter().all(|run| Setting::of(run) == Setting::of(&job.observations[0]))
}

/// Splits machine types that were never measured into those with the kind of device on which the
/// job ran, and the others, with the reason.
fn measurable(arms: &[Arm], unmeasured: &[MachineType]) -> (Vec<MachineType>, Vec<(String, String)>) {
    let has = |gpu: bool| arms.iter().any(|arm| arm.accelerator.is_some() == gpu);
    let is_like = |machine: &&MachineType| has(machine.accelerators.is_some());
    let (like, unlike): (Vec<&MachineType>, Vec<&MachineType>) = unmeasured.iter().partition(is_like);
    let reason = |machine: &MachineType| {
        let (ran, has) = if machine.accelerators.is_some() { ("GPU", "GPUs") } else { ("CPU", "no GPUs") };
        format!(
            "it has {has}, and the job never ran on a {ran}; collect a first run there with --machine {}",
            machine.name
        )
    };
    let left_out = unlike.into_iter().map(|machine| (machine.name.clone(), reason(machine))).collect();
    (like.into_iter().cloned().collect(), left_out)
}

fn suggestion(experiments: &Experiments, run: &Run, saving: f64, limits: &Limits) -> Suggestion {
    let site = &experiments.sites[run.site];
    let arm = experiments.arm(site);
    let context = context(experiments, site);
    Suggestion {
        machine: context.machine_name(),
        is_new_machine: experiments.is_new(site),
        executors: run.placement.executors,
        cores_per_executor: run.placement.cores_per_executor,
        memory_per_executor_mib: run.placement.memory_per_executor_mib,
        batch_size: arm.batch_size,
        average_every: arm.average_every,
        partition_size: arm.partition_size,
        sampling_rate: run.sampling_rate,
        secs: Some(run.secs + limits.startup_secs),
        cost: run.rate.map(|rate| rate.cost(run.secs)),
        expected_saving: Some(saving),
        context: Some(context),
    }
}

/// Returns the context of a run on a site.
fn context(experiments: &Experiments, site: &Site) -> Context {
    let measured = &experiments.fitted(site).job.context;
    match site.unmeasured {
        None => measured.clone(),
        Some(machine) => Context {
            host: Host { machine: Some(machine.name.clone()), ..Host::default() },
            accelerator: measured.accelerator.as_ref().map(|_| UNNAMED_GPU.to_owned()),
            ..measured.clone()
        },
    }
}
