//! Proposes the next run over all machine types, with its expected saving, and says when to stop.
//!
//! The times of configurations come from the [`Comparison`]. Times that cannot be predicted yet, as
//! on a machine type that was never measured, are guessed from the others. A [Gaussian
//! process](belief) gives their uncertainty and its reduction by a run. The value of a run is the
//! [expected saving](knowledge_gradient) of the decision after it, per cost of the run.

mod belief;
mod knowledge_gradient;
mod site;
mod space;

use foreglow_shared::{Context, Engine, Host, JobGroup, MachineType, Question, sort_by};
use serde::{Deserialize, Serialize};

use self::belief::Belief;
use self::knowledge_gradient::KnowledgeGradient;
use self::site::Site;
use self::space::{Choice, Run, Space};
use crate::advise::{LEAST_SAVING, WORTH_NAMING, first};
use crate::comparison::Timed;
use crate::comparison::decide::Quantiles;
use crate::comparison::limits::is_in_time;
use crate::{
    Arm, Comparison, DecideError, JointPredictor, MachineLimits, Offer, Placement, Predictor, Suggestion, Verdict,
};

/// Accelerator of a machine type on which no run named it.
const UNNAMED_GPU: &str = "gpu";

/// What to run next, over all machine types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextRuns {
    /// Whether to go on, and why.
    pub verdict: Verdict,
    /// The recommendation from the runs so far; `None` if no configuration meets the limits.
    pub best: Option<BestSoFar>,
    /// Largest expected saving of a run, as a share of the cost of the recommended configuration or
    /// of its time. `None` without a recommendation.
    pub expected_saving: Option<f64>,
    /// Whether the saving is a share of the cost or of the time.
    pub saves: Saves,
    /// Runs to make, the best first: by expected saving per cost, or per second without a price. If
    /// nothing can be fitted yet, the first runs in order.
    pub runs: Vec<NextRun>,
    /// Machine types that cannot be measured for this job, and why.
    pub left_out: Vec<(String, String)>,
}

/// The recommended configuration: that of [`Comparison::decide`], or without prices the fastest
/// that meets the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestSoFar {
    /// The configuration.
    pub placement: Placement,
    /// Its predicted time, seconds.
    pub secs: f64,
    /// Its cost; `None` if no price is known.
    pub cost: Option<f64>,
}

/// The objective of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Saves {
    /// Money of the whole job.
    Money,
    /// Time of the whole job: no price is known, or the fastest within a budget is asked for.
    Time,
}

/// A run to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextRun {
    /// Name of the machine type, or a description of the hardware.
    pub machine: String,
    /// Whether the job was never measured on the machine type.
    pub is_new_machine: bool,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Mini-batches between two averages of the executors; `None` unless the job trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_every: Option<u32>,
    /// The sample to collect. Its narrowing is unknown.
    #[serde(flatten)]
    pub suggestion: Suggestion,
    /// Expected saving of the decision after the run, as a share of the recommended cost or time;
    /// without a recommended configuration, the probability that the run finds one. `None` before
    /// anything can be fitted.
    pub expected_saving: Option<f64>,
    /// Context of the sample.
    #[serde(skip)]
    pub context: Option<Context>,
}

/// Proposes the next runs of a job: on all measured machine types of the offer, and on `unmeasured`
/// ones of its catalog.
///
/// # Errors
/// The errors of [`Comparison::decide`].
pub fn next_runs(
    group: &JobGroup,
    comparison: &Comparison,
    offer: &Offer,
    limits: &MachineLimits,
    unmeasured: &[MachineType],
) -> Result<NextRuns, DecideError> {
    let decision = comparison.decide(limits)?;
    let (unmeasured, left_out) = measurable(comparison.predictor().arms(), unmeasured);
    let space = Space::of(comparison.predictor(), offer, &unmeasured);
    if !space.has_times() {
        return first_runs(group, comparison, offer);
    }
    let (points, noise) = space.runs_so_far();
    let belief = Belief::after(points, noise);
    let choices = space.choices(comparison, offer, limits);
    let recommended = decision.recommended.map(|place| decision.candidates[place].placement);
    let best = match recommended {
        Some(placement) => choices.iter().position(|choice| choice.is_known && choice.timed.placement == placement),
        // Nothing has a price, so the fastest in time is the best.
        None if choices.iter().all(|choice| choice.rate.is_none()) && !limits.is_about_money() => {
            fastest(&choices, limits)
        }
        None => None,
    };
    let gradient = KnowledgeGradient::new(&space, &belief, &choices, best, *limits);
    let of_site = |site: usize| space.runs(site, offer, limits);
    let all = (0..space.sites.len()).filter(|site| gradient.matters(*site)).flat_map(of_site);
    let has_price = choices.iter().any(|choice| choice.rate.is_some());
    let mut worth: Vec<(f64, Run)> = all
        // A run of unknown cost cannot be ranked by its saving per cost.
        .filter(|run| run.rate.is_some() || !has_price)
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
    let runs = worth.iter().map(|(saving, run)| described(&space, run, *saving, limits)).collect();
    let saves = if gradient.saves_money { Saves::Money } else { Saves::Time };
    let best = best.map(|place| BestSoFar::of(&choices[place]));
    Ok(NextRuns { verdict, expected_saving: best.map(|_| most), best, saves, runs, left_out })
}

impl BestSoFar {
    fn of(choice: &Choice) -> Self {
        let Timed { placement, secs, .. } = choice.timed;
        Self { placement, secs, cost: choice.rate.map(|rate| rate.cost(secs)) }
    }
}

/// Returns the place of the fastest configuration that meets the deadline, as in
/// [`Comparison::decide`].
fn fastest(choices: &[Choice], limits: &MachineLimits) -> Option<usize> {
    let mut quantiles = Quantiles::default();
    let mut keeps = |choice: &Choice| is_in_time(quantiles.late_secs(&choice.timed, limits.probability), limits);
    let known = choices.iter().enumerate().filter(|(_, choice)| choice.is_known && keeps(choice));
    known.min_by(|(_, a), (_, b)| a.timed.secs.total_cmp(&b.timed.secs)).map(|(place, _)| place)
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

fn described(space: &Space, run: &Run, saving: f64, limits: &MachineLimits) -> NextRun {
    let site = &space.sites[run.site];
    let arm = space.arm(site);
    let context = context(space, site);
    let suggestion = Suggestion {
        executors: run.placement.executors,
        cores_per_executor: run.placement.cores_per_executor,
        memory_per_executor_mib: run.placement.memory_per_executor_mib,
        partition_size: arm.partition_size,
        sampling_rate: run.sampling_rate,
        secs: Some(run.secs + limits.startup_secs),
        cost: run.rate.map(|rate| rate.cost(run.secs)),
        narrowing: None,
    };
    NextRun {
        machine: context.machine_name(),
        is_new_machine: space.is_new(site),
        batch_size: arm.batch_size,
        average_every: arm.average_every,
        suggestion,
        expected_saving: Some(saving),
        context: Some(context),
    }
}

/// Returns the context of a run on a site.
fn context(space: &Space, site: &Site) -> Context {
    let measured = &space.fitted(site).job.context;
    match site.unmeasured {
        None => measured.clone(),
        Some(machine) => Context {
            host: Host { machine: Some(machine.name.clone()), ..Host::default() },
            accelerator: measured.accelerator.as_ref().map(|_| UNNAMED_GPU.to_owned()),
            ..measured.clone()
        },
    }
}

/// Suggests the first runs on the machine type with the most runs: before they are made, no time
/// can be predicted.
fn first_runs(group: &JobGroup, comparison: &Comparison, offer: &Offer) -> Result<NextRuns, DecideError> {
    let predictor: &JointPredictor = comparison.predictor();
    let most = group.jobs.iter().max_by_key(|job| job.observations.len());
    let Some(job) = most else { return Err(DecideError::NoConfiguration) };
    let arm = predictor.arms().iter().find(|arm| arm.machine == job.context.machine_name());
    let processors = arm.and_then(|arm| arm.processors).filter(|_| job.context.engine == Engine::Local);
    let mut question = Question::about_job(job);
    let counts = |given: &[u32], measured: &[u32]| match (given, processors) {
        ([], Some(count)) => (1..=count).collect(),
        ([], None) => measured.to_vec(),
        (given, _) => given.to_vec(),
    };
    question.executors = counts(&offer.executors, &question.executors);
    question.cores_per_executor = counts(&offer.cores_per_executor, &question.cores_per_executor);
    let reason = match Predictor::fit_job(job) {
        Err(error) => error.to_string(),
        Ok(_) => "the runs so far are too few to compare machine types".to_owned(),
    };
    let advice = first(job, &question, reason)?;
    let run = |suggestion: Suggestion| NextRun {
        machine: job.context.machine_name(),
        is_new_machine: job.observations.is_empty(),
        batch_size: job.context.workload.batch_size,
        average_every: job.context.workload.average_every,
        suggestion: Suggestion { cost: None, ..suggestion },
        expected_saving: None,
        context: Some(job.context.clone()),
    };
    Ok(NextRuns {
        verdict: advice.verdict,
        best: None,
        expected_saving: None,
        saves: Saves::Money,
        runs: advice.suggestions.into_iter().map(run).collect(),
        left_out: Vec::new(),
    })
}
