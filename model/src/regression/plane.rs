//! A fitted function on a whole grid of two numbers, in a form in which a point of the grid costs a few products.
//!
//! On a grid that varies two numbers alone, a process with a product kernel is a sum of few products of a function of the
//! one and a function of the other: as many as the rows have values of the one number, since the kernels of rows that
//! share it are the same function of it. A posynomial is such a sum under a logarithm. This is exact, not an
//! approximation: only the order of the sums differs from [`Regression::log`].
//!
//! [`Regression::log`]: crate::regression::Regression::log

use crate::regression::elementary::logarithms;

/// Points that equal one in all but two of their numbers.
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
    /// Its place among the numbers of a point.
    pub(crate) column: usize,
    pub(crate) values: &'a [f64],
}

/// A function f on a grid, i from row to row and j within a row:
/// fᵢⱼ = downᵢ + acrossⱼ + Σ products + Σₛ weightₛ · ln Σ products.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factored {
    pub(crate) down: Vec<f64>,
    pub(crate) across: Vec<f64>,
    products: Vec<Product>,
    sums: Vec<(f64, Vec<Product>)>,
}

/// leftᵢ · rightⱼ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Product {
    pub(crate) left: Vec<f64>,
    pub(crate) right: Vec<f64>,
}

impl Plane<'_> {
    /// The point at a place of the first line, and at one of the second.
    pub(crate) fn at(&self, down: f64, across: f64) -> Vec<f64> {
        let mut numeric = self.numeric.to_vec();
        numeric[self.down.column] = down;
        numeric[self.across.column] = across;
        numeric
    }
}

impl Factored {
    /// The function that is 0 on a grid.
    pub(crate) fn zero(rows: usize, columns: usize) -> Self {
        Self { down: vec![0.0; rows], across: vec![0.0; columns], products: Vec::new(), sums: Vec::new() }
    }

    /// Adds a product; one whose left is there already costs nothing more.
    pub(crate) fn add_product(&mut self, product: Product) {
        match self.products.iter_mut().find(|other| other.left == product.left) {
            Some(other) => other.right.iter_mut().zip(&product.right).for_each(|(sum, right)| *sum += right),
            None => self.products.push(product),
        }
    }

    /// Adds weight · ln of a sum of products, all above 0.
    pub(crate) fn add_log_sum(&mut self, weight: f64, products: Vec<Product>) {
        self.sums.push((weight, products));
    }

    /// fᵢⱼ of one row into `values`, as many as there are columns; `scratch` is as long.
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

/// Adds products, two at a time so that the sum is loaded and stored half as often.
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
