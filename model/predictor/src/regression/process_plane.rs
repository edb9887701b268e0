//! A Gaussian process on a grid of two numbers.

use foreglow_numeric::Matrix;
use foreglow_numeric::exponentials;

use crate::regression::kernel::{Kernel, Place};
use crate::regression::plane::{Factored, Line, Plane, Product};

/// Functions along a line whose linear combinations are all kernels of one number: 1, z, and S(z,
/// level) for each value that the rows have.
struct Basis {
    /// Values of each function at the points of the line; the first function is 1 everywhere.
    functions: Vec<Vec<f64>>,
    /// Place of the number among the factors of a kernel, and each row's value with its index among
    /// the levels; `None` if the number never varied.
    number: Option<Number>,
}

struct Number {
    factor: usize,
    rows: Vec<(f64, usize)>,
}

/// Adds Σᵢ weightᵢ · k(x, xᵢ) at every point x of a grid.
pub(super) fn add_to(
    grid: &mut Factored,
    plane: &Plane,
    kernel: &Kernel,
    variances: &[f64],
    constant: f64,
    rows: &[(&Place, f64)],
) {
    let down = Basis::of(kernel, rows, plane.down);
    let across = Basis::of(kernel, rows, plane.across);
    let core = core(kernel, variances, constant, rows, plane, (&down, &across));
    for (p, left) in down.functions.iter().enumerate() {
        let constant = core[p][0];
        grid.down.iter_mut().zip(left).for_each(|(sum, left)| *sum += constant * left);
        let mut right = vec![0.0; plane.across.values.len()];
        for (q, function) in across.functions.iter().enumerate().skip(1) {
            right.iter_mut().zip(function).for_each(|(sum, value)| *sum += core[p][q] * value);
        }
        if p == 0 {
            grid.across.iter_mut().zip(&right).for_each(|(sum, right)| *sum += right);
        } else {
            grid.add_product(Product { left: left.clone(), right });
        }
    }
}

/// Returns the coefficient of each product of a function down and a function across.
fn core(
    kernel: &Kernel,
    variances: &[f64],
    constant: f64,
    rows: &[(&Place, f64)],
    plane: &Plane,
    (down, across): (&Basis, &Basis),
) -> Matrix {
    let mut core = Matrix::zeros(down.functions.len(), across.functions.len());
    let place = kernel.place(plane.numeric, plane.category);
    let mut factors = kernel.scratch();
    for (row, (of_row, weight)) in rows.iter().enumerate() {
        kernel.factors(&place, of_row, &mut factors);
        core[0][0] += weight * constant;
        for (component, variance) in kernel.components().iter().zip(variances) {
            let fixed = component.factors.iter().filter(|factor| !down.has(**factor) && !across.has(**factor));
            let value = weight * variance * fixed.map(|factor| factors[*factor]).product::<f64>();
            for (p, left) in down.parts(&component.factors, row) {
                for (q, right) in across.parts(&component.factors, row) {
                    core[p][q] += value * left * right;
                }
            }
        }
    }
    core
}

impl Basis {
    fn of(kernel: &Kernel, rows: &[(&Place, f64)], line: Line) -> Self {
        let mut functions = vec![vec![1.0; line.values.len()]];
        let encoding = kernel.encoding();
        let Some(place) = encoding.place(line.column) else { return Self { functions, number: None } };
        let numbers = || rows.iter().map(|(row, _)| row.numbers[place]);
        let mut levels: Vec<f64> = numbers().collect();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let along: Vec<f64> = line.values.iter().map(|x| encoding.numeric[place].encode(*x)).collect();
        let smooth = |level: &f64| {
            let square = |z: &f64| {
                let distance = (z - level) / kernel.length_scale();
                -0.5 * distance * distance
            };
            let mut smooth: Vec<f64> = along.iter().map(square).collect();
            exponentials(&mut smooth);
            smooth
        };
        let smooth: Vec<Vec<f64>> = levels.iter().map(smooth).collect();
        functions.push(along);
        functions.extend(smooth);
        let level = |z: f64| levels.partition_point(|level| level.total_cmp(&z).is_lt());
        Self { functions, number: Some(Number { factor: 3 * place, rows: numbers().map(|z| (z, level(z))).collect() }) }
    }

    /// Whether a factor of a component is a kernel of this number.
    fn has(&self, factor: usize) -> bool {
        self.number.as_ref().is_some_and(|number| (number.factor..number.factor + 3).contains(&factor))
    }

    /// Returns the functions and coefficients whose sum is this number's part of a component for
    /// one row.
    fn parts(&self, factors: &[usize], row: usize) -> impl Iterator<Item = (usize, f64)> {
        let own = factors.iter().find(|factor| self.has(**factor));
        let [first, second] = match (&self.number, own) {
            (Some(number), Some(own)) => {
                let (z, level) = number.rows[row];
                match own - number.factor {
                    0 => [Some((1, z)), None],
                    1 => [Some((2 + level, 1.0)), None],
                    _ => [Some((1, z)), Some((2 + level, 1.0))],
                }
            }
            _ => [Some((0, 1.0)), None],
        };
        first.into_iter().chain(second)
    }
}
