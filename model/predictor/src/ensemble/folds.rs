//! Chooses hold-out folds for a shape of question: held-out rows have the same relation to the
//! fitted rows as the question has to all rows.

use foreglow_shared::{distinct, sort_by};

use crate::ensemble::axis::{End, Side};
use crate::ensemble::canonical::{MANY_ROWS, Table};
use crate::ensemble::context::Context;
use crate::ensemble::shape::{Extent, Shape, names};
use crate::permutation::{deal, hash};

/// Number of rows up to which leave-one-out is used.
const FEW_ROWS: usize = 12;
/// Number of folds of a cross-validation.
const FOLDS: usize = 5;
/// Number of folds with many rows; only some are fitted, because each trains on nearly all rows.
const FOLDS_OF_MANY: usize = 10;
const TRIED_OF_MANY: usize = 2;
/// Number of parts of the contexts that are cut in turn, while the others keep their range.
const PARTS: usize = 2;
/// Number of fitted rows from which a fold of many contexts has only some of them: a process is
/// conditioned on the rows in cubic time.
const ENOUGH_ROWS: usize = 750;

/// Rows to fit and rows to predict, by index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fold {
    pub(crate) fit: Vec<usize>,
    pub(crate) test: Vec<usize>,
    /// Number of the rows of its contexts.
    rows: usize,
}

impl Fold {
    /// Returns the share of the rows of its contexts that are fitted.
    pub(crate) fn fitted(&self) -> f64 {
        self.fit.len() as f64 / self.rows as f64
    }
}

/// Whether a forward hold-out is possible for the shape: each feature beyond its range needs three
/// values, one to hold out and two to fit the trend.
pub(super) fn has_forward(extent: &Extent, shape: &Shape) -> bool {
    match shape {
        Shape::Beyond(sides) => sides.iter().all(|(column, _)| extent.numeric[*column].levels.len() > 2),
        _ => true,
    }
}

/// Returns the folds for a shape; empty for fewer than three rows. Lower bounds are fitted but
/// never held out.
pub(crate) fn folds(table: &Table, extent: &Extent, shape: &Shape) -> Vec<Fold> {
    if table.rows() < 3 {
        return Vec::new();
    }
    let mut folds = match shape {
        Shape::Beyond(sides) => forward(table, extent, sides),
        Shape::Unseen(columns) => by_group(table, |row| names(&table.training.points.category[row], columns)),
        Shape::Few(columns, rows) => few_of_group(table, extent, columns, *rows),
        Shape::BeyondOfContext(end) => beyond_of_context(table, extent, *end),
        Shape::Inside => Vec::new(),
    };
    if folds.is_empty() {
        folds = random(table);
    }
    folds.retain(|fold| fold.fit.len() > 1 && !fold.test.is_empty());
    if table.rows() >= MANY_ROWS {
        folds.truncate(TRIED_OF_MANY);
    }
    // Beyond the range of all contexts, each shows how the time grows.
    let is_beyond_all = matches!(shape, Shape::Beyond(_));
    if table.rows() > ENOUGH_ROWS && !is_beyond_all && table.training.points.representatives().is_none() {
        folds.iter_mut().for_each(|fold| keep_some_contexts(table, fold));
    }
    folds
}

/// Divides the contexts at random, and keeps the part with the most held-out rows. Few parameters
/// are shared with the other contexts.
fn keep_some_contexts(table: &Table, fold: &mut Fold) {
    let context = |row: usize| &table.training.points.category[row];
    let contexts = distinct((0..table.rows()).map(context));
    let parts = table.rows().div_ceil(ENOUGH_ROWS);
    let of = deal(contexts.len(), parts);
    let part = |row: usize| contexts.binary_search(&context(row)).map_or(0, |place| of[place]);
    let held_out = |own: usize| fold.test.iter().filter(|row| part(**row) == own).count();
    let kept = (0..parts).rev().max_by_key(|own| held_out(*own)).unwrap_or(0);
    fold.rows = (0..table.rows()).filter(|row| part(*row) == kept).count();
    fold.fit.retain(|row| part(*row) == kept);
    fold.test.retain(|row| part(*row) == kept);
}

fn count(table: &Table) -> usize {
    if table.rows() < MANY_ROWS { FOLDS } else { FOLDS_OF_MANY }
}

/// Holds out the outermost values of the features in which a question is beyond the range.
fn forward(table: &Table, extent: &Extent, sides: &[(usize, Side)]) -> Vec<Fold> {
    let cuts: Vec<Vec<Cut>> = sides.iter().map(|side| cuts(extent, *side)).filter(|cuts| !cuts.is_empty()).collect();
    let most = cuts.iter().map(Vec::len).max().unwrap_or(0);
    let numeric = &table.training.points.numeric;
    let fold = |depth: usize| {
        let cuts: Vec<Cut> = cuts.iter().map(|cuts| cuts[depth.min(cuts.len() - 1)]).collect();
        let rows = || 0..table.rows();
        let fit: Vec<usize> = rows().filter(|row| cuts.iter().all(|cut| !cut.is_beyond(&numeric[*row]))).collect();
        let observed = || rows().filter(|row| table.observed[*row]);
        let mut test: Vec<usize> =
            observed().filter(|row| cuts.iter().all(|cut| cut.is_beyond(&numeric[*row]))).collect();
        if test.is_empty() {
            test = observed().filter(|row| cuts.iter().any(|cut| cut.is_beyond(&numeric[*row]))).collect();
        }
        Fold { fit, test, rows: table.rows() }
    };
    let enough = |fold: &Fold| fold.fit.len() >= 3.max(table.rows().div_ceil(5)) && !fold.test.is_empty();
    (0..most).map(fold).filter(enough).collect()
}

/// Cut of a feature's range; rows beyond it are held out.
#[derive(Clone, Copy)]
struct Cut {
    column: usize,
    side: Side,
    value: f64,
}

impl Cut {
    fn is_beyond(self, numeric: &[f64]) -> bool {
        self.side.is_beyond(numeric[self.column], self.value)
    }
}

/// Returns the cuts by the last value to fit, nearest to the end first. With few values the last
/// one or two are held out, with many the outermost 15 % and 35 %.
fn cuts(extent: &Extent, (column, side): (usize, Side)) -> Vec<Cut> {
    let levels = &extent.numeric[column].levels;
    let last = levels.len() - 1;
    let share = |tenths: usize| last * tenths / 100;
    let places = match levels.len() {
        ..=2 => vec![],
        3 => vec![1],
        4..=6 => vec![last - 1, last - 2],
        _ => vec![share(85), share(65)],
    };
    let value = |place: usize| match side {
        Side::Above => levels[place],
        Side::Below => levels[last - place],
    };
    places.into_iter().map(|place| Cut { column, side, value: value(place) }).collect()
}

/// Holds out whole groups of rows.
fn by_group<K: Ord + Clone>(table: &Table, key: impl Fn(usize) -> K) -> Vec<Fold> {
    let keys = distinct((0..table.rows()).map(&key));
    let folds = count(table).min(keys.len());
    if folds < 2 {
        return Vec::new();
    }
    let of = deal(keys.len(), folds);
    let fold_of_row = |row: usize| keys.binary_search(&key(row)).map_or(0, |place| of[place]);
    (0..folds).map(|fold| split(table, |row| fold_of_row(row) == fold)).collect()
}

/// Keeps `few` rows of some combinations of names that have many, and holds out the others.
fn few_of_group(table: &Table, extent: &Extent, columns: &[usize], few: usize) -> Vec<Fold> {
    let rich = extent.rich(columns, few);
    let folds = count(table);
    let of = deal(rich.len(), folds);
    let fold = |fold: usize| {
        // With fewer groups than folds, each is used more than once, with other rows kept.
        let is_tried = |place: usize| if rich.len() < folds { place == fold % rich.len() } else { of[place] == fold };
        let mut is_out = vec![false; table.rows()];
        for (_, group) in rich.iter().enumerate().filter(|(place, _)| is_tried(*place)) {
            let is_of =
                |row: &usize| table.observed[*row] && names(&table.training.points.category[*row], columns) == *group;
            let mut rows: Vec<(u64, usize)> =
                (0..table.rows()).filter(is_of).map(|row| (hash(row + fold * table.rows()), row)).collect();
            sort_by(&mut rows, Ord::cmp);
            rows[few..].iter().for_each(|(_, row)| is_out[*row] = true);
        }
        within(table, &split(table, |row| is_out[row]))
    };
    (0..folds).map(fold).filter(|fold| !fold.test.is_empty()).collect()
}

/// Each fold cuts, at the end of the question's context, some of the contexts that exceed this end;
/// another fold cuts the others. A last fold takes the last value from each context that does not
/// exceed the end, including the question's. The rows within the range of the other contexts are
/// scored.
fn beyond_of_context(table: &Table, extent: &Extent, end: End) -> Vec<Fold> {
    let points = &table.training.points;
    let exceeding: Vec<&Context> = extent.exceeding(end).collect();
    let of = deal(exceeding.len(), PARTS);
    let place = |row: usize| exceeding.binary_search_by(|context| context.names.cmp(&points.category[row])).ok();
    let cut = Cut { column: end.column, side: end.side, value: extent.value(end) };
    let is_cut = |row: usize, part: usize| {
        place(row).is_some_and(|place| of[place] == part) && cut.is_beyond(&points.numeric[row])
    };
    let is_last = |row: usize| {
        let of_context = extent.context(&points.category[row]).filter(|_| place(row).is_none());
        let last = of_context.and_then(|context| context.last(end));
        last == Some(points.numeric[row][end.column])
    };
    let folds = (0..PARTS).map(|part| split(table, |row| is_cut(row, part))).chain([split(table, is_last)]);
    folds.map(|fold| within(table, &fold)).filter(|fold| !fold.test.is_empty()).collect()
}

/// Holds out rows at random, and scores those within the range of the rest, like a question inside
/// it.
fn random(table: &Table) -> Vec<Fold> {
    let rows = table.rows();
    let folds = if rows <= FEW_ROWS { rows } else { count(table) };
    let of = deal(rows, folds);
    let all: Vec<Fold> = (0..folds).map(|fold| split(table, |row| of[row] == fold)).collect();
    let inside: Vec<Fold> = all.iter().map(|fold| within(table, fold)).filter(|fold| !fold.test.is_empty()).collect();
    if inside.iter().map(|fold| fold.test.len()).sum::<usize>() >= 2 { inside } else { all }
}

fn split(table: &Table, is_out: impl Fn(usize) -> bool) -> Fold {
    let (out, fit): (Vec<usize>, Vec<usize>) = (0..table.rows()).partition(|row| is_out(*row));
    Fold { fit, test: out.into_iter().filter(|row| table.observed[*row]).collect(), rows: table.rows() }
}

fn within(table: &Table, fold: &Fold) -> Fold {
    let numeric = &table.training.points.numeric;
    let columns = numeric[0].len();
    let range = |column: usize| {
        let values = || fold.fit.iter().map(|row| numeric[*row][column]);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ranges: Vec<(f64, f64)> = (0..columns).map(range).collect();
    let is_within = |row: &&usize| numeric[**row].iter().zip(&ranges).all(|(x, (low, high))| x >= low && x <= high);
    Fold { test: fold.test.iter().filter(is_within).copied().collect(), ..fold.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Dataset, Ensemble, Features};

    /// An ensemble over this number of contexts with ten runs each.
    fn ensemble(contexts: usize) -> Ensemble {
        let rows: Vec<(usize, f64)> =
            (0..contexts).flat_map(|name| (1..=10).map(move |x| (name, f64::from(x)))).collect();
        let columns = vec![
            Column::category("machine", rows.iter().map(|(name, _)| format!("m{name}"))),
            Column::numeric("nodes", rows.iter().map(|(_, nodes)| *nodes).collect(), None),
        ];
        let secs = rows.iter().map(|(name, nodes)| (1.0 + *name as f64) * (3.0 + 9.0 / nodes)).collect();
        let dataset = Dataset::new(Features::new(columns).unwrap(), secs, vec![false; rows.len()]).unwrap();
        Ensemble::fit(&dataset).unwrap()
    }

    #[test]
    fn a_fold_of_many_contexts_has_whole_contexts_and_one_beyond_all_of_them_has_all() {
        for (contexts, parts) in [(60, 1), (80, 2), (100, 2)] {
            let ensemble = ensemble(contexts);
            let (table, extent) = (&ensemble.state.table, &ensemble.state.extent);
            let inside = folds(table, extent, &Shape::Inside);
            assert_eq!(inside.len(), TRIED_OF_MANY);
            for fold in &inside {
                let context = |row: &usize| table.training.points.category[*row].clone();
                let kept = distinct(fold.fit.iter().chain(&fold.test).map(context));
                assert_eq!((kept.len(), fold.rows), (contexts / parts, contexts / parts * 10));
                // Each fold holds out a tenth of the rows, wherever they are.
                assert!((fold.fitted() - 0.9).abs() < 0.05 && fold.test.len() > 20, "{}", fold.fitted());
            }
            let beyond = folds(table, extent, &Shape::Beyond(vec![(0, Side::Above)]));
            assert!(beyond.iter().all(|fold| fold.rows == table.rows() && fold.fit.len() > table.rows() / 2));
        }
    }
}
