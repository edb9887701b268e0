//! Design matrix: the features in which the exponent of each term is linear.

use serde::{Deserialize, Serialize};

use foreglow_shared::sort_by;

use crate::dataset::Points;
use crate::regression::encoding::{Category, Encoding, Unit};

/// φ = [1, numbers, one indicator per name, one indicator per combination of names].
///
/// Combinations are included if at least two columns of names vary, because the joint effect of two
/// names differs from the product of their effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Design {
    pub(crate) encoding: Encoding,
    /// The combinations of levels in the rows, ascending.
    combinations: Vec<Vec<Option<usize>>>,
    /// The numeric column of the workers that synchronise; the last entry of φ is the logarithm of
    /// (w − 1)/w.
    synchronised: Option<usize>,
}

/// φ of a point without its zeros: at most one non-zero entry in each group of indicators.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// Ascending.
    pub(crate) columns: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// What a coefficient of a term multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coefficient {
    Offset,
    /// The exponent of a numeric column, by its index among those that vary.
    Exponent(usize),
    Name,
    Combination,
    Synchronisation,
}

/// Limit on the names of a category, and on the combinations of names, that have one coefficient
/// each.
const MOST_LEVELS: usize = 100;

impl Design {
    /// As [`Design::of`], with synchronisation between the workers of a column.
    pub(crate) fn synchronised(points: &Points, column: Option<usize>) -> Self {
        Self { synchronised: column, ..Self::of(points) }
    }

    pub(crate) fn of(points: &Points) -> Self {
        let mut encoding = Encoding::of(points, Unit::Log);
        // A Gaussian process handles many names at no cost; here each would be a coefficient of
        // every term.
        encoding.category.retain(|column| column.levels.len() <= MOST_LEVELS);
        let mut combinations = Vec::new();
        if encoding.category.len() > 1 {
            combinations = points.category.iter().map(|codes| encoding.levels(codes).collect()).collect();
            sort_by(&mut combinations, Ord::cmp);
            combinations.dedup();
            if combinations.len() > MOST_LEVELS {
                combinations.clear();
            }
        }
        Self { encoding, combinations, synchronised: None }
    }

    /// Returns what each of the p entries of φ multiplies.
    pub(crate) fn coefficients(&self) -> Vec<Coefficient> {
        let mut coefficients = vec![Coefficient::Offset];
        coefficients.extend((0..self.encoding.numeric.len()).map(Coefficient::Exponent));
        coefficients.extend(std::iter::repeat_n(Coefficient::Name, self.encoding.names()));
        coefficients.extend(std::iter::repeat_n(Coefficient::Combination, self.combinations.len()));
        coefficients.extend(self.synchronised.map(|_| Coefficient::Synchronisation));
        coefficients
    }

    /// Returns p.
    pub(crate) fn width(&self) -> usize {
        self.before_synchronisation() + usize::from(self.synchronised.is_some())
    }

    pub(crate) fn row(&self, numeric: &[f64], category: &[u32]) -> Row {
        let mut row = Row { columns: vec![0], values: vec![1.0] };
        for (column, number) in self.encoding.numbers(numeric).enumerate() {
            row.columns.push(1 + column);
            row.values.push(number);
        }
        let levels: Vec<Option<usize>> = self.encoding.levels(category).collect();
        let mut first = 1 + self.encoding.numeric.len();
        for (column, level) in self.encoding.category.iter().zip(&levels) {
            row.indicate(level.map(|level| first + level));
            first += column.levels.len();
        }
        row.indicate(self.combinations.binary_search(&levels).ok().map(|combination| first + combination));
        if let Some(column) = self.synchronised {
            row.columns.push(self.before_synchronisation());
            row.values.push(synchronisation(numeric[column]));
        }
        row
    }

    /// Returns the first column of the category with the most names, and their number.
    pub(crate) fn largest_category(&self) -> (usize, usize) {
        let mut first = 1 + self.encoding.numeric.len();
        let place = |column: &Category| {
            let names = column.levels.len();
            first += names;
            (first - names, names)
        };
        self.encoding.category.iter().map(place).max_by_key(|(_, names)| *names).unwrap_or_default()
    }

    fn before_synchronisation(&self) -> usize {
        1 + self.encoding.numeric.len() + self.encoding.names() + self.combinations.len()
    }

    /// Returns the exponent of a term as a function of one number of a point, up to a constant.
    pub(crate) fn along(&self, column: usize, term: &[f64]) -> impl Fn(f64) -> f64 {
        let place = self.encoding.place(column);
        let slope = place.map_or(0.0, |place| term[1 + place]);
        let share = if self.synchronised == Some(column) { term[self.before_synchronisation()] } else { 0.0 };
        move |x: f64| {
            let power = place.map_or(0.0, |place| slope * self.encoding.numeric[place].encode(x));
            if share == 0.0 { power } else { power + share * synchronisation(x) }
        }
    }
}

/// Logarithm of the share of the synchronisation of a single worker, which has none.
const ALONE: f64 = -12.0;

/// Returns ln (w − 1)/w.
fn synchronisation(workers: f64) -> f64 {
    if workers > 1.0 { libm::log((workers - 1.0) / workers).max(ALONE) } else { ALONE }
}

impl Row {
    /// Returns φ·θ of one term.
    pub(crate) fn dot(&self, term: &[f64]) -> f64 {
        self.columns.iter().zip(&self.values).map(|(column, value)| value * term[*column]).sum()
    }

    fn indicate(&mut self, column: Option<usize>) {
        self.columns.extend(column);
        self.values.extend(column.map(|_| 1.0));
    }
}

/// Returns ln Σ exp of the exponents, and replaces them by each term's share of the sum.
pub(crate) fn log_sum(exponents: &mut [f64]) -> f64 {
    let greatest = exponents.iter().fold(f64::NEG_INFINITY, |most: f64, exponent| most.max(*exponent));
    let mut sum = 0.0;
    for exponent in exponents.iter_mut() {
        *exponent = libm::exp(*exponent - greatest);
        sum += *exponent;
    }
    exponents.iter_mut().for_each(|share| *share /= sum);
    greatest + libm::log(sum)
}
