//! The time of a layer, from layers that were timed on the machine.
//!
//! Each family of layers has a law: a sum of terms such as multiply-accumulates, copied numbers and
//! launches, each times a coefficient of 0 or more that minimises the relative error on the timed
//! layers. The residuals (effects of caches and vector widths) are smooth in the logarithms of the
//! sizes, so a Gaussian process corrects the law near timed layers (Rasmussen and Williams,
//! "Gaussian Processes for Machine Learning", 2006, §2.2). Beyond the timed sizes, the correction
//! of the nearest ones applies.

use std::collections::BTreeMap;

use foreglow_numeric::{Cholesky, Matrix, dot};

use super::layer::{Calibration, Family, Layer};
use foreglow_numeric::nnls;

/// Length scale of the process, in ln of a size.
const LENGTH: f64 = 1.5;
/// Standard deviation of ln t about the law, and of a measured time.
const DEVIATION: f64 = 0.25;
const NOISE: f64 = 0.04;

/// Predictor of the time of a layer on a machine.
#[derive(Clone, Debug)]
pub struct LayerTimes {
    laws: BTreeMap<String, Law>,
    layers: usize,
}

#[derive(Clone, Debug)]
struct Law {
    coefficients: Vec<f64>,
    /// Features of the timed layers.
    rows: Vec<Vec<f64>>,
    /// (K + noise)⁻¹ · ln of the ratio to the law.
    weights: Vec<f64>,
}

impl LayerTimes {
    /// Fits the layers that were timed on one machine; `None` without a valid one.
    pub fn fit(calibrations: &[Calibration]) -> Option<Self> {
        let mut families: BTreeMap<String, Vec<(Layer, f64, f64)>> = BTreeMap::new();
        for calibration in calibrations.iter().filter(|calibration| calibration.batch_size > 0) {
            let batch = f64::from(calibration.batch_size);
            for timed in &calibration.layers {
                if !(timed.layer.is_valid() && timed.secs.is_finite() && timed.secs > 0.0) {
                    continue;
                }
                let rows = families.entry(name(timed.layer.families()[0])).or_default();
                // Of several times of one layer the shortest counts, because other programs only
                // slow it down.
                match rows.iter_mut().find(|(layer, size, _)| *layer == timed.layer && *size == batch) {
                    Some((_, _, secs)) => *secs = secs.min(timed.secs),
                    None => rows.push((timed.layer.clone(), batch, timed.secs)),
                }
            }
        }
        let layers = families.values().map(Vec::len).sum();
        let laws: BTreeMap<String, Law> =
            families.into_iter().filter_map(|(name, rows)| Some((name, Law::fit(&rows)?))).collect();
        (!laws.is_empty()).then_some(Self { laws, layers })
    }

    /// Returns the number of timed layers.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// Returns the time of a mini-batch in a network, seconds: the sum over its layers.
    pub fn secs(&self, layers: &[Layer], batch: f64) -> f64 {
        layers.iter().filter(|layer| layer.is_valid()).map(|layer| self.of(layer, batch)).sum()
    }

    fn of(&self, layer: &Layer, batch: f64) -> f64 {
        let law = layer.families().into_iter().find_map(|family| self.laws.get(&name(family)));
        law.or_else(|| self.laws.get("Relu")).map_or(0.0, |law| law.secs(layer, batch))
    }
}

fn name(family: Family<'_>) -> String {
    match family {
        Family::Convolution => "convolution".to_owned(),
        Family::Depthwise => "depthwise convolution".to_owned(),
        Family::Grouped => "grouped convolution".to_owned(),
        Family::Linear => "linear".to_owned(),
        Family::Other(operator) => operator.to_owned(),
    }
}

impl Law {
    fn fit(rows: &[(Layer, f64, f64)]) -> Option<Self> {
        let terms: Vec<Vec<f64>> = rows.iter().map(|(layer, batch, _)| layer.terms(*batch)).collect();
        let relative = |(terms, (_, _, secs)): (&Vec<f64>, &(Layer, f64, f64))| -> Vec<f64> {
            terms.iter().map(|term| term / secs).collect()
        };
        let table: Vec<Vec<f64>> = terms.iter().zip(rows).map(relative).collect();
        let coefficients = nnls(&table, &vec![1.0; rows.len()]);
        let features: Vec<Vec<f64>> = rows.iter().map(|(layer, batch, _)| layer.features(*batch)).collect();
        let ratios: Vec<f64> =
            rows.iter().zip(&terms).map(|((_, _, secs), terms)| libm::log(secs / dot(&coefficients, terms))).collect();
        if ratios.iter().any(|ratio| !ratio.is_finite()) {
            return None;
        }
        let mut covariance = Matrix::zeros(rows.len(), rows.len());
        for i in 0..rows.len() {
            for j in 0..rows.len() {
                let noise = if i == j { NOISE * NOISE / (DEVIATION * DEVIATION) } else { 0.0 };
                covariance[i][j] = correlation(&features[i], &features[j]) + noise;
            }
        }
        let weights = Cholesky::of(covariance)?.solve(&ratios);
        Some(Self { coefficients, rows: features, weights })
    }

    fn secs(&self, layer: &Layer, batch: f64) -> f64 {
        let terms = layer.terms(batch);
        let mut features = layer.features(batch);
        // A family that was not timed is replaced by one with other terms.
        if terms.len() != self.coefficients.len() || self.rows.first().is_none_or(|row| row.len() != features.len()) {
            return 0.0;
        }
        for (place, feature) in features.iter_mut().enumerate() {
            let measured = self.rows.iter().map(|row| row[place]);
            let (least, most) =
                measured.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| (least.min(it), most.max(it)));
            *feature = feature.clamp(least, most);
        }
        let with = self.rows.iter().map(|row| correlation(row, &features));
        let correction: f64 = with.zip(&self.weights).map(|(with, weight)| with * weight).sum();
        dot(&self.coefficients, &terms) * libm::exp(correction)
    }
}

/// Returns the correlation of two layers' ratios to the law (squared exponential).
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    libm::exp(-0.5 * square / (LENGTH * LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unseen::layer::{ConvolutionSizes, TimedLayer};

    fn convolution(channels: [f64; 2], kernel: f64, useful: f64, groups: f64, pixels: f64) -> Layer {
        let outputs = channels[1] * groups * pixels;
        Layer {
            operator: "Conv".to_owned(),
            convolution: Some(ConvolutionSizes { kernel, useful, channels, groups }),
            multiply_accumulates: channels[0] * useful * outputs,
            inputs: channels[0] * groups * pixels,
            outputs,
            planes: channels[1] * groups,
            weights: channels[0] * channels[1] * groups * kernel,
        }
    }

    fn on_numbers(operator: &str, numbers: f64) -> Layer {
        Layer {
            operator: operator.to_owned(),
            convolution: None,
            multiply_accumulates: 0.0,
            inputs: numbers,
            outputs: numbers,
            planes: 16.0,
            weights: 0.0,
        }
    }

    /// A machine whose products are slower on few channels, and that is limited by memory traffic.
    fn secs(layer: &Layer) -> f64 {
        let slow = layer.convolution.map_or(1.0, |sizes| 1.0 + 8.0 / sizes.channels[1]);
        8.0 * (layer.multiply_accumulates * slow / 4e10 + (layer.inputs + layer.outputs) / 4e9)
            + layer.weights / 3e9
            + 2e-6
    }

    fn calibration(layers: impl IntoIterator<Item = Layer>) -> Calibration {
        let timed = layers.into_iter().map(|layer| TimedLayer { secs: secs(&layer), layer });
        Calibration { batch_size: 8, layers: timed.collect() }
    }

    fn sizes() -> Vec<Layer> {
        let channels = [16.0, 32.0, 64.0, 128.0, 256.0];
        let of = |inputs: f64| {
            channels.into_iter().flat_map(move |outputs| {
                [1.0, 9.0].map(|kernel| convolution([inputs, outputs], kernel, kernel, 1.0, 65536.0 / outputs))
            })
        };
        let relu = [1e3, 1e4, 1e5, 1e6].map(|numbers| on_numbers("Relu", numbers));
        channels.into_iter().flat_map(of).chain(relu).collect()
    }

    #[test]
    fn layers_between_the_timed_ones_follow_from_them() {
        let times = LayerTimes::fit(&[calibration(sizes())]).unwrap();
        assert_eq!(times.layers(), 54);
        for layer in [
            convolution([48.0, 96.0], 9.0, 9.0, 1.0, 400.0),
            convolution([200.0, 40.0], 1.0, 1.0, 1.0, 1500.0),
            on_numbers("Relu", 3e4),
        ] {
            let error = (times.secs(std::slice::from_ref(&layer), 8.0) / secs(&layer) - 1.0).abs();
            assert!(error < 0.1, "{layer:?}: {error}");
        }
    }

    #[test]
    fn layers_beyond_the_timed_sizes_grow_with_their_work() {
        let times = LayerTimes::fit(&[calibration(sizes())]).unwrap();
        let of = |scale: f64| times.secs(&[convolution([256.0, 256.0], 9.0, 9.0, 1.0, 1000.0 * scale)], 8.0);
        assert!((of(64.0) / of(16.0) - 4.0).abs() < 0.4, "{}", of(64.0) / of(16.0));
    }

    #[test]
    fn the_time_of_a_network_is_the_sum_of_its_layers() {
        let times = LayerTimes::fit(&[calibration(sizes())]).unwrap();
        let layers = sizes();
        let each: f64 = layers.iter().map(|layer| times.secs(std::slice::from_ref(layer), 8.0)).sum();
        assert!((times.secs(&layers, 8.0) / each - 1.0).abs() < 1e-12);
        // An operator that was not timed takes the time of one with about the same work.
        let relu = times.secs(&[on_numbers("Relu", 5e4)], 8.0);
        assert_eq!(times.secs(&[on_numbers("Clip", 5e4)], 8.0), relu);
        assert_eq!(times.secs(&[on_numbers("Unheard", 5e4)], 8.0), relu);
    }

    #[test]
    fn of_two_times_of_a_layer_the_shorter_counts() {
        let mut slow = calibration(sizes());
        slow.layers.iter_mut().for_each(|timed| timed.secs *= 3.0);
        let both = LayerTimes::fit(&[slow, calibration(sizes())]).unwrap();
        let one = LayerTimes::fit(&[calibration(sizes())]).unwrap();
        assert_eq!(both.secs(&sizes(), 8.0), one.secs(&sizes(), 8.0));
    }

    #[test]
    fn damaged_times_are_left_out() {
        let mut calibration = calibration(sizes());
        calibration.layers[0].secs = f64::NAN;
        calibration.layers[1].layer.outputs = -1.0;
        assert_eq!(LayerTimes::fit(std::slice::from_ref(&calibration)).unwrap().layers(), 52);
        calibration.batch_size = 0;
        assert!(LayerTimes::fit(&[calibration]).is_none());
        assert!(LayerTimes::fit(&[]).is_none());
    }
}
