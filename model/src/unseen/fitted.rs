//! The time of a CNN that was never run, from its costs and the runs of other CNNs on the machine.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use foreglow_shared::sort_by;

use super::costs::{GraphCosts, INPUT, LAUNCHES, PRODUCTS, WEIGHTS};
use super::structure::{Structure, TERMS, terms};
use crate::{Prediction, Spread};
use foreglow_numeric::{GroupedProcess, rows_of};

/// Number of families from which on a Gaussian process over the costs corrects the structure.
const FAMILIES_OF_PROCESS: usize = 8;
/// Number of folds of families for a cross-validation of the structure.
const FOLDS: usize = 8;
/// Prior standard deviation of ln t for another family, and its weight in families.
const USUAL_ERROR: f64 = 0.3;
const USUAL_FAMILIES: f64 = 3.0;

/// Runs of a CNN at one batch size.
#[derive(Clone, Debug, PartialEq)]
pub struct CostedRun {
    /// Family of the CNN. Networks of one family are similar beyond their costs.
    pub family: String,
    /// Costs for one image.
    pub costs: GraphCosts,
    /// Images in a batch.
    pub batch_size: f64,
    /// Time of an image, seconds.
    pub secs_per_image: f64,
}

impl CostedRun {
    fn order(&self, other: &Self) -> Ordering {
        let by_costs = || {
            let pairs = self.costs.values().iter().zip(other.costs.values());
            pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let by_run = || {
            let secs = || self.secs_per_image.total_cmp(&other.secs_per_image);
            self.batch_size.total_cmp(&other.batch_size).then_with(secs)
        };
        self.family.cmp(&other.family).then_with(by_costs).then_with(by_run)
    }
}

/// Predictor of the time per image of a CNN that was never run on a machine.
#[derive(Clone, Debug)]
pub struct UnseenCnn {
    structure: Structure,
    process: Option<GroupedProcess>,
    /// Spread of the structure alone, for few families.
    spread: Spread,
}

impl UnseenCnn {
    /// Fits the runs of other CNNs on one machine; `None` without a valid run.
    pub fn fit(runs: &[CostedRun]) -> Option<Self> {
        let is_valid = |run: &&CostedRun| {
            let numbers = [run.batch_size, run.secs_per_image];
            numbers.iter().all(|number| number.is_finite() && *number > 0.0)
        };
        let mut runs: Vec<&CostedRun> = runs.iter().filter(is_valid).collect();
        // Sorted, so that the order of the runs changes no digit.
        sort_by(&mut runs, |a, b| a.order(b));
        if runs.is_empty() {
            return None;
        }
        let mut numbered: BTreeMap<&str, usize> = BTreeMap::new();
        runs.iter().for_each(|run| {
            numbered.insert(&run.family, 0);
        });
        numbered.values_mut().enumerate().for_each(|(number, value)| *value = number);
        let families: Vec<usize> = runs.iter().map(|run| numbered[run.family.as_str()]).collect();
        let terms: Vec<[f64; TERMS]> = runs.iter().map(|run| terms(&run.costs, run.batch_size)).collect();
        let secs: Vec<f64> = runs.iter().map(|run| run.secs_per_image).collect();
        let fit = |rows: &[usize]| {
            let some: Vec<&[f64; TERMS]> = rows.iter().map(|row| &terms[*row]).collect();
            Structure::fit(&some, &rows.iter().map(|row| secs[*row]).collect::<Vec<f64>>())
        };
        let all: Vec<usize> = (0..runs.len()).collect();
        let mut residuals = vec![0.0; runs.len()];
        let folds = FOLDS.min(numbered.len());
        for fold in (0..folds).filter(|_| folds > 1) {
            let (held_out, fitted): (Vec<usize>, Vec<usize>) =
                all.iter().partition(|row| families[**row] % folds == fold);
            let structure = fit(&fitted);
            held_out.iter().for_each(|row| residuals[*row] = libm::log(secs[*row]) - structure.log(&terms[*row]));
        }
        let process = if numbered.len() >= FAMILIES_OF_PROCESS {
            let rows: Vec<Vec<f64>> = runs.iter().map(|run| features(&run.costs, run.batch_size)).collect();
            GroupedProcess::fit(&rows, &residuals, &families)
        } else {
            None
        };
        let spread = spread_of(&residuals, &families)?;
        Some(Self { structure: fit(&all), process, spread })
    }

    /// Predicts the time per image of another CNN in batches of this size.
    pub fn predict(&self, costs: &GraphCosts, batch_size: f64) -> Option<Prediction> {
        let log = self.structure.log(&terms(costs, batch_size));
        let Some(process) = &self.process else { return Prediction::of_log(log, Some(self.spread.clone())) };
        let (correction, deviation) = process.predict(&features(costs, batch_size));
        let spread = Spread::conformal(process.errors().iter().map(|error| error * deviation)).ok()?;
        Prediction::of_log(log + correction, Some(spread))
    }
}

/// Returns the features of the process: sizes as logarithms, and the share of each kind.
fn features(costs: &GraphCosts, batch_size: f64) -> Vec<f64> {
    let values = costs.values();
    let (products, numbers) = (costs.multiply_accumulates().max(1.0), costs.numbers().max(1.0));
    let sizes = [products, numbers, values[WEIGHTS].max(1.0), values[LAUNCHES], values[INPUT], batch_size];
    let shares = values[..PRODUCTS].iter().map(|value| (value / products).sqrt());
    let traffic = values[PRODUCTS..WEIGHTS].iter().map(|value| (value / numbers).sqrt());
    sizes.into_iter().map(libm::log).chain(shares).chain(traffic).collect()
}

/// The spread of another family, from the mean square error of each family that was left out.
fn spread_of(residuals: &[f64], families: &[usize]) -> Option<Spread> {
    let families = rows_of(families);
    let known = if families.len() > 1 { families.len() as f64 } else { 0.0 };
    let square =
        |rows: &Vec<usize>| rows.iter().map(|row| residuals[*row] * residuals[*row]).sum::<f64>() / rows.len() as f64;
    let squares: f64 = if known > 0.0 { families.iter().map(square).sum() } else { 0.0 };
    let freedom = USUAL_FAMILIES + known;
    let scale = ((USUAL_FAMILIES * USUAL_ERROR * USUAL_ERROR + squares) / freedom).sqrt();
    Spread::student_t(scale, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostedLayer, LayerKind};

    /// A network of equal layers with 3×3 convolutions and activations.
    fn network(layers: u32, channels: u32, pixels: u32) -> GraphCosts {
        let (width, area) = (f64::from(channels), f64::from(pixels * pixels));
        let kind = LayerKind::Convolution { kernel: 9, channels: [u64::from(channels); 2], groups: 1 };
        let weights = 9.0 * width * width;
        let numbers = 2.0 * width * area;
        let convolution = CostedLayer { kind, multiply_accumulates: weights * area, numbers, weights };
        let kind = LayerKind::Activation;
        let activation = CostedLayer { kind, multiply_accumulates: 0.0, numbers, weights: 0.0 };
        GraphCosts::of((0..layers).flat_map(|_| [convolution, activation]), 3.0 * area)
    }

    /// Time for arithmetic, memory traffic and the start of layers.
    fn secs(costs: &GraphCosts) -> f64 {
        costs.multiply_accumulates() / 1e11 + costs.numbers() / 2e9 + costs.values()[LAUNCHES] * 5e-6
    }

    fn runs(families: u32) -> Vec<CostedRun> {
        let of = |family: u32| {
            [(8, 28), (16, 28), (8, 56)].map(|(layers, pixels)| {
                let costs = network(layers + 2 * family, 24 + 12 * (family % 7), pixels + family);
                let secs_per_image = secs(&costs);
                CostedRun { family: format!("family {family}"), costs, batch_size: 8.0, secs_per_image }
            })
        };
        (0..families).flat_map(of).collect()
    }

    fn error(predictor: &UnseenCnn) -> (f64, f64) {
        let asked = network(20, 60, 40);
        let prediction = predictor.predict(&asked, 8.0).unwrap();
        let interval = prediction.interval.unwrap();
        let error = prediction.completion_time_secs.unwrap() / secs(&asked) - 1.0;
        (error.abs(), interval.upper_secs / interval.lower_secs)
    }

    #[test]
    fn two_cnns_predict_a_third_and_many_do_so_better_and_more_surely() {
        let (few, few_wide) = error(&UnseenCnn::fit(&runs(2)).unwrap());
        let (many, many_wide) = error(&UnseenCnn::fit(&runs(20)).unwrap());
        assert!(few < 0.3, "{few}");
        assert!(many < 0.05, "{many}");
        assert!(many_wide < few_wide && many_wide < 1.3, "{many_wide} {few_wide}");
    }

    #[test]
    fn the_order_of_the_runs_changes_no_digit() {
        let mut runs = runs(9);
        let asked = network(20, 60, 40);
        let before = UnseenCnn::fit(&runs).unwrap().predict(&asked, 8.0);
        runs.reverse();
        assert_eq!(UnseenCnn::fit(&runs).unwrap().predict(&asked, 8.0), before);
    }

    #[test]
    fn nothing_is_predicted_from_no_valid_run() {
        let mut runs = runs(1);
        runs.iter_mut().for_each(|run| run.secs_per_image = f64::NAN);
        assert!(UnseenCnn::fit(&runs).is_none());
        assert!(UnseenCnn::fit(&[]).is_none());
    }
}
