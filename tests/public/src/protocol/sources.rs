//! A source left out: the user's software, of which no number or one is known, and several GPUs.

use foreglow_public::{Case, KnownSpeed, Measurement, PublicModel, learn};
use rayon::prelude::*;

use super::{Bed, FURTHER_STEPS, is_same_work};
use crate::score::{Figures, Held};

/// Ratio of two speeds from which their order counts.
const DIFFERS: f64 = 1.25;
/// Ratio of the multiply-accumulates of two networks of one size class.
const SIZE_CLASS: f64 = 2.0;
/// Jumps in the number of GPUs.
const JUMPS: [(u32, u32); 2] = [(1, 8), (8, 64)];

/// Held-out speeds of one source.
#[derive(Default)]
struct OfSource {
    without_own: Vec<Held>,
    with_own: Vec<Held>,
    /// Numbers of pairs of GPUs, and of those in the right order.
    pairs: usize,
    ordered: usize,
    jumps: [Vec<Held>; JUMPS.len()],
}

pub(super) fn measure(bed: &Bed<'_>) -> anyhow::Result<Vec<Figures>> {
    let by_source: Vec<(usize, Vec<usize>)> = bed.grouped(|row| row.source).into_iter().collect();
    let all: anyhow::Result<Vec<OfSource>> =
        by_source.par_iter().map(|(source, rows)| of_source(bed, *source, rows)).collect();
    let all = all?;
    let gathered = |of: fn(&OfSource) -> &Vec<Held>| all.iter().flat_map(of).cloned().collect::<Vec<Held>>();
    let (without, with) = (gathered(|source| &source.without_own), gathered(|source| &source.with_own));
    let resnet = |held: &[Held]| held.iter().filter(|one| one.network == "resnet50").cloned().collect::<Vec<Held>>();
    let [pairs, ordered] = [|source: &OfSource| source.pairs, |source: &OfSource| source.ordered]
        .map(|of| all.iter().map(of).sum::<usize>());
    Ok(vec![
        Figures::of("a source left out, kind of software told", &without).with_order(ordered, pairs),
        Figures::of("a source left out, ResNet-50", &resnet(&without)),
        Figures::of("a source left out, one own number", &with),
        Figures::of("a source left out, one own number, ResNet-50", &resnet(&with)),
        Figures::of("1 GPU → 8, one own number on 1", &gathered(|source| &source.jumps[0])),
        Figures::of("8 GPUs → 64, one own number on 8", &gathered(|source| &source.jumps[1])),
    ])
}

fn of_source(bed: &Bed<'_>, source: usize, rows: &[usize]) -> anyhow::Result<OfSource> {
    let keep = |row: &Measurement| row.source != source;
    let variances = learn(&bed.prepared.table, bed.variances.clone(), FURTHER_STEPS, |row| row.is_base && keep(row));
    let model = bed.fit(&variances, keep)?;
    let name = bed.prepared.table.sources[source].name.clone();
    let kind = Some(bed.prepared.table.sources[source].kind);
    let mut held = OfSource::default();
    let cases: Vec<Case<'_>> = rows.iter().map(|row| bed.own_case(&model, *row)).collect();
    let speeds = model.speeds(&cases, &[], kind);
    for (row, speed) in rows.iter().zip(&speeds) {
        held.without_own.extend(speed.map(|speed| bed.held(&name, *row, speed)));
    }
    (held.ordered, held.pairs) = order(bed, rows, |place| speeds[place].map(|speed| speed.log_mean));
    for (number, row) in rows.iter().enumerate() {
        if let Some(own) = own_number(bed, rows, *row, number) {
            held.with_own.extend(predicted(bed, &model, (own, *row)).map(|speed| bed.held(&name, *row, speed)));
        }
    }
    for ((from, to), jumps) in JUMPS.into_iter().zip(&mut held.jumps) {
        for (own, row) in jumping(bed, source, from, to) {
            jumps.extend(predicted(bed, &model, (own, row)).map(|speed| bed.held(&name, row, speed)));
        }
    }
    Ok(held)
}

/// Predicts a row from one own number.
fn predicted(bed: &Bed<'_>, model: &PublicModel, (own, row): (usize, usize)) -> Option<foreglow_public::Speed> {
    let known =
        KnownSpeed { case: bed.own_case(model, own), images_per_sec: bed.row(own).images_per_sec, variance: 0.0 };
    model.speeds(&[bed.own_case(model, row)], &[known], Some(bed.kind(bed.row(row)))).pop()?
}

/// Returns the number of pairs of GPUs whose speeds differ, and of those that are predicted in the
/// right order.
fn order(bed: &Bed<'_>, rows: &[usize], log_speed: impl Fn(usize) -> Option<f64>) -> (usize, usize) {
    let (mut ordered, mut pairs) = (0, 0);
    for (i, one) in rows.iter().enumerate() {
        for (j, other) in rows.iter().enumerate().take(i) {
            let (a, b) = (bed.row(*one), bed.row(*other));
            let is_pair = a.stack == b.stack
                && a.conditions.network == b.conditions.network
                && is_same_work(a, b)
                && a.conditions.gpu != b.conditions.gpu;
            let ratio = libm::log(a.images_per_sec / b.images_per_sec);
            let (Some(a), Some(b)) = (log_speed(i), log_speed(j)) else { continue };
            if is_pair && ratio.abs() > libm::log(DIFFERS) {
                pairs += 1;
                ordered += usize::from((a - b) * ratio > 0.0);
            }
        }
    }
    (ordered, pairs)
}

/// Returns another row of the same software, mode, number format and size class to know: of the
/// same network on another GPU if there is one.
fn own_number(bed: &Bed<'_>, rows: &[usize], row: usize, number: usize) -> Option<usize> {
    let asked = bed.row(row);
    let gmacs = |row: &Measurement| bed.prepared.table.networks[row.conditions.network].gmacs;
    let is_alike = |other: &usize| {
        let own = bed.row(*other);
        *other != row
            && own.stack == asked.stack
            && is_same_work(own, asked)
            && libm::log(gmacs(own) / gmacs(asked)).abs() <= libm::log(SIZE_CLASS)
    };
    let alike: Vec<usize> = rows.iter().copied().filter(is_alike).collect();
    let is_same = |other: &usize| bed.row(*other).conditions.network == asked.conditions.network;
    let same: Vec<usize> = alike.iter().copied().filter(is_same).collect();
    let choice = if same.is_empty() { alike } else { same };
    // A different one for each row, without a preference.
    choice.get(number * 7919 % choice.len().max(1)).copied()
}

/// Returns the rows of a source on `to` GPUs, each with the row on `from` GPUs of the same
/// everything else.
fn jumping(bed: &Bed<'_>, source: usize, from: u32, to: u32) -> Vec<(usize, usize)> {
    let rows = || (0..bed.prepared.table.rows.len()).filter(|row| bed.prepared.is_largest[*row]);
    let of =
        |count: u32| rows().filter(move |row| bed.row(*row).source == source && bed.row(*row).conditions.gpus == count);
    let alike = |row: usize| {
        let asked = bed.row(row);
        of(from).find(|own| {
            let own = bed.row(*own);
            let kind = |row: &Measurement| (row.conditions.network, row.conditions.gpu);
            own.stack == asked.stack && is_same_work(own, asked) && kind(own) == kind(asked)
        })
    };
    of(to).filter_map(|row| Some((alike(row)?, row))).collect()
}
