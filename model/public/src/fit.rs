//! The fit of public measurements.

use foreglow_shared::distinct;
use std::collections::BTreeMap;

use foreglow_numeric::dot;
use libm::log;

use crate::effects::{Key, Row};
use crate::learning::learned;
use crate::moments::{Coefficients, Indexed, Solved};
use crate::{Case, Conditions, Gpu, Measurement, Measurements, NetworkCosts, SoftwareKind, Variances};

/// Public measurements, fitted.
pub struct PublicModel {
    coefficients: Coefficients,
    solved: Solved,
    variances: Variances,
    names: Names,
}

/// A question or a known speed, relative to the fit.
pub(crate) struct Projected {
    /// Expected ln(images/s).
    pub(crate) mean: f64,
    /// L⁻¹ of its columns, corrected by its pair.
    known: Vec<f64>,
    /// Columns that the fit does not have.
    new: BTreeMap<Key, f64>,
    pair: (u32, u32),
    /// Variance of the effect of its pair.
    pair_variance: f64,
    pub(crate) noise: f64,
}

impl Projected {
    /// Returns the covariance with another one, without the noise.
    pub(crate) fn covariance(&self, other: &Self, variances: &Variances) -> f64 {
        let new = self.new.iter().filter_map(|(key, x)| Some(x * other.new.get(key)? * variances.of(key.0)));
        let pair = if self.pair == other.pair { self.pair_variance } else { 0.0 };
        dot(&self.known, &other.known) + new.sum::<f64>() + pair
    }
}

impl Measurements {
    /// Fits the rows that every fit has and those of a network.
    pub fn model_for(&self, network: &str, variances: &Variances) -> Option<PublicModel> {
        let is_own = |row: &Measurement| self.networks[row.conditions.network].name == network;
        PublicModel::fit(self, variances, |row| row.is_base || is_own(row))
    }
}

impl PublicModel {
    /// Fits the measurements that a filter keeps.
    pub fn fit(table: &Measurements, variances: &Variances, keep: impl Fn(&Measurement) -> bool) -> Option<Self> {
        let names = Names::of(table);
        let rows = names.rows(table, keep);
        let coefficients = Coefficients::of(rows.iter().map(|(row, _)| row));
        let indexed: Vec<Indexed> = rows.iter().map(|(row, log_speed)| coefficients.index(row, *log_speed)).collect();
        let solved = Solved::of(&coefficients, &indexed, variances)?;
        Some(Self { coefficients, solved, variances: variances.clone(), names })
    }

    /// Returns the number of coefficients.
    pub fn coefficients(&self) -> usize {
        self.coefficients.0.len()
    }

    /// Returns the case of the user's own software.
    pub fn own_case<'a>(
        &self,
        network: &'a NetworkCosts,
        gpu: &'a Gpu,
        conditions: Conditions,
        kind: SoftwareKind,
        years: f64,
    ) -> Case<'a> {
        let names = &self.names;
        let (family, generation) = (names.family(network), names.generation(gpu));
        let name = names.networks.binary_search(&network.name).ok();
        Case { network, gpu, conditions, kind, source: None, stack: None, years, name, family, generation }
    }

    /// Returns the case of a row of the table.
    pub fn published_case<'a>(&self, table: &'a Measurements, row: &Measurement) -> Case<'a> {
        self.names.case(table, row)
    }

    pub(crate) fn variances(&self) -> &Variances {
        &self.variances
    }

    /// Returns a case relative to the fit; `None` if the GPU cannot compute in its number format.
    pub(crate) fn project(&self, case: &Case<'_>) -> Option<Projected> {
        let Row { columns, roofline, noise, pair } = case.row()?;
        let mut dense = vec![0.0; self.coefficients.0.len()];
        let mut new = BTreeMap::new();
        for (key, value) in columns {
            match self.coefficients.0.get(&key) {
                Some(index) => dense[*index] += value,
                None => *new.entry(key).or_default() += value,
            }
        }
        let mut mean = roofline + dot(&dense, &self.solved.mean);
        let mut pair_variance = self.variances.pair;
        if let Some(sums) = self.solved.pairs.get(&pair) {
            let shrinkage = sums.shrinkage(self.variances.pair);
            let fitted: f64 = sums.columns.iter().map(|(index, value)| value * self.solved.mean[*index]).sum();
            mean += shrinkage * (sums.residual - fitted);
            sums.columns.iter().for_each(|(index, value)| dense[*index] -= shrinkage * value);
            pair_variance = shrinkage;
        }
        let known = self.solved.factor.forward(&dense);
        Some(Projected { mean, known, new, pair, pair_variance, noise: self.variances.noise[noise as usize] })
    }
}

/// Learns the variances of the measurements that a filter keeps, from a start.
pub fn learn(table: &Measurements, start: Variances, steps: usize, keep: impl Fn(&Measurement) -> bool) -> Variances {
    learned(&Names::of(table).rows(table, keep), start, steps)
}

/// The names that are levels of effects.
struct Names {
    networks: Vec<String>,
    families: Vec<String>,
    generations: Vec<String>,
    stacks: BTreeMap<(usize, String), usize>,
}

impl Names {
    fn of(table: &Measurements) -> Self {
        // Inserted one by one: few of the rows have another software than those before.
        let mut stacks: BTreeMap<(usize, String), usize> = BTreeMap::new();
        let mut last = None;
        for row in &table.rows {
            let key = (row.source, row.stack.as_str());
            if last != Some(key) {
                stacks.entry((key.0, key.1.to_owned())).or_default();
            }
            last = Some(key);
        }
        stacks.values_mut().enumerate().for_each(|(index, place)| *place = index);
        Self {
            networks: distinct(table.networks.iter().map(|network| network.name.clone())),
            families: distinct(table.networks.iter().map(|network| network.family.clone())),
            generations: distinct(table.gpus.all().iter().map(|gpu| gpu.architecture.clone())),
            stacks,
        }
    }

    fn family(&self, network: &NetworkCosts) -> Option<usize> {
        self.families.binary_search(&network.family).ok()
    }

    fn generation(&self, gpu: &Gpu) -> Option<usize> {
        self.generations.binary_search(&gpu.architecture).ok()
    }

    fn case<'a>(&self, table: &'a Measurements, row: &Measurement) -> Case<'a> {
        let (network, gpu) = (&table.networks[row.conditions.network], &table.gpus.all()[row.conditions.gpu]);
        Case {
            network,
            gpu,
            conditions: row.conditions,
            kind: table.sources[row.source].kind,
            source: Some(row.source),
            stack: self.stacks.get(&(row.source, row.stack.clone())).copied(),
            years: years(&row.date),
            name: self.networks.binary_search(&network.name).ok(),
            family: self.family(network),
            generation: self.generation(gpu),
        }
    }

    fn rows(&self, table: &Measurements, keep: impl Fn(&Measurement) -> bool) -> Vec<(Row, f64)> {
        let row = |row: &Measurement| Some((self.case(table, row).row()?, log(row.images_per_sec)));
        table.rows.iter().filter(|measurement| keep(measurement)).filter_map(row).collect()
    }
}

/// Returns the years since 2020, divided by 5, of a date that begins with a year.
pub fn years(date: &str) -> f64 {
    date.get(..4).and_then(|year| year.parse().ok()).map_or(0.0, |year: u32| (f64::from(year) - 2020.0) / 5.0)
}
