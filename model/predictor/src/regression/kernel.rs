//! ANOVA kernels: similarity of two points, over a few features at a time.

use foreglow_numeric::add_scaled;
use serde::{Deserialize, Serialize};

use crate::dataset::Points;
use crate::regression::encoding::{Encoding, Unit};

/// Number of features up to which every pair is a component; the number of pairs is quadratic.
const PAIRED: usize = 12;

/// A sum of products of kernels of one feature each: an ANOVA kernel (Plate, "Accuracy versus
/// interpretability in flexible modeling: implementing a tradeoff using Gaussian process models",
/// Behaviormetrika 26(1), 1999; Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes",
/// NeurIPS 2011). For a numeric feature z the kernels are L = zz′ and S = exp(−(z − z′)²/2ℓ²); for
/// a name, δ = 1 if it is the same and 0 otherwise.
///
/// The components are: every L, S and δ; for each pair of features (L+S)(L+S), δδ, δL and δS; for
/// all features together ΠS, ΠδL, ΠδS, ΠδΠS and δΠS, if not among the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    encoding: Encoding,
    /// ℓ, in standard deviations of the training rows.
    length_scale: f64,
    components: Vec<Component>,
}

/// A product of factors, by their indices in [`Kernel::factors`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Component {
    pub(crate) kind: Kind,
    pub(crate) factors: Vec<usize>,
}

/// Kind of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Linear,
    Smooth,
    Name,
    Interaction,
}

/// An encoded point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) numbers: Vec<f64>,
    levels: Vec<Option<usize>>,
}

/// The rows of a fit. Kernels of a number are computed once for each distinct value of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Place>", into = "Vec<Place>")]
pub(crate) struct Rows {
    pub(crate) places: Vec<Place>,
    /// Distinct values of each number, ascending, one number after another.
    values: Vec<(usize, f64)>,
    /// Index of the value of each row, for each number.
    of_rows: Vec<Vec<usize>>,
    /// The level of each row, for each category.
    levels: Vec<Vec<Option<usize>>>,
}

impl Kernel {
    pub(crate) fn of(points: &Points, length_scale: f64) -> Self {
        let encoding = Encoding::of(points, Unit::Spread);
        let components = components(encoding.numeric.len(), encoding.category.len());
        Self { encoding, length_scale, components }
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.components
    }

    pub(crate) fn place(&self, numeric: &[f64], category: &[u32]) -> Place {
        Place { numbers: self.encoding.numbers(numeric).collect(), levels: self.encoding.levels(category).collect() }
    }

    pub(crate) fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    pub(crate) fn length_scale(&self) -> f64 {
        self.length_scale
    }

    /// Allocates the buffer for [`Kernel::between`].
    pub(crate) fn scratch(&self) -> Vec<f64> {
        vec![0.0; 3 * self.encoding.numeric.len() + self.encoding.category.len()]
    }

    /// Returns each component between two points, in order.
    pub(crate) fn between<'a>(
        &'a self,
        a: &Place,
        b: &Place,
        scratch: &'a mut [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        self.factors(a, b, scratch);
        self.products(scratch)
    }

    /// Computes Σ variance · component between a point and each of the first rows, as the sum over
    /// [`Kernel::between`] does, one component after another over all rows.
    pub(crate) fn add_to_rows(&self, point: &Place, rows: &Rows, variances: &[f64], sums: &mut [f64]) {
        let count = sums.len();
        let factors = self.factors_of_rows(point, rows, count);
        let column = |factor: usize| &factors[factor * count..][..count];
        let mut product = vec![0.0; count];
        for (component, variance) in self.components.iter().zip(variances) {
            match component.factors.as_slice() {
                [only] => add_scaled(sums, *variance, column(*only)),
                [first, others @ ..] => {
                    product.copy_from_slice(column(*first));
                    for factor in others {
                        product.iter_mut().zip(column(*factor)).for_each(|(product, factor)| *product *= factor);
                    }
                    add_scaled(sums, *variance, &product);
                }
                [] => {}
            }
        }
    }

    /// Returns the values of [`Kernel::factors`] for each of the first rows, one factor after
    /// another.
    fn factors_of_rows(&self, point: &Place, rows: &Rows, count: usize) -> Vec<f64> {
        let numbers = point.numbers.len();
        let of_value = |(number, value): &(usize, f64)| self.of_number(point.numbers[*number], *value);
        let of_values: Vec<[f64; 3]> = rows.values.iter().map(of_value).collect();
        let mut factors = vec![0.0; (3 * numbers + point.levels.len()) * count];
        let (numeric, names) = factors.split_at_mut(3 * numbers * count);
        for (columns, of_rows) in numeric.chunks_exact_mut(3 * count.max(1)).zip(&rows.of_rows) {
            let (linear, others) = columns.split_at_mut(count);
            let (smooth, both) = others.split_at_mut(count);
            for (((linear, smooth), both), value) in linear.iter_mut().zip(smooth).zip(both).zip(of_rows) {
                [*linear, *smooth, *both] = of_values[*value];
            }
        }
        let columns = names.chunks_exact_mut(count.max(1)).zip(&rows.levels);
        for ((column, levels), level) in columns.zip(&point.levels) {
            for (factor, of_row) in column.iter_mut().zip(levels) {
                *factor = f64::from(u8::from(level.is_some() && level == of_row));
            }
        }
        factors
    }

    fn products<'a>(&'a self, factors: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.components.iter().map(|component| component.factors.iter().map(|factor| factors[*factor]).product())
    }

    /// Computes L, S and L + S of each number, then δ of each name. An unknown name differs from
    /// every other.
    pub(crate) fn factors(&self, a: &Place, b: &Place, factors: &mut [f64]) {
        let (numeric, names) = factors.split_at_mut(3 * a.numbers.len());
        for ((a, b), factors) in a.numbers.iter().zip(&b.numbers).zip(numeric.chunks_exact_mut(3)) {
            factors.copy_from_slice(&self.of_number(*a, *b));
        }
        of_names(a, b, names);
    }

    fn of_number(&self, a: f64, b: f64) -> [f64; 3] {
        let distance = (a - b) / self.length_scale;
        let (linear, smooth) = (a * b, libm::exp(-0.5 * distance * distance));
        [linear, smooth, linear + smooth]
    }
}

fn of_names(a: &Place, b: &Place, factors: &mut [f64]) {
    for ((a, b), factor) in a.levels.iter().zip(&b.levels).zip(factors) {
        *factor = f64::from(u8::from(a.is_some() && a == b));
    }
}

impl From<Vec<Place>> for Rows {
    fn from(places: Vec<Place>) -> Self {
        let numbers = places.first().map_or(0, |place| place.numbers.len());
        let mut values = Vec::new();
        let mut of_rows = Vec::with_capacity(numbers);
        for number in 0..numbers {
            let mut distinct: Vec<f64> = places.iter().map(|place| place.numbers[number]).collect();
            distinct.sort_unstable_by(f64::total_cmp);
            distinct.dedup();
            let below = |place: &Place| distinct.partition_point(|value| *value < place.numbers[number]);
            of_rows.push(places.iter().map(|place| values.len() + below(place)).collect());
            values.extend(distinct.into_iter().map(|value| (number, value)));
        }
        let names = places.first().map_or(0, |place| place.levels.len());
        let levels = (0..names).map(|name| places.iter().map(|place| place.levels[name]).collect()).collect();
        Self { places, values, of_rows, levels }
    }
}

impl From<Rows> for Vec<Place> {
    fn from(rows: Rows) -> Self {
        rows.places
    }
}

fn components(numbers: usize, names: usize) -> Vec<Component> {
    let linear = |j: usize| 3 * j;
    let smooth = |j: usize| 3 * j + 1;
    let both = |j: usize| 3 * j + 2;
    let name = |c: usize| 3 * numbers + c;
    let all = |of: &dyn Fn(usize) -> usize, count: usize| (0..count).map(of).collect::<Vec<usize>>();

    let mut components = Vec::new();
    let mut push = |kind: Kind, factors: Vec<usize>| components.push(Component { kind, factors });
    (0..numbers).for_each(|j| push(Kind::Linear, vec![linear(j)]));
    (0..numbers).for_each(|j| push(Kind::Smooth, vec![smooth(j)]));
    (0..names).for_each(|c| push(Kind::Name, vec![name(c)]));
    let mut interact = |factors: Vec<usize>| push(Kind::Interaction, factors);
    if numbers + names <= PAIRED {
        for i in 0..numbers {
            (0..i).for_each(|j| interact(vec![both(i), both(j)]));
        }
        for c in 0..names {
            (0..c).for_each(|other| interact(vec![name(c), name(other)]));
            (0..numbers).flat_map(|j| [linear(j), smooth(j)]).for_each(|of| interact(vec![name(c), of]));
        }
    }
    let (every_smooth, every_name) = (all(&smooth, numbers), all(&name, names));
    if numbers > 2 {
        interact(every_smooth.clone());
    }
    if names > 1 {
        for of in (0..numbers).flat_map(|j| [linear(j), smooth(j)]) {
            interact([every_name.as_slice(), &[of]].concat());
        }
    }
    if numbers > 1 && names > 0 {
        interact([every_name.as_slice(), &every_smooth].concat());
    }
    if numbers > 1 && names > 1 {
        (0..names).for_each(|c| interact([&[name(c)], every_smooth.as_slice()].concat()));
    }
    components
}
