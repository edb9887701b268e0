//! Known tensors read from one end of an axis to the other: cumulative sums, and the places of
//! numbers that are not zero.

use crate::{Known, Numbers};

/// Direction and content of a cumulative sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CumSum {
    /// Axis along which numbers are added.
    pub axis: usize,
    /// Whether a sum leaves its own number out.
    pub is_exclusive: bool,
    /// Whether the sums start at the end of the axis.
    pub is_reversed: bool,
}

/// Returns the cumulative sums of a tensor; `None` if there is no such axis, or integers overflow.
pub fn cumulative_sums(from: &Known, sum: CumSum) -> Option<Known> {
    let length = *from.dims.get(sum.axis)?;
    let stride: usize = from.dims[sum.axis + 1..].iter().product();
    let numbers = match &from.numbers {
        Numbers::Ints(ints) => Numbers::Ints(scanned(ints, length, stride, sum, |a, b| a.checked_add(b))?),
        Numbers::Floats(floats) => Numbers::Floats(scanned(floats, length, stride, sum, |a, b| Some(a + b))?),
    };
    Some(Known { dims: from.dims.clone(), numbers })
}

fn scanned<T: Copy + Default>(
    from: &[T],
    length: usize,
    stride: usize,
    sum: CumSum,
    add: impl Fn(T, T) -> Option<T>,
) -> Option<Vec<T>> {
    let mut sums = from.to_vec();
    for first in (0..from.len()).filter(|at| (at / stride).is_multiple_of(length)) {
        let mut total = T::default();
        for step in 0..length {
            let at = first + stride * if sum.is_reversed { length - 1 - step } else { step };
            let with = add(total, from[at])?;
            sums[at] = if sum.is_exclusive { total } else { with };
            total = with;
        }
    }
    Some(sums)
}

/// Returns the places of the numbers that are not zero: a row per axis, a column per number.
pub fn non_zero(from: &Known) -> Known {
    let is_other = |at: &usize| match &from.numbers {
        Numbers::Ints(ints) => ints[*at] != 0,
        Numbers::Floats(floats) => floats[*at] != 0.0,
    };
    let places: Vec<usize> = (0..from.count()).filter(is_other).collect();
    // A single number has one row, as if it were a list.
    let dims = if from.dims.is_empty() { &[1][..] } else { &from.dims };
    let mut rows = Vec::new();
    for axis in 0..dims.len() {
        let stride: usize = dims[axis + 1..].iter().product();
        rows.extend(places.iter().map(|at| (at / stride % dims[axis]) as i64));
    }
    Known { dims: vec![dims.len(), places.len()], numbers: Numbers::Ints(rows) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Known {
        Known { dims: vec![2, 3], numbers: Numbers::Ints(vec![1, 2, 3, 0, 5, 0]) }
    }

    fn sums(axis: usize, is_exclusive: bool, is_reversed: bool) -> Vec<i64> {
        let known = cumulative_sums(&table(), CumSum { axis, is_exclusive, is_reversed }).unwrap();
        known.ints().unwrap().to_vec()
    }

    /// The examples of the operator's specification, on a table of two rows.
    #[test]
    fn sums_run_along_their_axis_from_either_end_with_or_without_the_number_itself() {
        assert_eq!(sums(0, false, false), [1, 2, 3, 1, 7, 3]);
        assert_eq!(sums(1, false, false), [1, 3, 6, 0, 5, 5]);
        assert_eq!(sums(1, true, false), [0, 1, 3, 0, 0, 5]);
        assert_eq!(sums(1, false, true), [6, 5, 3, 5, 5, 0]);
        assert_eq!(sums(1, true, true), [5, 3, 0, 5, 0, 0]);
        assert_eq!(cumulative_sums(&table(), CumSum { axis: 2, ..CumSum::default() }), None);
    }

    #[test]
    fn places_of_other_numbers_than_zero_are_columns() {
        let places = non_zero(&table());
        assert_eq!((places.dims.as_slice(), places.ints().unwrap()), (&[2, 4][..], &[0, 0, 0, 1, 0, 1, 2, 1][..]));
        let number = Known { dims: Vec::new(), numbers: Numbers::Floats(vec![0.5]) };
        assert_eq!((non_zero(&number).dims, non_zero(&number).numbers), (vec![1, 1], Numbers::Ints(vec![0])));
        let zeros = Known { dims: vec![3], numbers: Numbers::Floats(vec![0.0; 3]) };
        assert_eq!(non_zero(&zeros).dims, [1, 0]);
    }
}
