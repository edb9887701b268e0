//! The data of the charts: predictions of one arm over executors and cores, and its runs.

use foreglow_model::{Candidate, HeldOut, Plan, Prediction, Predictor, Setting, Space};
use foreglow_shared::{Observation, Question, WhatIf, distinct, sort_by, sort_by_cached_key};

use super::decided::Decided;
use super::view::{Cell, ChartView, Grid, HeldOutRun, LinePoint, PlanView, RunView};
use crate::plot::counts::thinned;

/// Limit on the cells along each axis, for distinguishable cells.
const MOST_EXECUTORS: usize = 48;
const MOST_CORES: usize = 28;
/// Number of configurations along the what-if's line for which an interval is computed.
const BAND: usize = 12;
/// Number of points of the curve by sampling rate. Each point also evaluates larger sampling rates.
const RATES: u32 = 12;

/// The lines through the what-if.
pub struct Lines {
    pub by_executors: Vec<(u32, f64)>,
    pub by_cores: Vec<(u32, f64)>,
    pub band: Vec<LinePoint>,
    pub by_rate: Vec<(f64, f64)>,
}

/// Collects the data of the charts of an arm.
pub(super) fn charts(plan: &Plan, arm: usize, decided: &Decided, question: &Question) -> ChartView {
    let mut view = ChartView { arm, ..ChartView::default() };
    if arm >= plan.predictor().arms().len() {
        return view;
    }
    view.grid = grid(plan, arm, decided, question);
    let (predictor, job, own) = (plan.predictor(), plan.predictor().job(arm), plan.predictor().own(arm));
    let whole_job = predictor.whole_job(arm);
    let whole_job_secs = own.map(|own| whole_job_secs((own, whole_job), &job.observations));
    let run = |(place, run): (usize, &Observation)| {
        let measured = (run.sampling_rate == whole_job).then_some(run.completion_time_secs);
        RunView {
            run: Observation { sampling_rate: run.sampling_rate / whole_job, ..*run },
            whole_job_secs: whole_job_secs.as_ref().map_or(measured, |secs| secs[place]),
            predicted_secs: own.and_then(|own| predicted_secs(own, Setting::of(run))),
        }
    };
    view.runs = job.observations.iter().enumerate().map(run).collect();
    let held_out = own.map(Predictor::held_out).unwrap_or_default().into_iter();
    view.held_out = held_out
        .map(|HeldOut { setting, measured_secs, predicted_secs }| {
            let setting = Setting { sampling_rate: setting.sampling_rate / whole_job, ..setting };
            HeldOutRun { setting, measured_secs, predicted_secs }
        })
        .collect();
    view
}

/// The executors and cores that the charts of an arm show.
fn counts(arm: usize, view: &PlanView, question: &Question) -> (Vec<u32>, Vec<u32>) {
    if !view.lists_all() {
        return (question.executors.clone(), question.cores_per_executor.clone());
    }
    let of =
        |count: fn(WhatIf) -> u32| distinct(view.rows.iter().filter(|row| row.arm == arm).map(|row| count(row.counts)));
    (of(|counts| counts.executors), of(|counts| counts.cores_per_executor))
}

fn grid(plan: &Plan, arm: usize, decided: &Decided, question: &Question) -> Grid {
    let (executors, cores) = counts(arm, &decided.view, question);
    let (executors, cores) = (thinned(&executors, MOST_EXECUTORS), thinned(&cores, MOST_CORES));
    let decision = match decided.view.lists_all() {
        true => None,
        false => of_grid(plan, arm, decided, (&executors, &cores)),
    };
    let candidates = decision.as_ref().unwrap_or(&decided.decision).candidates.iter();
    let key = |candidate: &Candidate| (candidate.placement.executors, candidate.placement.cores_per_executor);
    let mut candidates: Vec<&Candidate> = candidates.filter(|candidate| candidate.placement.arm == arm).collect();
    sort_by_cached_key(&mut candidates, |candidate| key(candidate));
    let cell = |executors: u32, cores: u32| {
        let after = candidates.partition_point(|candidate| key(candidate) <= (executors, cores));
        let candidate = candidates[..after].last().filter(|candidate| key(candidate) == (executors, cores))?;
        let prediction = &candidate.prediction;
        let in_time = |deadline: f64| plan.predictor().chance(arm, candidate.split(), prediction, deadline);
        Some(Cell {
            secs: prediction.completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)?,
            interval: prediction.interval,
            cost: candidate.cost,
            chance: decided.limits.deadline_secs.and_then(in_time),
        })
    };
    let cells =
        executors.iter().map(|executors| cores.iter().map(|cores| cell(*executors, *cores)).collect()).collect();
    let one_executor = plan.times(arm, &[1], &cores).concat();
    let one_core = plan.times(arm, &executors, &[1]).concat();
    Grid { executors, cores, cells, one_executor, one_core }
}

/// Decides among the configurations of a thinned grid of an arm.
fn of_grid(
    plan: &Plan,
    arm: usize,
    decided: &Decided,
    (executors, cores): (&[u32], &[u32]),
) -> Option<foreglow_model::Decision> {
    let own = &plan.predictor().arms()[arm];
    let space = Space {
        machines: vec![own.machine.clone()],
        batch_sizes: vec![own.batch_size],
        executors: executors.to_vec(),
        cores_per_executor: cores.to_vec(),
        ..decided.space.clone()
    };
    Plan::new(plan.predictor().clone(), space).ok()?.decide(&decided.limits).ok()
}

/// Predicts the lines through a configuration.
pub(super) fn lines(plan: &Plan, arm: usize, counts: WhatIf, view: &PlanView, question: &Question) -> Lines {
    let empty = Lines { by_executors: Vec::new(), by_cores: Vec::new(), band: Vec::new(), by_rate: Vec::new() };
    if arm >= plan.predictor().arms().len() {
        return empty;
    }
    let WhatIf { executors: own_executors, cores_per_executor: own_cores } = counts;
    let (executors, cores) = self::counts(arm, view, question);
    let executors = with(thinned(&executors, MOST_EXECUTORS), &[1, own_executors]);
    let cores = with(thinned(&cores, MOST_CORES), &[1, own_cores]);
    let pairs = |counts: &[u32], times: Vec<Option<f64>>| {
        counts.iter().zip(times).filter_map(|(count, secs)| Some((*count, secs?))).collect()
    };
    let some = with(thinned(&executors, BAND), &[own_executors]);
    let asked: Vec<(u32, u32)> = some.iter().map(|executors| (*executors, own_cores)).collect();
    let point = |(executors, prediction): (&u32, Prediction)| {
        let secs = prediction.completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)?;
        Some(LinePoint { executors: *executors, secs, interval_secs: ends_secs(&prediction) })
    };
    Lines {
        by_executors: pairs(&executors, plan.times(arm, &executors, &[own_cores]).concat()),
        by_cores: pairs(&cores, plan.times(arm, &[own_executors], &cores).concat()),
        band: some.iter().zip(plan.predict_arm(arm, &asked)).filter_map(point).collect(),
        by_rate: by_rate(plan, arm, counts),
    }
}

/// Predicts a configuration by sampling rate, from the least measured one to the whole job.
fn by_rate(plan: &Plan, arm: usize, WhatIf { executors, cores_per_executor }: WhatIf) -> Vec<(f64, f64)> {
    let Some(own) = plan.predictor().own(arm) else { return Vec::new() };
    let (runs, whole_job) = (&plan.predictor().job(arm).observations, plan.predictor().whole_job(arm));
    let rates = runs.iter().map(|run| run.sampling_rate / whole_job);
    let least = rates.fold(1.0, f64::min).min(0.5);
    let rate = |step: u32| match step {
        RATES => 1.0,
        _ => least * libm::pow(1.0 / least, f64::from(step) / f64::from(RATES)),
    };
    let setting = |rate: f64| Setting::even(executors, cores_per_executor, rate * whole_job);
    let point = |rate: f64| Some((rate, predicted_secs(own, setting(rate))?));
    (0..=RATES).map(rate).filter_map(point).collect()
}

/// Adds counts to ascending ones.
fn with(counts: Vec<u32>, more: &[u32]) -> Vec<u32> {
    distinct(counts.into_iter().chain(more.iter().copied()))
}

fn ends_secs(prediction: &Prediction) -> Option<(f64, f64)> {
    prediction.interval.map(|interval| (interval.lower_secs, interval.upper_secs))
}

/// The predicted time of a setting, if it is finite and positive.
fn predicted_secs(predictor: &Predictor, setting: Setting) -> Option<f64> {
    predictor.predict(setting).completion_time_secs.filter(|secs| secs.is_finite() && *secs > 0.0)
}

/// Computes [`RunView::whole_job_secs`] for each run. The scale is computed once per setting,
/// because there may be thousands of runs.
fn whole_job_secs((predictor, whole_job): (&Predictor, f64), observations: &[Observation]) -> Vec<Option<f64>> {
    let mut settings: Vec<Setting> = observations.iter().map(Setting::of).collect();
    sort_by(&mut settings, Setting::order);
    settings.dedup();
    let scale = |setting: &Setting| {
        let secs = |sampling_rate: f64| predicted_secs(predictor, Setting { sampling_rate, ..*setting });
        let is_whole = setting.sampling_rate == whole_job;
        if is_whole { Some(1.0) } else { Some(secs(whole_job)? / secs(setting.sampling_rate)?) }
    };
    let scales: Vec<Option<f64>> = settings.iter().map(scale).collect();
    let scaled = |run: &Observation| {
        let place = settings.binary_search_by(|setting| setting.order(&Setting::of(run))).ok()?;
        Some(run.completion_time_secs * scales[place]?)
    };
    observations.iter().map(scaled).collect()
}
