//! The runs that a CNN which was never run would have made, on a machine whose layers were timed.
//!
//! time per image = preparation + ratio · Σ times of its layers. The preparation (reading, decoding,
//! copying, hand-over) follows from what measured runs spent beside their CNNs, per number of the
//! input. The ratio of each configuration is the mean over the measured CNNs: how much slower layers
//! are in a network, with other executors at work, than alone. Its spread gives the interval.

use std::collections::BTreeMap;

use foreglow_shared::{Context, Job, Observation};

use super::costs::INPUT;
use super::layer::Layer;
use super::layer_times::LayerTimes;
use super::process::median;
use super::transfer::{
    Configuration, Factors, MeasuredCnn, TransferredJob, images, key, log_secs_per_image, mean, reference, undisturbed,
};
use crate::Spread;
use crate::rival::nnls;

/// Standard deviation of ln of the ratio of another CNN before anything is known, and the number of
/// CNNs that this counts as.
const USUAL_ERROR: f64 = 0.1;
const USUAL_CNNS: f64 = 3.0;
/// Weight of a ratio of 1 against one CNN's.
const SHRINKAGE: f64 = 0.3;
/// Least share of a run's time that its CNN takes: what is measured beside it can be too long.
const LEAST_SHARE: f64 = 0.1;

/// What a run spent its time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunParts {
    /// Executors × cores per executor.
    pub slots: f64,
    /// Images of the run.
    pub images: f64,
    /// Completion time, seconds.
    pub completion_secs: f64,
    /// Forward passes, seconds, summed over the slots.
    pub forward_secs: f64,
    /// Reading, decoding and copying, seconds, summed over the slots.
    pub preparation_secs: f64,
}

/// A CNN in terms of its layers.
#[derive(Clone, Copy, Debug)]
pub struct LayeredCnn<'a> {
    /// Its layers.
    pub layers: &'a [Layer],
    /// Numbers of an input image.
    pub input: f64,
}

impl TransferredJob {
    /// Predicts the runs of the CNN of a context from the times of its layers and the runs of other
    /// CNNs on the machine. `None` without a run, or if no layer of it has a time.
    pub fn calibrated(
        measured: &[MeasuredCnn],
        times: &LayerTimes,
        context: Context,
        cnn: LayeredCnn<'_>,
    ) -> Option<Self> {
        let measured: Vec<&MeasuredCnn> = measured.iter().filter(|cnn| !cnn.job.observations.is_empty()).collect();
        let per_image = |layers: &[Layer], batch_size: u32| {
            let batch = f64::from(batch_size);
            Some(times.secs(layers, batch) / batch).filter(|secs| *secs > 0.0)
        };
        let own = per_image(cnn.layers, context.workload.batch_size)?;
        let preparation = Preparation::fit(&measured);
        let totals: Vec<BTreeMap<Configuration, f64>> =
            measured.iter().map(|cnn| log_secs_per_image(&cnn.job)).collect();
        let ratios = |(cnn, totals): (&&MeasuredCnn, &BTreeMap<Configuration, f64>)| {
            let layers = per_image(&cnn.layers, cnn.job.context.workload.batch_size)?;
            let beside = beside(&cnn.parts).unwrap_or_else(|| preparation.secs(cnn.costs.values()[INPUT]));
            let ratio = |log: f64| {
                let total = libm::exp(log);
                libm::log((total - beside).max(LEAST_SHARE * total) / layers)
            };
            Some(totals.iter().map(|(key, log)| (*key, ratio(*log))).collect())
        };
        let ratios: Vec<Option<BTreeMap<Configuration, f64>>> = measured.iter().zip(&totals).map(ratios).collect();
        let known: Vec<usize> = (0..measured.len()).filter(|place| ratios[*place].is_some()).collect();
        let ratios: Vec<BTreeMap<Configuration, f64>> = ratios.into_iter().flatten().collect();
        let factors = Factors::fit(&ratios);
        let log_ratio = |at: Configuration| {
            let sum: f64 = (0..ratios.len()).map(|cnn| factors.log(&ratios, cnn, at)).sum();
            sum / (ratios.len() as f64 + SHRINKAGE)
        };
        let secs = |at: Configuration| preparation.secs(cnn.input) + own * libm::exp(log_ratio(at));
        let mut merged: BTreeMap<[u64; 5], Vec<(f64, Observation)>> = BTreeMap::new();
        for place in known {
            let (job, totals) = (&measured[place].job, &totals[place]);
            let size = images(&context.workload) / images(&job.context.workload);
            for run in undisturbed(job) {
                let at = (run.executors, run.cores_per_executor);
                let Some(total) = totals.get(&at) else { continue };
                let completion_time_secs = run.completion_time_secs * size * secs(at) / libm::exp(*total);
                let moved = Observation { completion_time_secs, disturbed: false, ..*run };
                merged.entry(key(run)).or_default().push((1.0, moved));
            }
        }
        let at = reference(&ratios)?;
        let share = 1.0 - preparation.secs(cnn.input) / secs(at);
        let residuals: Vec<f64> = (0..ratios.len()).map(|cnn| factors.log(&ratios, cnn, at) - log_ratio(at)).collect();
        let uncertainty = spread_of(&residuals, share)?.with(&factors.spread()?)?;
        let observations = merged.into_values().filter_map(|runs| mean(&runs)).collect();
        let mut job = Job { context, observations, incomplete: Vec::new(), peaks: Vec::new() };
        job.sort_runs();
        Some(Self { job, uncertainty })
    }
}

/// Seconds that an image takes besides the CNN: a constant, and an amount per number of the input.
struct Preparation([f64; 2]);

impl Preparation {
    fn fit(measured: &[&MeasuredCnn]) -> Self {
        let known = measured.iter().filter_map(|cnn| Some((cnn.costs.values()[INPUT], beside(&cnn.parts)?)));
        let rows: Vec<Vec<f64>> = known.map(|(input, secs)| vec![1.0 / secs, input / secs]).collect();
        match nnls(&rows, &vec![1.0; rows.len()]).as_slice() {
            [constant, per_number] => Self([*constant, *per_number]),
            _ => Self([0.0, 0.0]),
        }
    }

    fn secs(&self, input: f64) -> f64 {
        self.0[0] + self.0[1] * input
    }
}

/// Returns the seconds that an image takes besides the CNN: on a single slot all that is not spent
/// on forward passes, else reading, decoding and copying. `None` if the runs do not say.
fn beside(parts: &[RunParts]) -> Option<f64> {
    let is_single = parts.iter().any(|run| run.slots == 1.0);
    let secs = |run: &RunParts| {
        let all = if is_single { run.completion_secs - run.forward_secs } else { run.preparation_secs };
        all / run.images
    };
    let secs: Vec<f64> = parts.iter().filter(|run| !is_single || run.slots == 1.0).map(secs).collect();
    Some(median(secs)).filter(|secs| *secs > 0.0 && secs.is_finite())
}

/// The spread of another CNN's time, of which its layers are a share.
fn spread_of(residuals: &[f64], share: f64) -> Option<Spread> {
    let count = residuals.len() as f64;
    let freedom = USUAL_CNNS + (count - 1.0).max(0.0);
    let squares: f64 = if count > 1.0 { residuals.iter().map(|residual| residual * residual).sum() } else { 0.0 };
    let square = (USUAL_CNNS * USUAL_ERROR * USUAL_ERROR + squares) / freedom;
    // The mean ratio has an error, too.
    let scale = (square * (1.0 + 1.0 / count.max(1.0))).sqrt();
    Spread::student_t(scale * share.clamp(LEAST_SHARE, 1.0), freedom).ok()
}
