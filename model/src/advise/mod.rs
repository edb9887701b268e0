//! Advice on which samples to collect next, what each is worth, and when to stop.
//!
//! The predictor gives the time of each configuration, and a [surrogate](surrogate) the
//! uncertainty. A configuration is weighted by the cost that it is expected to save over the
//! recommended one. The value of a run is the reduction of these configurations' uncertainty per
//! second of the run.
//!
//! Sources: Alipourfard et al., "CherryPick: adaptively unearthing the best cloud configurations
//! for big data analytics", NSDI 2017, §3.4–3.5 (expected improvement times the probability of
//! meeting the limit; stop when it is small); Venkataraman et al., "Ernest: efficient performance
//! prediction for large-scale advanced analytics", NSDI 2016, §3.4 (choose runs by the reduction of
//! the predictions' variance for their cost).

pub(crate) mod pool;
mod surrogate;

use std::collections::BTreeSet;

use foreglow_numeric::median;
use foreglow_shared::{Job, Question, Resources, WhatIf, sort_by};
use serde::{Deserialize, Serialize};

use self::surrogate::Surrogate;
pub(crate) use self::surrogate::{Contrast, EFFECTS, PRIOR};
use crate::{Candidate, DecideError, Predictor, Setting, decide, decide_again};

/// Stopping threshold: the expected saving, as a share of the cost, below which more samples are
/// not worth it.
pub const LEAST_SAVING: f64 = 0.02;
/// Stopping threshold: the narrowing of the decision below which no sample is worth it.
pub const LEAST_NARROWING: f64 = 0.02;
/// Samples that narrow the decision by less are not suggested.
pub(crate) const WORTH_NAMING: f64 = 0.005;
/// Default standard deviation of ln t between equal runs if the predictor has no error estimate,
/// and bounds of the estimate.
pub(crate) const USUAL_NOISE: f64 = 0.1;
pub(crate) const NOISE: std::ops::RangeInclusive<f64> = 0.02..=0.5;
/// Probability one standard deviation above the median of a normal distribution.
pub(crate) const ONE_DEVIATION: f64 = 0.841_344_746_068_542_9;

/// What to collect next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Whether to continue, and why.
    pub verdict: Verdict,
    /// The configuration that [`decide`] recommends from the runs so far; `None` if none meets the
    /// limits, or nothing can be fitted yet.
    pub recommended: Option<WhatIf>,
    /// Expected saving of the most promising alternative, as a share of the recommended
    /// configuration's cost, or of its time if the fastest is asked for. `None` if there is no
    /// recommendation, or the time of an alternative is unknown.
    pub expected_saving: Option<f64>,
    /// Samples to collect, the best first. If nothing can be fitted yet, the first samples in
    /// order.
    pub suggestions: Vec<Suggestion>,
}

/// Whether to collect more samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing can be predicted yet: collect the suggested samples.
    First {
        /// Why no predictor can be fitted.
        reason: String,
    },
    /// Another configuration may be better, or no configuration is certain enough: collect the
    /// first suggestion and ask again.
    GoOn,
    /// Stop: no alternative is expected to save enough.
    Enough,
    /// Stop: no sample narrows the decision further.
    Exhausted,
}

/// A sample to collect.
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
    /// Sampling rate, in (0, 1).
    pub sampling_rate: f64,
    /// Expected time to collect it, start-up included, seconds; `None` if unknown.
    pub secs: Option<f64>,
    /// Expected cost to collect it; `None` if unknown.
    pub cost: Option<f64>,
    /// Share by which the sample narrows the decision: 1 − (width of the contenders' intervals with
    /// the sample ÷ width without it), in [0, 1]. `None` before anything can be fitted.
    pub narrowing: Option<f64>,
}

/// Advises on the next samples for a question about a job. The result is deterministic, and the
/// predictor is fitted only once.
///
/// # Errors
/// The errors of [`decide`].
pub fn advise(job: &Job, question: &Question) -> Result<Advice, DecideError> {
    let predictor = match Predictor::fit_job(job) {
        Ok(predictor) => predictor,
        Err(error) => return first(job, question, error.to_string()),
    };
    let decision = decide(&predictor, job, question)?;
    let best = decision.recommended.map(|index| &decision.candidates[index]);
    let few = decide_again(&predictor, job, &thin(question), &decision)?;
    let surrogate = surrogate(job, &predictor);
    let contenders = Contenders::of(best, &few.candidates, &surrogate, question);
    let mut suggestions: Vec<Suggestion> = pool::settings(job, question)
        .into_iter()
        .map(|setting| {
            let predicted = predictor.predict(setting).completion_time_secs.map(|secs| secs + startup_secs(job));
            let secs = predicted.or_else(|| rough_secs(job, setting));
            suggestion(job, question, setting, secs, Some(contenders.narrowing(setting)))
        })
        .filter(|suggestion| suggestion.secs.is_some())
        .collect();
    // The sort is stable: equal suggestions keep the order of their settings.
    sort_by(&mut suggestions, |a, b| b.worth().total_cmp(&a.worth()));
    let narrows = suggestions.iter().any(|suggestion| suggestion.narrowing >= Some(LEAST_NARROWING));
    suggestions.retain(|suggestion| suggestion.narrowing >= Some(WORTH_NAMING));
    let expected_saving = contenders.expected_saving;
    let verdict = match expected_saving {
        Some(saving) if saving <= LEAST_SAVING => Verdict::Enough,
        _ if !narrows => Verdict::Exhausted,
        _ => Verdict::GoOn,
    };
    let recommended = best
        .map(|best| best.split())
        .map(|split| WhatIf { executors: split.executors, cores_per_executor: split.cores_per_executor });
    Ok(Advice { verdict, recommended, expected_saving, suggestions })
}

/// Suggests the first samples: two sampling rates on one configuration, then one configuration with
/// more of each resource. `reason` says why nothing can be predicted.
pub(crate) fn first(job: &Job, question: &Question, reason: String) -> Result<Advice, DecideError> {
    question.prices.check()?;
    let pool = pool::settings(job, question);
    let first = job.observations.iter().map(Setting::of).chain(pool.iter().copied()).min_by(|a, b| a.order(b));
    let mut suggestions = Vec::new();
    if let Some(Setting { executors, cores_per_executor, .. }) = first {
        let at = |e: u32, c: u32| pool.iter().filter(move |s| (s.executors, s.cores_per_executor) == (e, c)).copied();
        let largest = |count: fn(&Setting) -> u32| pool.iter().map(count).max().unwrap_or(1);
        let same = at(executors, cores_per_executor);
        let wider = [(largest(|s| s.executors), cores_per_executor), (executors, largest(|s| s.cores_per_executor))];
        let small_there = job.observations.iter().map(Setting::of).filter(|s| {
            (s.executors, s.cores_per_executor) == (executors, cores_per_executor) && s.sampling_rate < 1.0
        });
        let rates_there: BTreeSet<u64> = small_there.map(|s| s.sampling_rate.to_bits()).collect();
        suggestions.extend(same.take(2_usize.saturating_sub(rates_there.len())));
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
    Ok(Advice { verdict: Verdict::First { reason }, recommended: None, expected_saving: None, suggestions })
}

/// Thins the configurations of the question, so that every pair of a configuration and a sample can
/// be evaluated.
fn thin(question: &Question) -> Question {
    Question {
        executors: pool::thinned(&question.executors),
        cores_per_executor: pool::thinned(&question.cores_per_executor),
        ..question.clone()
    }
}

/// Returns the uncertainty after the runs so far. The noise between runs is estimated from the
/// spread at a measured setting: elsewhere the spread includes other errors.
fn surrogate(job: &Job, predictor: &Predictor) -> Surrogate {
    let spread = job.observations.first().and_then(|run| predictor.predict(Setting::of(run)).spread);
    let deviation = spread.map(|spread| libm::log(spread.quantile(ONE_DEVIATION))).filter(|noise| noise.is_finite());
    let noise = deviation.map_or(USUAL_NOISE, |noise| noise.clamp(*NOISE.start(), *NOISE.end()));
    let mut surrogate = Surrogate::prior(noise);
    job.observations.iter().for_each(|run| surrogate.observe(Contrast::of(Setting::of(run))));
    surrogate
}

/// The configurations that may turn out to be the best, with weights.
struct Contenders<'a> {
    surrogate: &'a Surrogate,
    /// The uncertain quantity of each configuration, and its weight.
    weighted: Vec<(Contrast, f64)>,
    expected_saving: Option<f64>,
}

impl<'a> Contenders<'a> {
    /// `best` is the recommended configuration.
    fn of(best: Option<&Candidate>, all: &[Candidate], surrogate: &'a Surrogate, question: &Question) -> Self {
        let is_limited = question.deadline_secs.is_some() || question.budget.is_some();
        // No sample tells an accuracy or a price, or makes memory larger.
        let is_unpriced = |candidate: &Candidate| candidate.burden.is_some() && candidate.cost.is_none();
        let is_open = |candidate: &&Candidate| {
            candidate.exclusion.is_none()
                && candidate.keeps_accuracy
                && !(question.budget.is_some() && is_unpriced(candidate))
        };
        let open = || all.iter().filter(is_open);
        let Some(best) = best else {
            // Without a recommendation, the open question is whether a configuration meets the
            // limits: none if even the likeliest hardly can.
            let kept = |candidate: &Candidate| candidate.success_probability.unwrap_or(0.5);
            let is_hopeless = open().all(|candidate| kept(candidate) < LEAST_SAVING);
            let weight = |candidate: &Candidate| (whole(candidate), kept(candidate) * (1.0 - kept(candidate)));
            let weighted = if is_hopeless { Vec::new() } else { open().map(weight).collect() };
            return Self { surrogate, weighted, expected_saving: None };
        };
        let mut weighted = Vec::new();
        let mut expected_saving = Some(0.0_f64);
        for candidate in open().filter(|candidate| candidate.split() != best.split()) {
            let difference = whole(candidate).minus(whole(best));
            let kept = if is_limited { candidate.success_probability.unwrap_or(0.5) } else { 1.0 };
            let ratio = ratio(candidate, best, question);
            let saving = ratio.map(|ratio| kept * expected_improvement(ratio, surrogate.variance(difference).sqrt()));
            expected_saving = expected_saving.zip(saving).map(|(most, saving)| most.max(saving));
            // The largest weight if the configuration's time is unknown.
            let saving = saving.unwrap_or(1.0);
            // With limits the time itself matters, without them only the difference to the best.
            weighted.push((if is_limited { whole(candidate) } else { difference }, saving));
        }
        if is_limited {
            weighted.push((whole(best), 1.0 - best.success_probability.unwrap_or(0.5)));
        }
        Self { surrogate, weighted, expected_saving }
    }

    /// Returns the share by which a sample narrows the uncertainty: the weighted mean of variances,
    /// as a standard deviation.
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

/// Returns the contrast of the whole job on a candidate.
fn whole(candidate: &Candidate) -> Contrast {
    Contrast::of(Setting::at(candidate.split(), 1.0))
}

/// Returns a candidate's cost relative to the best (executor-hours without prices), or its time if
/// the fastest is asked for. `None` if its time is unknown.
fn ratio(candidate: &Candidate, best: &Candidate, question: &Question) -> Option<f64> {
    let secs = |one: &Candidate| one.prediction.completion_time_secs;
    if question.wants_speed() {
        return Some(secs(candidate)? / secs(best)?);
    }
    Some(candidate.burden? / best.burden?)
}

/// Returns the expected saving if ln of the true ratio is normal with mean ln `ratio` and standard
/// deviation `deviation`: E[(1 − ρ)⁺] = Φ(a) − e^(μ + s²/2) Φ(a − s) with a = −μ/s, the expected
/// improvement of a lognormal ratio.
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
    /// Returns the narrowing per second.
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
    let Setting { executors, cores_per_executor, total_cores, sampling_rate } = setting;
    let memory_per_executor_mib = question.memory_per_executor_mib;
    let resources = Resources {
        executors,
        cores_per_executor,
        total_cores,
        memory_per_executor_mib,
        accelerated: job.context.accelerator.is_some(),
        shared_accelerators: job.context.shared_accelerators(),
    };
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

/// Returns the median of the measured start-up times, seconds; 0 without any.
fn startup_secs(job: &Job) -> f64 {
    median(job.observations.iter().filter_map(|run| run.startup_secs))
}

/// Estimates the time of a setting from the first run, seconds: proportional to the images and
/// inversely proportional to the task threads, plus start-up.
pub(crate) fn rough_secs(job: &Job, setting: Setting) -> Option<f64> {
    let run = job.observations.first()?;
    let share = |setting: Setting| setting.sampling_rate / f64::from(setting.slots().max(1));
    Some(run.completion_time_secs * share(setting) / share(Setting::of(run)) + startup_secs(job))
}
