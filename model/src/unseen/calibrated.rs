//! Predicts the runs of a CNN that was never run, on a machine where layers were timed.
//!
//! time per image = a · preparation + r · Σ times of its layers. The preparation (reading,
//! decoding, copying, hand-over) is estimated from the time that measured runs spent outside their
//! CNNs, per number of the input. The factors a and r of each configuration are fitted to the
//! measured CNNs. They include the slowdown by other executors, and the difference between layers
//! in a network and layers timed alone. The residuals of the CNNs give the interval.

use std::collections::BTreeMap;

use foreglow_numeric::dot;
use foreglow_shared::{Context, CoreSplit, Job, Observation, distinct};

use super::costs::INPUT;
use super::layer::Layer;
use super::layer_times::LayerTimes;
use super::preparation::{Preparation, beside};
use super::transfer::{MeasuredCnn, TransferredJob, key, log_secs_per_image, mean, undisturbed};
use crate::Spread;
use foreglow_numeric::nnls;

/// Prior standard deviation of ln t due to the layers of another CNN, with the weight of
/// `USUAL_CNNS` CNNs.
const USUAL_ERROR: f64 = 0.1;
/// Standard deviation of ln t due to the preparation of images, which varies between runs.
const ERROR_OF_PREPARATION: f64 = 0.1;
const USUAL_CNNS: f64 = 3.0;
/// Weight of the prior value 1 of a factor, relative to the relative error of one CNN.
const SHRINKAGE: f64 = 0.3;
/// Lower bound on the share of the layers in a time when errors are attributed to layers.
const LEAST_SHARE: f64 = 0.3;

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
        let secs_beside = measured.iter().filter_map(|cnn| Some((cnn.costs.values()[INPUT], beside(&cnn.parts)?)));
        let preparation = Preparation::fit(secs_beside);
        let known: Vec<Known<'_>> = measured
            .iter()
            .filter_map(|cnn| {
                let layers = per_image(&cnn.layers, cnn.job.context.workload.batch_size)?;
                let beside = beside(&cnn.parts).unwrap_or_else(|| preparation.secs(cnn.costs.values()[INPUT]));
                Some(Known { job: &cnn.job, secs: [beside, layers], totals: log_secs_per_image(&cnn.job) })
            })
            .collect();
        let factors = factors(&known);
        if factors.is_empty() {
            return None;
        }
        let new = [preparation.secs(cnn.input), own];
        let mut merged: BTreeMap<_, Vec<(f64, Observation)>> = BTreeMap::new();
        for measured in &known {
            let size = context.workload.images_processed() / measured.job.context.workload.images_processed();
            for run in undisturbed(measured.job) {
                let at = run.split();
                let (Some(total), Some(factors)) = (measured.totals.get(&at), factors.get(&at)) else { continue };
                let completion_time_secs = run.completion_time_secs * size * dot(factors, &new) / libm::exp(*total);
                let moved = Observation { completion_time_secs, ..*run };
                merged.entry(key(run)).or_default().push((1.0, moved));
            }
        }
        let share = factors.values().map(|factors| share_of_layers(factors, &new)).sum::<f64>() / factors.len() as f64;
        let uncertainty = spread_of(&errors(&known, &factors), share)?;
        let observations = merged.into_values().filter_map(|runs| mean(&runs)).collect();
        let mut job = Job::of_runs(context, observations);
        job.sort_runs();
        Some(Self { job, uncertainty })
    }
}

/// A measured CNN.
struct Known<'a> {
    job: &'a Job,
    /// Preparation of an image, and the sum over its layers, seconds.
    secs: [f64; 2],
    /// ln of the time per image, by configuration.
    totals: BTreeMap<CoreSplit, f64>,
}

/// Returns the factors of preparation and layers in each configuration, with the least squared
/// relative error over the CNNs.
fn factors(known: &[Known<'_>]) -> BTreeMap<CoreSplit, [f64; 2]> {
    let configurations = distinct(known.iter().flat_map(|cnn| cnn.totals.keys().copied()));
    let fit = |at: CoreSplit| {
        let totals = known.iter().filter_map(|cnn| Some((cnn.secs, libm::exp(*cnn.totals.get(&at)?))));
        let mut rows: Vec<Vec<f64>> = totals.map(|(secs, total)| secs.map(|secs| secs / total).to_vec()).collect();
        let mut target = vec![1.0; rows.len()];
        rows.extend([vec![SHRINKAGE, 0.0], vec![0.0, SHRINKAGE]]);
        target.extend([SHRINKAGE; 2]);
        let factors = nnls(&rows, &target);
        (at, [factors[0], factors[1]])
    };
    configurations.into_iter().map(fit).collect()
}

/// Returns the share of the layers in a time.
fn share_of_layers(factors: &[f64; 2], secs: &[f64; 2]) -> f64 {
    (factors[1] * secs[1] / dot(factors, secs)).clamp(LEAST_SHARE, 1.0)
}

/// Returns the error of each CNN as one of the sum over its layers: the root mean square of ln t
/// over its configurations.
fn errors(known: &[Known<'_>], factors: &BTreeMap<CoreSplit, [f64; 2]>) -> Vec<f64> {
    let error = |cnn: &Known<'_>| {
        let square = |(at, total): (&CoreSplit, &f64)| {
            let factors = factors.get(at)?;
            let error = (total - libm::log(dot(factors, &cnn.secs))) / share_of_layers(factors, &cnn.secs);
            Some(error * error)
        };
        let squares: Vec<f64> = cnn.totals.iter().filter_map(square).collect();
        (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
    };
    known.iter().map(error).collect()
}

/// The spread of another CNN's time, of which its layers are a share.
fn spread_of(errors: &[f64], share: f64) -> Option<Spread> {
    // The fit has two factors.
    let degrees = (errors.len() as f64 - 2.0).max(0.0);
    let squares: f64 = if degrees > 0.0 { errors.iter().map(|error| error * error).sum() } else { 0.0 };
    let freedom = USUAL_CNNS + degrees;
    let square = (USUAL_CNNS * USUAL_ERROR * USUAL_ERROR + squares) / freedom;
    // Adds the error of the factors.
    let scale = (square * (1.0 + 1.0 / errors.len().max(1) as f64)).sqrt();
    let preparation = ERROR_OF_PREPARATION * (1.0 - share);
    Spread::student_t((scale * share * scale * share + preparation * preparation).sqrt(), freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unseen::layer::ConvolutionSizes;
    use crate::{Calibration, GraphCosts, Predictor, RunParts, Setting, TimedLayer};

    fn convolution(channels: f64, side: f64) -> Layer {
        let numbers = channels * side * side;
        let weights = 9.0 * channels * channels;
        Layer {
            operator: "Conv".to_owned(),
            convolution: Some(ConvolutionSizes { kernel: 9.0, useful: 9.0, channels: [channels; 2], groups: 1.0 }),
            multiply_accumulates: weights * side * side,
            inputs: numbers,
            outputs: numbers,
            planes: channels,
            weights,
        }
    }

    /// A layer alone takes this long for 8 images.
    fn secs(layer: &Layer) -> f64 {
        8.0 * (layer.multiply_accumulates / 4e10 + layer.inputs / 1e9) + 1e-5
    }

    fn times() -> LayerTimes {
        let sizes = [(16.0, 32.0), (32.0, 32.0), (64.0, 16.0), (128.0, 8.0), (256.0, 4.0), (64.0, 56.0)];
        let timed = |(channels, side)| {
            let layer = convolution(channels, side);
            TimedLayer { secs: secs(&layer), layer }
        };
        LayerTimes::fit(&[Calibration { batch_size: 8, layers: sizes.map(timed).to_vec() }]).unwrap()
    }

    /// Layers of a CNN, and the seconds of an image in it: 20 % longer than alone, and 1 ms of
    /// preparation.
    fn cnn(count: usize, channels: f64, side: f64) -> (Vec<Layer>, [f64; 2]) {
        let layers = vec![convolution(channels, side); count];
        let alone: f64 = layers.iter().map(secs).sum::<f64>() / 8.0;
        (layers, [1e-3, 1.2 * alone])
    }

    fn context(images: u64) -> Context {
        let text = format!(
            r#"{{"workload":{{"model":"any","mode":"inference","image_px":32,"images":{images},"epochs":1,
            "batch_size":8}},"engine":"local","host":{{}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn measured(count: usize, channels: f64, side: f64) -> MeasuredCnn {
        let (layers, [preparation, forward]) = cnn(count, channels, side);
        let of = |executors: u32, sampling_rate: f64| Observation {
            executors,
            cores_per_executor: 1,
            total_cores: None,
            memory_per_executor_mib: 1024,
            partition_size: 8,
            sampling_rate,
            completion_time_secs: 1000.0 * sampling_rate * (preparation + forward) / f64::from(executors),
            startup_secs: Some(0.5),
            disturbed: false,
            log_error: 0.0,
        };
        let mut values = [1.0; GraphCosts::NAMES.len()];
        values[INPUT] = 3072.0;
        MeasuredCnn {
            family: format!("{count} {channels}"),
            costs: GraphCosts::from_values(values).unwrap(),
            layers,
            job: Job::of_runs(context(1000), vec![of(1, 0.1), of(1, 0.5), of(2, 0.1), of(2, 0.5)]),
            parts: vec![RunParts {
                slots: 1.0,
                images: 100.0,
                completion_secs: 100.0 * (preparation + forward),
                forward_secs: 100.0 * forward,
                preparation_secs: 90.0 * preparation,
            }],
        }
    }

    fn asked(others: &[MeasuredCnn], (count, channels, side): (usize, f64, f64)) -> (f64, f64, f64) {
        let (layers, parts) = cnn(count, channels, side);
        let new = LayeredCnn { layers: &layers, input: 3072.0 };
        let transferred = TransferredJob::calibrated(others, &times(), context(4000), new).unwrap();
        let at = Setting::even(2, 1, 1.0);
        let prediction = Predictor::fit_transferred(&transferred).unwrap().predict(at);
        let interval = prediction.interval.unwrap();
        let expected = 4000.0 * (parts[0] + parts[1]) / 2.0;
        let error = prediction.completion_time_secs.unwrap() / expected - 1.0;
        (error.abs(), interval.lower_secs / expected, interval.upper_secs / expected)
    }

    #[test]
    fn a_cnn_takes_the_time_of_its_layers_and_of_its_images() {
        let others = [measured(10, 32.0, 32.0), measured(20, 64.0, 16.0), measured(30, 128.0, 8.0)];
        // The first CNN spends nearly all its time on layers, the second on preparing images.
        for size in [(40, 48.0, 40.0), (1, 16.0, 8.0)] {
            let (error, lower, upper) = asked(&others, size);
            assert!(error < 0.06, "{size:?}: {error}");
            assert!(lower < 1.0 && upper > 1.0 && upper / lower < 2.0, "{size:?}: {lower} {upper}");
        }
    }

    #[test]
    fn one_measured_cnn_gives_a_wider_interval_than_three() {
        let others = [measured(10, 32.0, 32.0), measured(20, 64.0, 16.0), measured(30, 128.0, 8.0)];
        let width = |others: &[MeasuredCnn]| {
            let (_, lower, upper) = asked(others, (40, 48.0, 40.0));
            upper / lower
        };
        let (one, three) = (width(&others[..1]), width(&others));
        assert!(one > three, "{one} {three}");
    }

    #[test]
    fn nothing_is_predicted_without_a_run_or_a_layer() {
        let mut cnn = measured(10, 32.0, 32.0);
        let layers = cnn.layers.clone();
        let ask = |others: &[MeasuredCnn], layers: &[Layer]| {
            TransferredJob::calibrated(others, &times(), context(10), LayeredCnn { layers, input: 3072.0 })
        };
        assert!(ask(std::slice::from_ref(&cnn), &layers).is_some());
        assert!(ask(std::slice::from_ref(&cnn), &[]).is_none());
        cnn.layers.clear();
        assert!(ask(std::slice::from_ref(&cnn), &layers).is_none());
        cnn.job.observations.clear();
        assert!(ask(&[cnn], &layers).is_none());
    }
}
