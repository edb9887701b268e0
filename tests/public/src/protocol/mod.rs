//! Held-out errors of the fit of public measurements.

mod left_out;
mod sources;

use std::collections::BTreeMap;

use anyhow::Context as _;
use foreglow_public::{Case, Conditions, Measurement, PublicModel, SoftwareKind, Speed, Variances, learn, years};

use crate::prepare::Prepared;
use crate::score::{Figures, Held};

/// Steps of learning the variances of all sources, and from there of all but one.
const STEPS: usize = 40;
const FURTHER_STEPS: usize = 3;
/// Step through the rows of timm that are tested, so that they do not outweigh the others.
const TIMM_STEP: usize = 4;

/// The measurements, their variances, and the rows to test.
pub struct Bed<'a> {
    prepared: &'a Prepared,
    variances: Variances,
    /// Indices of the rows with the largest batch of each cell.
    targets: Vec<usize>,
}

/// Measures all protocols.
pub fn measure(prepared: &Prepared) -> anyhow::Result<Vec<Figures>> {
    let rows = &prepared.table.rows;
    let variances = learn(&prepared.table, Variances::default(), STEPS, |row| row.is_base);
    let is_target = |row: &usize| {
        let is_thinned = prepared.table.sources[rows[*row].source].name == "timm" && !row.is_multiple_of(TIMM_STEP);
        rows[*row].is_base && prepared.is_largest[*row] && !is_thinned
    };
    let bed = Bed { prepared, variances, targets: (0..rows.len()).filter(is_target).collect() };
    let mut figures = sources::measure(&bed)?;
    figures.extend(left_out::measure(&bed)?);
    Ok(figures)
}

impl Bed<'_> {
    fn row(&self, row: usize) -> &Measurement {
        &self.prepared.table.rows[row]
    }

    fn network(&self, row: &Measurement) -> &str {
        &self.prepared.table.networks[row.conditions.network].name
    }

    fn source(&self, row: &Measurement) -> &str {
        &self.prepared.table.sources[row.source].name
    }

    fn kind(&self, row: &Measurement) -> SoftwareKind {
        self.prepared.table.sources[row.source].kind
    }

    /// Returns the case of a row, as if its software were the user's own.
    fn own_case(&self, model: &PublicModel, row: usize) -> Case<'_> {
        let table = &self.prepared.table;
        let row = self.row(row);
        let Conditions { network, gpu, .. } = row.conditions;
        let (network, gpu) = (&table.networks[network], &table.gpus.all()[gpu]);
        model.own_case(network, gpu, row.conditions, self.kind(row), years(&row.date))
    }

    /// Fits the rows of every fit that a filter keeps.
    fn fit(&self, variances: &Variances, keep: impl Fn(&Measurement) -> bool) -> anyhow::Result<PublicModel> {
        PublicModel::fit(&self.prepared.table, variances, |row| row.is_base && keep(row))
            .context("the measurements cannot be fitted")
    }

    fn held(&self, group: &str, row: usize, speed: Speed) -> Held {
        let row = self.row(row);
        Held {
            group: group.to_owned(),
            network: self.network(row).to_owned(),
            images_per_sec: row.images_per_sec,
            speed,
        }
    }

    /// Returns the targets on one GPU by a key.
    fn grouped<K: Ord>(&self, key: impl Fn(&Measurement) -> K) -> BTreeMap<K, Vec<usize>> {
        let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for row in self.targets.iter().copied().filter(|row| self.row(*row).conditions.gpus == 1) {
            groups.entry(key(self.row(row))).or_default().push(row);
        }
        groups
    }
}

/// Whether two rows have the same mode and number format.
fn is_same_work(one: &Measurement, other: &Measurement) -> bool {
    (one.conditions.mode, one.conditions.format) == (other.conditions.mode, other.conditions.format)
}
