//! Prior of a cost of a law, which is one term of its sum.

/// A normal prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Normal {
    pub(crate) centre: f64,
    pub(crate) deviation: f64,
}

/// Prior of one cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Logarithm of the cost's share of the time, if every column is at its geometric mean.
    pub(crate) offset: Normal,
    /// Whether the cost is one of averaging gradients, in proportion to (w − 1)/w for w workers.
    pub(crate) synchronises: bool,
    /// Exponents of the columns with a meaning.
    pub(crate) exponents: Vec<Option<Normal>>,
    /// Effect of other columns and of names on this cost, as a share of their effect on the whole
    /// time.
    pub(crate) shares: f64,
    /// Standard deviation about that share.
    pub(crate) shared_deviation: f64,
}
