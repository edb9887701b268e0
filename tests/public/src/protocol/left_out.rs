//! A GPU type or a network left out, the software known.

use std::collections::BTreeMap;

use foreglow_public::{KnownSpeed, Measurement, SoftwareKind};
use rayon::prelude::*;

use super::Bed;
use crate::score::{Figures, Held};

/// Networks that are measured on a new GPU.
const MEASURED: usize = 3;

pub(super) fn measure(bed: &Bed<'_>) -> anyhow::Result<Vec<Figures>> {
    let mut gpus: BTreeMap<usize, Vec<usize>> = bed.grouped(|row| row.conditions.gpu);
    // Submissions use all GPUs of a machine.
    for row in bed.targets.iter().copied() {
        let measured = bed.row(row);
        let conditions = measured.conditions;
        if conditions.gpus > 1 && conditions.nodes == 1 && bed.kind(measured) == SoftwareKind::Tuned {
            gpus.entry(conditions.gpu).or_default().push(row);
        }
    }
    let held = |of: &(usize, Vec<usize>)| new_gpu(bed, of.0, &of.1);
    let of_gpus: anyhow::Result<Vec<[Vec<Held>; 2]>> =
        gpus.into_iter().collect::<Vec<_>>().par_iter().map(held).collect();
    let (alone, measured): (Vec<_>, Vec<_>) = of_gpus?.into_iter().map(|[alone, measured]| (alone, measured)).unzip();
    let networks: Vec<(String, Vec<usize>)> = bed.grouped(|row| bed.network(row).to_owned()).into_iter().collect();
    let of_networks: anyhow::Result<Vec<Vec<Held>>> =
        networks.par_iter().map(|(name, rows)| new_network(bed, name, rows)).collect();
    Ok(vec![
        Figures::of("a GPU type left out, its data sheet known", &alone.concat()),
        Figures::of("the same, three networks measured on it", &measured.concat()),
        Figures::of("a network left out, its costs known", &of_networks?.concat()),
    ])
}

/// Predicts the rows of a GPU without it, and with three networks measured on it.
fn new_gpu(bed: &Bed<'_>, gpu: usize, rows: &[usize]) -> anyhow::Result<[Vec<Held>; 2]> {
    let model = bed.fit(&bed.variances, |row| row.conditions.gpu != gpu)?;
    let name = &bed.prepared.table.gpus.all()[gpu].key;
    let (mut alone, mut measured) = (Vec::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let asked = bed.row(*row);
        let case = model.published_case(&bed.prepared.table, asked);
        let predicted = |known: &[KnownSpeed<'_>]| model.speeds(&[case], known, Some(bed.kind(asked))).pop().flatten();
        alone.extend(predicted(&[]).map(|speed| bed.held(name, *row, speed)));
        let is_other = |other: &&usize| {
            bed.network(bed.row(**other)) != bed.network(asked) && bed.source(bed.row(**other)) == bed.source(asked)
        };
        let others: Vec<usize> = rows.iter().filter(is_other).copied().collect();
        if others.len() >= MEASURED {
            let known: Vec<KnownSpeed<'_>> = (0..MEASURED)
                .map(|place| bed.row(others[(number * 7919 + place * others.len() / MEASURED) % others.len()]))
                .map(|own| KnownSpeed {
                    case: model.published_case(&bed.prepared.table, own),
                    images_per_sec: own.images_per_sec,
                    variance: 0.0,
                })
                .collect();
            measured.extend(predicted(&known).map(|speed| bed.held(name, *row, speed)));
        }
    }
    Ok([alone, measured])
}

fn new_network(bed: &Bed<'_>, name: &str, rows: &[usize]) -> anyhow::Result<Vec<Held>> {
    let model = bed.fit(&bed.variances, |row: &Measurement| bed.network(row) != name)?;
    let predicted = rows.iter().filter_map(|row| {
        let asked = bed.row(*row);
        let case = model.published_case(&bed.prepared.table, asked);
        let speed = model.speeds(&[case], &[], Some(bed.kind(asked))).pop()??;
        Some(bed.held(name, *row, speed))
    });
    Ok(predicted.collect())
}
