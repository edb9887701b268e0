//! Which samples to collect next, what each is worth, and when to stop.
//!
//! Sources: Alipourfard et al., "CherryPick: adaptively unearthing the best cloud configurations for big data analytics",
//! NSDI 2017, §3.4–3.5 (expected improvement times the probability of keeping the limit; stop where it is small);
//! Venkataraman et al., "Ernest: efficient performance prediction for large-scale advanced analytics", NSDI 2016, §3.4
//! (choose runs by what they take from the variance of the predictions, for what they cost).
//!
//! The predictor says what each configuration takes; a [surrogate](surrogate) says how uncertain that still is. A
//! configuration counts as far as it could still be the right one: by the money that it is expected to save over the
//! recommended one. A run is worth what it narrows the uncertainty of those configurations, for each second that it takes.

mod pool;
mod surrogate;

use foreglow_shared::{Job, Question, Resources, sort_by};
use serde::{Deserialize, Serialize};

use self::surrogate::{Contrast, Surrogate};
use crate::{Candidate, DecideError, Decision, FitError, Predictor, Setting, decide};

/// Where no other configuration is expected to save a larger share of the money, more samples are not worth it.
pub const ENOUGH: f64 = 0.02;
/// Where no sample narrows the decision by a larger share, more samples are not worth it.
pub const LEAST_NARROWING: f64 = 0.02;
/// A sample that narrows the decision by a smaller share is not named.
const WORTH_NAMING: f64 = 0.005;
/// Noise of ln t where the predictor cannot say how far it is off, and its bounds where it can.
const USUAL_NOISE: f64 = 0.1;
const NOISE: std::ops::RangeInclusive<f64> = 0.02..=0.5;
/// The quantile that lies one standard deviation above the median of a normal distribution.
const ONE_DEVIATION: f64 = 0.841_344_746_068_542_9;

/// What to collect next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Whether to go on, and why.
    pub verdict: Verdict,
    /// Share of the recommended configuration's money, or of its time where the fastest is asked for, that the most
    /// promising other one is expected to save; `None` where nothing is recommended, or nothing is known of another
    /// configuration.
    pub expected_saving: Option<f64>,
    /// The samples that could be collected, the best first. Before anything can be fitted: the first ones, in order.
    pub suggestions: Vec<Suggestion>,
}

/// Whether to collect more samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing can be predicted yet, for this reason: collect the suggested samples.
    First {
        /// Why nothing can be fitted.
        reason: String,
    },
    /// Another configuration may be the better one, or none is sure enough: collect the first suggestion and ask again.
    GoOn,
    /// Stop: no other configuration promises to save enough.
    Enough,
    /// Stop: no sample narrows the decision any more.
    Exhausted,
}

/// A sample that could be collected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Executor processes, E.
    pub executors: u32,
    /// Task threads of an executor, C.
    pub cores_per_executor: u32,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Images of one task, P.
    pub partition_size: u32,
    /// Share of the images, in (0, 1).
    pub sampling_rate: f64,
    /// Seconds that collecting it is expected to take, start-up included; `None` where unknown.
    pub secs: Option<f64>,
    /// Money that collecting it is expected to cost; `None` where unknown.
    pub cost: Option<f64>,
    /// Share by which it narrows the decision: 1 − the width of the contenders' intervals with it ÷ without it, from 0 to
    /// 1. `None` before anything can be fitted.
    pub narrowing: Option<f64>,
}

/// Advises on the next samples for a question about a job. Deterministic; one fit, and nothing is fitted again for a
/// sample that is weighed.
///
/// # Errors
/// The question is none; see [`decide`].
pub fn advise(job: &Job, question: &Question) -> Result<Advice, DecideError> {
    let predictor = match Predictor::fit_job(job) {
        Ok(predictor) => predictor,
        Err(error) => return first(job, question, &error),
    };
    let decision = decide(&predictor, job, &thin(question))?;
    let surrogate = surrogate(job, &predictor);
    let contenders = Contenders::of(&decision, &surrogate, question);
    let mut suggestions: Vec<Suggestion> = pool::settings(job, question)
        .into_iter()
        .map(|setting| {
            let predicted = predictor.predict(setting).completion_time_secs.map(|secs| secs + startup_secs(job));
            let secs = predicted.or_else(|| rough_secs(job, setting));
            suggestion(job, question, setting, secs, Some(contenders.narrowing(setting)))
        })
        .filter(|suggestion| suggestion.secs.is_some())
        .collect();
    // The sort is stable: equal ones keep the order of their settings.
    sort_by(&mut suggestions, |a, b| b.worth().total_cmp(&a.worth()));
    let narrows = suggestions.iter().any(|suggestion| suggestion.narrowing >= Some(LEAST_NARROWING));
    suggestions.retain(|suggestion| suggestion.narrowing >= Some(WORTH_NAMING));
    let expected_saving = contenders.expected_saving;
    let verdict = match expected_saving {
        Some(saving) if saving <= ENOUGH => Verdict::Enough,
        _ if !narrows => Verdict::Exhausted,
        _ => Verdict::GoOn,
    };
    Ok(Advice { verdict, expected_saving, suggestions })
}

/// The first samples: two sampling rates on one configuration, then a configuration more of each resource.
fn first(job: &Job, question: &Question, error: &FitError) -> Result<Advice, DecideError> {
    question.prices.check()?;
    let pool = pool::settings(job, question);
    let first = job.observations.iter().map(Setting::of).chain(pool.iter().copied()).min_by(|a, b| a.order(b));
    let mut suggestions = Vec::new();
    if let Some(Setting { executors, cores_per_executor, .. }) = first {
        let at = |e: u32, c: u32| pool.iter().filter(move |s| (s.executors, s.cores_per_executor) == (e, c)).copied();
        let largest = |count: fn(&Setting) -> u32| pool.iter().map(count).max().unwrap_or(1);
        let same = at(executors, cores_per_executor);
        let wider = [(largest(|s| s.executors), cores_per_executor), (executors, largest(|s| s.cores_per_executor))];
        let rates_there = job.observations.iter().map(Setting::of).filter(|s| {
            (s.executors, s.cores_per_executor) == (executors, cores_per_executor) && s.sampling_rate < 1.0
        });
        suggestions.extend(same.take(2_usize.saturating_sub(rates_there.count())));
        for (e, c) in wider {
            let is_there = |setting: &Setting| (setting.executors, setting.cores_per_executor) == (e, c);
            let measured = job.observations.iter().any(|run| is_there(&Setting::of(run)));
            if !measured && !suggestions.iter().any(is_there) {
                suggestions.extend(at(e, c).next());
            }
        }
    }
    let suggestions = suggestions
        .into_iter()
        .map(|setting| suggestion(job, question, setting, rough_secs(job, setting), None))
        .collect();
    Ok(Advice { verdict: Verdict::First { reason: error.to_string() }, expected_saving: None, suggestions })
}

/// The question about a part of its configurations, few enough to weigh each against each sample.
fn thin(question: &Question) -> Question {
    Question {
        executors: pool::thinned(&question.executors),
        cores_per_executor: pool::thinned(&question.cores_per_executor),
        ..question.clone()
    }
}

/// What the runs so far leave open. The noise of a run shows in how far predictions are off where runs were made: farther
/// away they are off for other reasons.
fn surrogate(job: &Job, predictor: &Predictor) -> Surrogate {
    let spread = job.observations.first().and_then(|run| predictor.predict(Setting::of(run)).spread);
    let deviation = spread.map(|spread| libm::log(spread.quantile(ONE_DEVIATION))).filter(|noise| noise.is_finite());
    let noise = deviation.map_or(USUAL_NOISE, |noise| noise.clamp(*NOISE.start(), *NOISE.end()));
    let mut surrogate = Surrogate::prior(noise);
    job.observations.iter().for_each(|run| surrogate.observe(Contrast::of(Setting::of(run))));
    surrogate
}

/// The configurations that could still be the right one, and how much each counts.
struct Contenders<'a> {
    surrogate: &'a Surrogate,
    /// What is uncertain about each, and its weight.
    weighted: Vec<(Contrast, f64)>,
    expected_saving: Option<f64>,
}

impl<'a> Contenders<'a> {
    fn of(decision: &Decision, surrogate: &'a Surrogate, question: &Question) -> Self {
        let is_limited = question.deadline_secs.is_some() || question.budget.is_some();
        let possible = || decision.candidates.iter().filter(|candidate| candidate.exclusion.is_none());
        let Some(best) = decision.recommended.map(|index| &decision.candidates[index]) else {
            // Nothing is sure enough: what counts is whether a configuration keeps the limits.
            let open = |candidate: &Candidate| {
                let kept = candidate.success_probability.unwrap_or(0.5);
                (whole(candidate), (kept * (1.0 - kept)).max(f64::EPSILON))
            };
            return Self { surrogate, weighted: possible().map(open).collect(), expected_saving: None };
        };
        let mut weighted = Vec::new();
        let mut expected_saving = Some(0.0_f64);
        for candidate in possible().filter(|candidate| *candidate != best) {
            let difference = whole(candidate).minus(whole(best));
            let kept = if is_limited { candidate.success_probability.unwrap_or(0.5) } else { 1.0 };
            let ratio = ratio(candidate, best, question);
            let saving = ratio.map(|ratio| kept * expected_improvement(ratio, surrogate.variance(difference).sqrt()));
            expected_saving = expected_saving.zip(saving).map(|(most, saving)| most.max(saving));
            // Of a configuration that nothing is known of, everything is open.
            let saving = saving.unwrap_or(1.0);
            // A limit is kept or not by the time itself, a comparison decided by the difference.
            weighted.push((if is_limited { whole(candidate) } else { difference }, saving));
        }
        if is_limited {
            weighted.push((whole(best), 1.0 - best.success_probability.unwrap_or(0.5)));
        }
        Self { surrogate, weighted, expected_saving }
    }

    /// Share by which a sample narrows what is uncertain: a weighted mean of variances, as a standard deviation.
    fn narrowing(&self, setting: Setting) -> f64 {
        let run = Contrast::of(setting);
        let sum = |part: &dyn Fn(Contrast) -> f64| {
            self.weighted.iter().map(|(contrast, weight)| weight * part(*contrast)).sum::<f64>()
        };
        let before = sum(&|contrast| self.surrogate.variance(contrast));
        let lowered = sum(&|contrast| self.surrogate.reduction(contrast, run));
        if before > 0.0 { 1.0 - (1.0 - lowered / before).max(0.0).sqrt() } else { 0.0 }
    }
}

/// The whole job on a candidate.
fn whole(candidate: &Candidate) -> Contrast {
    let Candidate { executors, cores_per_executor, .. } = *candidate;
    Contrast::of(Setting { executors, cores_per_executor, sampling_rate: 1.0 })
}

/// What a candidate takes of what the best one takes: of the money or, without prices, executor-hours, or of the time where the fastest is asked for. `None`
/// where its time is unknown.
fn ratio(candidate: &Candidate, best: &Candidate, question: &Question) -> Option<f64> {
    let secs = |one: &Candidate| one.prediction.completion_time_secs;
    if question.wants_speed() {
        return Some(secs(candidate)? / secs(best)?);
    }
    Some(candidate.burden? / best.burden?)
}

/// Share that is saved in the mean, where ln of the true ratio is normal about that of this one, with this standard
/// deviation: E[(1 − ρ)⁺] = Φ(a) − e^(μ + s²/2) Φ(a − s), a = −μ/s, the expected improvement of a lognormal ratio.
fn expected_improvement(ratio: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return (1.0 - ratio).max(0.0);
    }
    let mean = libm::log(ratio);
    let a = -mean / deviation;
    (normal_below(a) - libm::exp(mean + deviation * deviation / 2.0) * normal_below(a - deviation)).max(0.0)
}

fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

impl Suggestion {
    /// Narrowing for each second.
    fn worth(&self) -> f64 {
        self.narrowing.unwrap_or(0.0) / self.secs.unwrap_or(f64::INFINITY)
    }
}

fn suggestion(
    job: &Job,
    question: &Question,
    setting: Setting,
    secs: Option<f64>,
    narrowing: Option<f64>,
) -> Suggestion {
    let Setting { executors, cores_per_executor, sampling_rate } = setting;
    let memory_per_executor_mib = question.memory_per_executor_mib;
    let accelerated = job.context.accelerator.is_some();
    let resources = Resources { executors, cores_per_executor, memory_per_executor_mib, accelerated };
    Suggestion {
        executors,
        cores_per_executor,
        memory_per_executor_mib,
        partition_size: pool::partition_size(job),
        sampling_rate,
        secs,
        cost: secs.and_then(|secs| question.prices.cost(resources, secs)),
        narrowing,
    }
}

/// The usual start-up: the median of those that were measured.
fn startup_secs(job: &Job) -> f64 {
    let mut startups: Vec<f64> = job.observations.iter().filter_map(|run| run.startup_secs).collect();
    startups.sort_by(f64::total_cmp);
    startups.get(startups.len() / 2).copied().unwrap_or(0.0)
}

/// Seconds of a setting in proportion to its images and in inverse proportion to its task threads, from the first run.
fn rough_secs(job: &Job, setting: Setting) -> Option<f64> {
    let run = job.observations.first()?;
    let share = |setting: Setting| setting.sampling_rate / f64::from(setting.slots().max(1));
    Some(run.completion_time_secs * share(setting) / share(Setting::of(run)) + startup_secs(job))
}
