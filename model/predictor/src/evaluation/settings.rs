//! Groups of repeated runs.

use std::cmp::Ordering;

use crate::evaluation::{Repeats, Split, Trial};
use crate::{Column, Dataset, Features, Values};

/// The distinct settings of a table, in an order independent of the order of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings<'a> {
    medians: Dataset,
    runs: &'a Dataset,
    /// Row indices, grouped by setting.
    rows: Vec<usize>,
    /// Start of each setting in `rows`, and the total number of rows.
    starts: Vec<usize>,
}

impl<'a> Settings<'a> {
    /// Groups runs with equal features. The time of a setting is the median, and a lower bound if
    /// at least half of its runs are lower bounds.
    pub fn of(runs: &'a Dataset) -> Self {
        let order = Order::of(runs.features());
        let mut rows: Vec<usize> = (0..runs.secs().len()).collect();
        rows.sort_by(|a, b| order.compare(*a, *b).then(runs.secs()[*a].total_cmp(&runs.secs()[*b])));
        let mut starts: Vec<usize> = (0..rows.len())
            .filter(|at| *at == 0 || order.compare(rows[*at - 1], rows[*at]) != Ordering::Equal)
            .collect();
        starts.push(rows.len());

        let first: Vec<usize> = starts[..starts.len() - 1].iter().map(|start| rows[*start]).collect();
        let (mut secs, mut censored) = (Vec::new(), Vec::new());
        for range in starts.windows(2) {
            let repeats = &rows[range[0]..range[1]];
            secs.push(middle(repeats, runs.secs()));
            censored.push(2 * repeats.iter().filter(|row| runs.censored()[**row]).count() >= repeats.len());
        }
        let medians = Dataset::new(runs.features().select(&first), secs, censored)
            .expect("the median of times above 0 is a time above 0");
        Self { medians, runs, rows, starts }
    }

    /// Returns a table with one row per setting.
    pub fn medians(&self) -> &Dataset {
        &self.medians
    }

    /// Returns the number of settings.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Always false: a table has at least one row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all runs of the settings with these indices.
    pub fn runs(&self, settings: &[usize]) -> Dataset {
        let of = |setting: &usize| self.rows[self.starts[*setting]..self.starts[setting + 1]].iter().copied();
        self.runs.select(&settings.iter().flat_map(of).collect::<Vec<usize>>())
    }

    /// Creates the trial of a split, which must have settings on both sides.
    pub fn trial(&self, split: &Split, repeats: Repeats) -> Trial {
        let values = |settings: &[usize]| match repeats {
            Repeats::Median => self.medians.select(settings),
            Repeats::Each => self.runs(settings),
        };
        Trial { fit: values(&split.fit), test: values(&split.test).completed() }
    }
}

/// Returns the median of times in ascending order.
fn middle(rows: &[usize], secs: &[f64]) -> f64 {
    let (low, high) = (secs[rows[(rows.len() - 1) / 2]], secs[rows[rows.len() / 2]]);
    // Halves before adding, because the sum may overflow. Equal times are not halved, because half
    // of the smallest positive number is 0.
    if low == high { low } else { low / 2.0 + high / 2.0 }
}

/// Compares rows by their features: numbers by value, categories by name instead of code.
struct Order<'a> {
    columns: &'a [Column],
    /// For each categorical column, the rank of each code among the sorted names.
    ranks: Vec<Vec<usize>>,
}

impl<'a> Order<'a> {
    fn of(features: &'a Features) -> Self {
        let ranks = features.columns().iter().map(|column| match &column.values {
            Values::Numeric { .. } => Vec::new(),
            Values::Category { levels, .. } => ranks(levels),
        });
        Self { columns: features.columns(), ranks: ranks.collect() }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let column = |(column, ranks): (&Column, &Vec<usize>)| match &column.values {
            // Adding 0.0 turns −0.0 into 0.0.
            Values::Numeric { values, .. } => (values[a] + 0.0).total_cmp(&(values[b] + 0.0)),
            Values::Category { codes, .. } => ranks[codes[a] as usize].cmp(&ranks[codes[b] as usize]),
        };
        self.columns.iter().zip(&self.ranks).map(column).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn ranks(levels: &[String]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..levels.len()).collect();
    sorted.sort_by(|a, b| levels[*a].cmp(&levels[*b]));
    let mut ranks = vec![0; levels.len()];
    sorted.into_iter().enumerate().for_each(|(rank, level)| ranks[level] = rank);
    ranks
}
