//! Predicts the runs of a CNN that was never run from those of other CNNs on the machine.
//!
//! The time of a run is the time per image of its CNN times a factor of its executors and cores
//! that all CNNs share. [`UnseenCnn`] predicts the time per image of the new CNN. Each measured run
//! is scaled by the ratio of both times, and runs of one setting are averaged over the CNNs.

use std::collections::BTreeMap;

use foreglow_shared::{Context, CoreSplit, Job, Observation, distinct};

use super::{CostedRun, GraphCosts, Layer, RunParts, UnseenCnn};
use crate::Spread;
use foreglow_numeric::median;

/// The time per image of a configuration is taken from runs with at least this share of its largest
/// number of images, in which the fixed time counts less.
const LARGE_SHARE: f64 = 0.5;
/// Weight of the prior value of a configuration's factor (no effect), relative to one CNN.
const SHRINKAGE: f64 = 0.1;
/// Rounds of alternating least squares.
const ROUNDS: usize = 30;
/// Prior standard deviation of the difference of two CNNs' factors in ln t, and its weight in runs.
const USUAL_DIFFERENCE: f64 = 0.05;
const USUAL_RUNS: f64 = 3.0;
/// The weight of a CNN is 1 ÷ (this + |ln of the ratio of its time to the new one's|).
const CLOSE: f64 = 0.1;

/// A CNN that was run on the machine.
#[derive(Clone, Debug)]
pub struct MeasuredCnn {
    /// Family of the CNN. Networks of one family are similar beyond their costs.
    pub family: String,
    /// Costs for one image.
    pub costs: GraphCosts,
    /// Its layers; empty if no layer of the machine was timed.
    pub layers: Vec<Layer>,
    /// Its completed runs.
    pub job: Job,
    /// Parts of the time of these runs; empty if they were not recorded.
    pub parts: Vec<RunParts>,
}

/// A job of a CNN that was never run, for [`Predictor::fit_transferred`](crate::Predictor).
#[derive(Clone, Debug)]
pub struct TransferredJob {
    /// Measured runs with the times that the new CNN is predicted to take.
    pub job: Job,
    /// Distribution of the errors that the transfer adds to those of a predictor.
    pub uncertainty: Spread,
}

impl TransferredJob {
    /// Transfers runs of the same mode, engine and machine to the CNN of a context. `None` without
    /// a run.
    pub fn new(measured: &[MeasuredCnn], context: Context, costs: &GraphCosts) -> Option<Self> {
        let measured: Vec<&MeasuredCnn> = measured.iter().filter(|cnn| !cnn.job.observations.is_empty()).collect();
        let times: Vec<BTreeMap<CoreSplit, f64>> = measured.iter().map(|cnn| log_secs_per_image(&cnn.job)).collect();
        let factors = Factors::fit(&times);
        let reference = reference(&times)?;
        let at_reference: Vec<f64> = (0..measured.len()).map(|cnn| factors.log(&times, cnn, reference)).collect();
        let runs: Vec<CostedRun> = measured.iter().zip(&at_reference).map(|(cnn, log)| cnn.run(*log)).collect();
        let predictor = UnseenCnn::fit(&runs)?;
        let batch_size = f64::from(context.workload.batch_size);
        let prediction = predictor.predict(costs, batch_size)?;
        let log = libm::log(prediction.completion_time_secs?);
        let mut merged: BTreeMap<_, Vec<(f64, Observation)>> = BTreeMap::new();
        for (cnn, own) in measured.iter().zip(&at_reference) {
            let weight = 1.0 / (CLOSE + (log - own).abs());
            let size = context.workload.images_processed() / cnn.job.context.workload.images_processed();
            let ratio = libm::exp(log - own) * size;
            for run in undisturbed(&cnn.job) {
                let secs = run.completion_time_secs * ratio;
                let moved = Observation { completion_time_secs: secs, ..*run };
                merged.entry(key(run)).or_default().push((weight, moved));
            }
        }
        let mut job = Job::of_runs(context, merged.into_values().filter_map(|runs| mean(&runs)).collect());
        job.sort_runs();
        let uncertainty = prediction.spread?.with(&factors.spread()?)?;
        Some(Self { job, uncertainty })
    }
}

impl MeasuredCnn {
    fn run(&self, log: f64) -> CostedRun {
        CostedRun {
            family: self.family.clone(),
            costs: self.costs.clone(),
            batch_size: f64::from(self.job.context.workload.batch_size),
            secs_per_image: libm::exp(log),
        }
    }
}

/// ln of the time per image as a sum of one term of the CNN and one of the configuration.
struct Factors {
    cnns: Vec<f64>,
    configurations: BTreeMap<CoreSplit, f64>,
    residuals: Vec<f64>,
}

impl Factors {
    fn fit(times: &[BTreeMap<CoreSplit, f64>]) -> Self {
        let mut cnns = vec![0.0; times.len()];
        let mut configurations: BTreeMap<CoreSplit, f64> =
            times.iter().flat_map(|times| times.keys().map(|key| (*key, 0.0))).collect();
        for _ in 0..ROUNDS {
            for (cnn, times) in cnns.iter_mut().zip(times) {
                let sum: f64 = times.iter().map(|(key, log)| log - configurations[key]).sum();
                *cnn = sum / times.len().max(1) as f64;
            }
            for (key, factor) in &mut configurations {
                let rest = times.iter().zip(&cnns).filter_map(|(times, cnn)| Some(times.get(key)? - cnn));
                let (count, sum) = rest.fold((0.0, 0.0), |(count, sum), rest| (count + 1.0, sum + rest));
                *factor = sum / (count + SHRINKAGE);
            }
        }
        let of = |(times, cnn): (&BTreeMap<CoreSplit, f64>, &f64)| -> Vec<f64> {
            times.iter().map(|(key, log)| log - cnn - configurations[key]).collect()
        };
        let residuals = times.iter().zip(&cnns).flat_map(of).collect();
        Self { cnns, configurations, residuals }
    }

    /// Returns ln of a CNN's time per image: as measured, or from the factors.
    fn log(&self, times: &[BTreeMap<CoreSplit, f64>], cnn: usize, at: CoreSplit) -> f64 {
        let fitted = || self.cnns[cnn] + self.configurations.get(&at).copied().unwrap_or(0.0);
        times[cnn].get(&at).copied().unwrap_or_else(fitted)
    }

    /// Returns the spread of the factors of another CNN about these.
    fn spread(&self) -> Option<Spread> {
        let fitted = self.cnns.len() + self.configurations.len() - 1;
        let degrees = self.residuals.len().saturating_sub(fitted) as f64;
        let squares: f64 = if degrees > 0.0 { self.residuals.iter().map(|it| it * it).sum() } else { 0.0 };
        let freedom = USUAL_RUNS + degrees;
        let square = (USUAL_RUNS * USUAL_DIFFERENCE * USUAL_DIFFERENCE + squares) / freedom;
        Spread::student_t(square.sqrt(), freedom).ok()
    }
}

/// Returns the smallest of the configurations that most CNNs ran on.
fn reference(times: &[BTreeMap<CoreSplit, f64>]) -> Option<CoreSplit> {
    let mut counts: BTreeMap<CoreSplit, usize> = BTreeMap::new();
    times.iter().flat_map(BTreeMap::keys).for_each(|key| *counts.entry(*key).or_default() += 1);
    let most = *counts.values().max()?;
    let common = counts.into_iter().filter(|(_, count)| *count == most).map(|(key, _)| key);
    common.min_by_key(|split| (split.slots(), split.executors))
}

/// Returns ln of the time that one core needs for an image, by configuration.
pub(super) fn log_secs_per_image(job: &Job) -> BTreeMap<CoreSplit, f64> {
    let whole = job.context.workload.images_processed();
    let mut runs: BTreeMap<CoreSplit, Vec<&Observation>> = BTreeMap::new();
    for run in undisturbed(job) {
        runs.entry(run.split()).or_default().push(run);
    }
    let log = |runs: Vec<&Observation>| {
        let largest = runs.iter().map(|run| run.sampling_rate).fold(0.0, f64::max);
        let large = runs.iter().filter(|run| run.sampling_rate >= LARGE_SHARE * largest);
        median(large.map(|run| libm::log(run.completion_time_secs * slots(run) / (whole * run.sampling_rate))))
    };
    runs.into_iter().map(|(key, runs)| (key, log(runs))).collect()
}

/// Returns the undisturbed runs, and the disturbed ones of settings without an undisturbed run.
pub(super) fn undisturbed(job: &Job) -> impl Iterator<Item = &Observation> {
    let quiet = distinct(job.observations.iter().filter(|run| !run.disturbed).map(key));
    job.observations.iter().filter(move |run| !run.disturbed || quiet.binary_search(&key(run)).is_err())
}

fn slots(run: &Observation) -> f64 {
    f64::from(run.split().slots())
}

pub(super) fn key(run: &Observation) -> (CoreSplit, [u32; 2], u64) {
    (run.split(), [run.memory_per_executor_mib, run.partition_size], run.sampling_rate.to_bits())
}

/// Returns the weighted geometric mean of runs of one setting, with the mean of their start-ups;
/// disturbed if each of them was.
pub(super) fn mean(runs: &[(f64, Observation)]) -> Option<Observation> {
    let (_, first) = runs.first()?;
    let weights: f64 = runs.iter().map(|(weight, _)| weight).sum();
    let logs: f64 = runs.iter().map(|(weight, run)| weight * libm::log(run.completion_time_secs)).sum();
    let startups: Vec<f64> = runs.iter().filter_map(|(_, run)| run.startup_secs).collect();
    let startup_secs = (!startups.is_empty()).then(|| startups.iter().sum::<f64>() / startups.len() as f64);
    let disturbed = runs.iter().all(|(_, run)| run.disturbed);
    Some(Observation { completion_time_secs: libm::exp(logs / weights), startup_secs, disturbed, ..*first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostedLayer, LayerKind, Predictor, Setting, Warning};

    fn costs(layers: u32, channels: u32) -> GraphCosts {
        let (width, area) = (f64::from(channels), 784.0);
        let kind = LayerKind::Convolution { kernel: 9, channels: [u64::from(channels); 2], groups: 1 };
        let weights = 9.0 * width * width;
        let layer = CostedLayer { kind, multiply_accumulates: weights * area, numbers: 2.0 * width * area, weights };
        GraphCosts::of((0..layers).map(|_| layer), 3.0 * area)
    }

    fn context(model: &str, images: u64) -> Context {
        let text = format!(
            r#"{{"workload":{{"model":"{model}","mode":"inference","image_px":28,"images":{images},"epochs":1,
            "batch_size":8}},"engine":"local","host":{{}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// A machine of 4 billion multiply-accumulates per second, on which the second core adds 80 %.
    fn secs(costs: &GraphCosts, images: f64, executors: u32) -> f64 {
        let speed = 1.0 + 0.8 * f64::from(executors - 1);
        images * (costs.multiply_accumulates() / 4e9 + costs.numbers() * 5e-9) / speed
    }

    fn measured(layers: u32, channels: u32) -> MeasuredCnn {
        let costs = costs(layers, channels);
        let of = |executors: u32, sampling_rate: f64| Observation {
            executors,
            cores_per_executor: 1,
            total_cores: None,
            memory_per_executor_mib: 1024,
            partition_size: 8,
            sampling_rate,
            completion_time_secs: secs(&costs, 1000.0 * sampling_rate, executors),
            startup_secs: Some(0.5),
            disturbed: false,
            log_error: 0.0,
        };
        let observations = vec![of(1, 0.02), of(1, 0.1), of(2, 0.02), of(2, 0.1)];
        let context = context(&format!("cnn{layers}x{channels}"), 1000);
        let job = Job::of_runs(context, observations);
        MeasuredCnn { family: format!("family {layers}"), costs, layers: Vec::new(), job, parts: Vec::new() }
    }

    fn asked(others: &[MeasuredCnn]) -> (Predictor, GraphCosts) {
        let costs = costs(14, 60);
        let transferred = TransferredJob::new(others, context("new", 4000), &costs).unwrap();
        (Predictor::fit_transferred(&transferred).unwrap(), costs)
    }

    #[test]
    fn the_runs_of_other_cnns_predict_a_new_one_and_its_scaling() {
        let (predictor, costs) = asked(&[measured(8, 32), measured(12, 64), measured(20, 48)]);
        for executors in [1, 2] {
            let prediction = predictor.predict(Setting::even(executors, 1, 1.0));
            let expected = secs(&costs, 4000.0, executors);
            let error = (prediction.completion_time_secs.unwrap() / expected - 1.0).abs();
            assert!(error < 0.15, "{executors}: {error}");
            let interval = prediction.interval.unwrap();
            assert!(interval.lower_secs < expected && expected < interval.upper_secs, "{interval:?} {expected}");
        }
    }

    #[test]
    fn a_single_cnn_gives_a_wider_interval_than_many() {
        let width = |others: &[MeasuredCnn]| {
            let at = Setting::even(1, 1, 1.0);
            let interval = asked(others).0.predict(at).interval.unwrap();
            interval.upper_secs / interval.lower_secs
        };
        let many: Vec<MeasuredCnn> = (0..7).map(|i| measured(8 + 2 * i, 32 + 8 * (i % 3))).collect();
        let (one, seven) = (width(&many[..1]), width(&many));
        assert!(one > 1.5 && seven < one, "{one} {seven}");
    }

    #[test]
    fn the_interval_of_a_transfer_is_wider_than_that_of_runs() {
        let others = [measured(8, 32), measured(12, 64)];
        let transferred = TransferredJob::new(&others, context("new", 4000), &costs(14, 60)).unwrap();
        let at = Setting::even(2, 1, 0.1);
        let ends = |predictor: Predictor| predictor.predict(at).interval.unwrap();
        let own = ends(Predictor::fit_job(&transferred.job).unwrap());
        let wide = ends(Predictor::fit_transferred(&transferred).unwrap());
        assert!(wide.upper_secs > own.upper_secs && wide.lower_secs < own.lower_secs, "{own:?} {wide:?}");
    }

    #[test]
    fn a_disturbed_run_tells_of_its_setting_if_no_other_does() {
        let mut cnn = measured(8, 32);
        cnn.job.observations.iter_mut().skip(1).for_each(|run| run.disturbed = true);
        let slow = Observation { completion_time_secs: 1e4, disturbed: true, ..cnn.job.observations[0] };
        cnn.job.observations.push(slow);
        let transferred = TransferredJob::new(&[cnn], context("new", 4000), &costs(14, 60)).unwrap();
        let disturbed: Vec<bool> = transferred.job.observations.iter().map(|run| run.disturbed).collect();
        assert_eq!(disturbed, [false, true, true, true]);
        assert!(transferred.job.observations[0].completion_time_secs < 1e3);
        assert!(Predictor::fit_transferred(&transferred).is_ok());
    }

    #[test]
    fn nothing_is_transferred_without_a_run() {
        let mut cnn = measured(8, 32);
        cnn.job.observations.clear();
        assert!(TransferredJob::new(&[cnn], context("new", 10), &costs(8, 32)).is_none());
    }

    #[test]
    fn no_warning_names_a_sample_of_a_cnn_that_was_never_run() {
        let mut runs: Vec<Observation> = serde_json::from_str(
            "[[1,1,512,8,0.1,10.0,null],[1,1,512,8,0.2,20.0,null],[1,1,512,8,0.4,40.0,null],[2,1,512,8,0.1,5.0,null],
              [2,1,512,8,0.2,10.0,null],[2,1,512,8,0.4,20.0,null]]",
        )
        .unwrap();
        runs.push(Observation { completion_time_secs: 300.0, ..runs[5] });
        let job = Job::of_runs(context("new", 1000), runs);
        assert!(Predictor::fit_job(&job).unwrap().warnings().iter().any(Warning::names_samples));
        let uncertainty = Spread::student_t(0.3, 5.0).unwrap();
        let predictor = Predictor::fit_transferred(&TransferredJob { job, uncertainty }).unwrap();
        assert!(!predictor.warnings().iter().chain(&predictor.contradictions()).any(Warning::names_samples));
    }
}
