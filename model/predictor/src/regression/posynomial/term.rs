//! Prior of a cost of a law, which is one term of its sum.

/// Standard deviation of a coefficient that is fixed.
pub(crate) const FIXED: f64 = 1e-4;

/// A normal prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Normal {
    pub(crate) centre: f64,
    pub(crate) deviation: f64,
}

/// Prior of one cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Logarithm of the cost's share of the time if every column is at its geometric mean; of the
    /// time without the start-up for a cost that grows with the work.
    pub(crate) offset: Normal,
    /// Whether the cost grows with the work; a start-up does not.
    pub(crate) grows: bool,
    /// Whether the cost is one of averaging gradients, in proportion to (w − 1)/w for w workers.
    pub(crate) synchronises: bool,
    /// Exponents of the columns with a meaning.
    pub(crate) exponents: Vec<Option<Normal>>,
    /// Effect of other columns and of names on this cost, as a share of their effect on the whole
    /// time, or on the time without the start-up for a cost that grows with the work.
    pub(crate) shares: f64,
    /// Standard deviation about that share.
    pub(crate) shared_deviation: f64,
}

impl Term {
    /// Returns the prior of a start-up that does not depend on the workers; other costs as they
    /// are.
    pub(crate) fn without_free_exponents(&self) -> Self {
        let fixed = |exponent: &Option<Normal>| exponent.map(|own| Normal { deviation: FIXED, ..own });
        let exponents = if self.grows { self.exponents.clone() } else { self.exponents.iter().map(fixed).collect() };
        Self { exponents, ..self.clone() }
    }
}
