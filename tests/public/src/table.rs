//! Writes the tables that the project ships.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use foreglow_public::{Conditions, Measurement, Measurements, Precision, PublicModel, SoftwareKind, Variances, learn};
use foreglow_shared::Mode;
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::prepare::Prepared;

const COMPRESSION_LEVEL: u8 = 10;
/// Steps of learning the variances.
const STEPS: usize = 60;
/// Software of the rows of timm that only questions about their network fit.
const USUAL_STACK: &str = "pytorch eager nhwc synthetic";

/// Writes the tables to a folder.
pub fn write(prepared: &Prepared, folder: &Path) -> anyhow::Result<()> {
    let table = &prepared.table;
    let variances = learn(table, Variances::default(), STEPS, |row| row.is_base);
    let model = PublicModel::fit(table, &variances, |row| row.is_base).context("the variances are above 0")?;
    let mut rows: Vec<Measurement> =
        (0..table.rows.len()).filter(|row| is_shipped(prepared, *row)).map(|row| table.rows[row].clone()).collect();
    rows.extend(tuned_levels(table, &model)?);
    let [sources, networks, measurements] = used(table, rows).write();
    let files = [
        ("sources.csv", sources),
        ("networks.csv", networks),
        ("measurements.csv", measurements),
        ("deviations.csv", variances.write()),
    ];
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// Packs tables into the files that the page fetches.
pub fn pack(table: &Measurements, folder: &Path) -> anyhow::Result<()> {
    let files = [("public-measurements.bin", &table.of_usual_networks()), ("public-networks.bin", table)];
    for (name, table) in files {
        let file = folder.join(name);
        let packed = compress_to_vec_zlib(&table.pack(), COMPRESSION_LEVEL);
        std::fs::write(&file, packed).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// Whether a row may be shipped, and belongs to every fit or is the usual one of its network.
fn is_shipped(prepared: &Prepared, row: usize) -> bool {
    let measurement = &prepared.table.rows[row];
    let is_usual = measurement.stack == USUAL_STACK || measurement.conditions.mode == Mode::Training;
    prepared.is_shippable[row] && (measurement.is_base || is_usual && prepared.is_largest[row])
}

/// Returns the speed of one GPU with tuned software, as fitted: a level without a score.
fn tuned_levels(table: &Measurements, model: &PublicModel) -> anyhow::Result<Vec<Measurement>> {
    let source = table.sources.iter().position(|source| source.name == "tuned").context("the source is listed")?;
    let mut of: BTreeMap<(usize, bool, Precision), &Measurement> = BTreeMap::new();
    for row in table.rows.iter().filter(|row| table.sources[row.source].kind == SoftwareKind::Tuned) {
        let Conditions { gpu, mode, format, .. } = row.conditions;
        of.entry((gpu, mode == Mode::Training, format)).or_insert(row);
    }
    let levels = of.into_values().filter_map(|row| {
        let conditions = Conditions { gpus: 1, nodes: 1, ..row.conditions };
        let of_one = Measurement { conditions, ..row.clone() };
        let case = model.published_case(table, &of_one);
        let speed = model.speeds(&[case], &[], Some(SoftwareKind::Tuned)).pop()??.images_per_sec();
        let digit = 10f64.powf(speed.log10().floor() - 1.0);
        let images_per_sec = (speed / digit).round() * digit;
        Some(Measurement { source, stack: String::new(), date: "2023".to_owned(), images_per_sec, ..of_one })
    });
    Ok(levels.collect())
}

/// Returns the table of these rows, with the sources and networks that they use.
fn used(table: &Measurements, mut rows: Vec<Measurement>) -> Measurements {
    let networks: BTreeSet<usize> = rows.iter().map(|row| row.conditions.network).collect();
    let sources: BTreeSet<usize> = rows.iter().map(|row| row.source).collect();
    let place = |of: &BTreeSet<usize>, old: usize| of.iter().position(|own| *own == old).unwrap_or(0);
    for row in &mut rows {
        row.conditions.network = place(&networks, row.conditions.network);
        row.source = place(&sources, row.source);
        row.images_per_sec = format!("{:.3e}", row.images_per_sec).parse().unwrap_or(row.images_per_sec);
    }
    Measurements {
        sources: sources.iter().map(|source| table.sources[*source].clone()).collect(),
        networks: networks.iter().map(|network| table.networks[*network].clone()).collect(),
        built_in: table.built_in.clone(),
        gpus: table.gpus.clone(),
        rows,
    }
}
