//! Matrix product by the `gemm` crate, which selects vector instructions at run time.

use std::mem::MaybeUninit;

/// A strided matrix: element `(r, c)` is at index `r · steps[0] + c · steps[1]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The elements.
    pub numbers: &'a [f32],
    /// Row stride and column stride.
    pub steps: [usize; 2],
}

/// Destination of a product, with `steps` as in a [`Matrix`].
#[derive(Debug)]
pub enum Into<'a> {
    /// Writes to memory that may be uninitialised.
    Room(&'a mut [MaybeUninit<f32>]),
    /// Replaces the numbers.
    Replaced(&'a mut [f32]),
    /// Adds to the numbers.
    Added(&'a mut [f32]),
}

/// Multiplies a `rows × inner` matrix by an `inner × columns` matrix and writes every element of
/// `out` that the shape covers.
///
/// # Panics
/// A matrix has fewer numbers than its shape needs.
pub fn product(
    out: Into<'_>,
    out_steps: [usize; 2],
    [rows, inner, columns]: [usize; 3],
    left: Matrix<'_>,
    right: Matrix<'_>,
) {
    let (pointer, length, adds) = match out {
        Into::Room(room) => (room.as_mut_ptr().cast::<f32>(), room.len(), false),
        Into::Replaced(numbers) => (numbers.as_mut_ptr(), numbers.len(), false),
        Into::Added(numbers) => (numbers.as_mut_ptr(), numbers.len(), true),
    };
    if rows == 0 || columns == 0 {
        return;
    }
    let last = |[down, across]: [usize; 2], steps: [usize; 2]| (down - 1) * steps[0] + (across - 1) * steps[1];
    assert!(inner > 0, "the inner dimension is 0");
    assert!(last([rows, columns], out_steps) < length, "the product needs more room");
    assert!(last([rows, inner], left.steps) < left.numbers.len(), "the left matrix is too small");
    assert!(last([inner, columns], right.steps) < right.numbers.len(), "the right matrix is too small");
    let step = |step: usize| step as isize;
    // SAFETY: the assertions above bound every index within its slice, and `out` is borrowed
    // exclusively. Without `adds`, gemm does not read `out`, so it may be uninitialised.
    #[allow(unsafe_code, reason = "gemm takes pointers")]
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            pointer,
            step(out_steps[1]),
            step(out_steps[0]),
            adds,
            left.numbers.as_ptr(),
            step(left.steps[1]),
            step(left.steps[0]),
            right.numbers.as_ptr(),
            step(right.steps[1]),
            step(right.steps[0]),
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_and_column_major_matrices_multiply_and_accumulate() {
        // [1 2 3; 4 5 6] · [1 0; 0 1; 1 1], the right matrix in column-major order.
        let left = Matrix { numbers: &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], steps: [3, 1] };
        let right = Matrix { numbers: &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0], steps: [1, 3] };
        let mut out = [f32::NAN; 4];
        product(Into::Replaced(&mut out), [2, 1], [2, 3, 2], left, right);
        assert_eq!(out, [4.0, 5.0, 10.0, 11.0]);
        product(Into::Added(&mut out), [2, 1], [2, 3, 2], left, right);
        assert_eq!(out, [8.0, 10.0, 20.0, 22.0]);
        let mut room = [MaybeUninit::new(f32::NAN); 4];
        product(Into::Room(&mut room), [1, 2], [2, 3, 2], left, right);
        // SAFETY: the product above wrote all four.
        #[allow(unsafe_code, reason = "skips filling a buffer that is overwritten")]
        let found = room.map(|number| unsafe { number.assume_init() });
        assert_eq!(found, [4.0, 10.0, 5.0, 11.0]);
    }

    #[test]
    #[should_panic(expected = "the left matrix is too small")]
    fn a_matrix_that_is_too_small_is_rejected() {
        let few = Matrix { numbers: &[1.0; 5], steps: [3, 1] };
        product(Into::Replaced(&mut [0.0; 4]), [2, 1], [2, 3, 2], few, few);
    }
}
