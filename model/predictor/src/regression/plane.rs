//! A fitted function on a grid of two numbers, in a factored form that costs a few products per
//! point.
//!
//! If only two numbers vary, a process with a product kernel is a sum of products of a function of
//! one number and a function of the other. There are at most as many products as distinct values of
//! one number in the rows, because rows with the same value have the same kernel. A posynomial is
//! such a sum under a logarithm. The form is exact: only the order of the sums differs from
//! [`Regression::log`].
//!
//! [`Regression::log`]: crate::regression::Regression::log

use foreglow_numeric::logarithms;

/// Points that differ in only two numbers.
pub(crate) struct Plane<'a> {
    /// The point, D numbers.
    pub(crate) numeric: &'a [f64],
    /// Its Q codes of names.
    pub(crate) category: &'a [u32],
    /// The number that varies from row to row of the grid.
    pub(crate) down: Line<'a>,
    /// The number that varies within a row.
    pub(crate) across: Line<'a>,
}

/// The values that one number of a point takes.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Index among the numbers of a point.
    pub(crate) column: usize,
    pub(crate) values: &'a [f64],
}

/// A function f on a grid with rows i and columns j: fᵢⱼ = downᵢ + acrossⱼ + Σ products + Σₛ
/// weightₛ · ln Σ products.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factored {
    pub(crate) down: Vec<f64>,
    pub(crate) across: Vec<f64>,
    products: Vec<Product>,
    sums: Vec<(f64, Vec<Product>)>,
}

/// The product leftᵢ · rightⱼ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Product {
    pub(crate) left: Vec<f64>,
    pub(crate) right: Vec<f64>,
}

impl Plane<'_> {
    /// Returns the point with these values of the two numbers.
    pub(crate) fn at(&self, down: f64, across: f64) -> Vec<f64> {
        let mut numeric = self.numeric.to_vec();
        numeric[self.down.column] = down;
        numeric[self.across.column] = across;
        numeric
    }
}

impl Factored {
    /// Creates the zero function.
    pub(crate) fn zero(rows: usize, columns: usize) -> Self {
        Self { down: vec![0.0; rows], across: vec![0.0; columns], products: Vec::new(), sums: Vec::new() }
    }

    /// Adds a product. If its left factor is already present, evaluation costs nothing more.
    pub(crate) fn add_product(&mut self, product: Product) {
        match self.products.iter_mut().find(|other| other.left == product.left) {
            Some(other) => other.right.iter_mut().zip(&product.right).for_each(|(sum, right)| *sum += right),
            None => self.products.push(product),
        }
    }

    /// Adds weight · ln of a sum of positive products.
    pub(crate) fn add_log_sum(&mut self, weight: f64, products: Vec<Product>) {
        self.sums.push((weight, products));
    }

    /// Writes fᵢⱼ of one row to `values`, one per column; `scratch` has the same length.
    pub(crate) fn row(&self, row: usize, values: &mut [f64], scratch: &mut [f64]) {
        let down = self.down[row];
        values.iter_mut().zip(&self.across).for_each(|(value, across)| *value = down + across);
        add(&self.products, row, values);
        for (weight, products) in &self.sums {
            scratch.fill(0.0);
            add(products, row, scratch);
            logarithms(scratch);
            values.iter_mut().zip(scratch.iter()).for_each(|(value, log)| *value += weight * log);
        }
    }
}

/// Adds products two at a time, which halves the loads and stores of the sum.
fn add(products: &[Product], row: usize, values: &mut [f64]) {
    let (pairs, rest) = products.as_chunks::<2>();
    for [a, b] in pairs {
        let (left_a, left_b) = (a.left[row], b.left[row]);
        for ((value, right_a), right_b) in values.iter_mut().zip(&a.right).zip(&b.right) {
            *value += left_a * right_a + left_b * right_b;
        }
    }
    for product in rest {
        let left = product.left[row];
        values.iter_mut().zip(&product.right).for_each(|(value, right)| *value += left * right);
    }
}
