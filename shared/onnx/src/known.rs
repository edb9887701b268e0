//! Small tensors whose numbers are known before the network runs.

/// Limit on the numbers in a known tensor.
pub const MOST_KNOWN: usize = 1 << 16;

/// Limit on the numbers in a tensor: larger than any memory, and small enough to count without
/// overflow.
const MOST_NUMBERS: u64 = 1 << 40;

/// Returns the count of numbers, if it is not too large.
pub fn numbers(dims: &[usize]) -> Option<usize> {
    dims.iter()
        .try_fold(1_usize, |product, dim| product.checked_mul(*dim))
        .filter(|count| *count as u64 <= MOST_NUMBERS)
}

/// A tensor of known numbers, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Length of each axis; empty for a single number.
    pub dims: Vec<usize>,
    /// The numbers.
    pub numbers: Numbers,
}

/// Numbers of a known tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Integers or booleans.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f32>),
}

impl Known {
    /// Returns a list of integers.
    pub fn list(ints: Vec<i64>) -> Self {
        Self { dims: vec![ints.len()], numbers: Numbers::Ints(ints) }
    }

    /// Returns the count of numbers.
    pub fn count(&self) -> usize {
        match &self.numbers {
            Numbers::Ints(ints) => ints.len(),
            Numbers::Floats(floats) => floats.len(),
        }
    }

    /// Returns the integers; `None` for floats.
    pub fn ints(&self) -> Option<&[i64]> {
        match &self.numbers {
            Numbers::Ints(ints) => Some(ints),
            Numbers::Floats(_) => None,
        }
    }

    /// Returns the numbers as floats.
    pub fn floats(&self) -> Vec<f32> {
        match &self.numbers {
            Numbers::Ints(ints) => ints.iter().map(|int| *int as f32).collect(),
            Numbers::Floats(floats) => floats.clone(),
        }
    }

    /// Returns the only number, as a float.
    pub fn scalar(&self) -> Option<f32> {
        if self.count() == 1 { self.floats().first().copied() } else { None }
    }

    /// Returns the numbers at these places.
    pub fn pick(&self, dims: Vec<usize>, places: impl Iterator<Item = usize>) -> Option<Self> {
        let numbers = match &self.numbers {
            Numbers::Ints(ints) => Numbers::Ints(places.map(|place| ints.get(place).copied()).collect::<Option<_>>()?),
            Numbers::Floats(floats) => {
                Numbers::Floats(places.map(|place| floats.get(place).copied()).collect::<Option<_>>()?)
            }
        };
        Some(Self { dims, numbers })
    }
}
