//! Products of matrices.

use super::elementwise::broadcast;
use super::{Call, Ready};
use crate::{Error, Operation};

pub fn gemm(call: &Call<'_>) -> Result<Ready, Error> {
    let flag = |name| call.node.attributes.int(name).unwrap_or(0) != 0;
    let transposed = [flag("transA"), flag("transB")];
    let matrix = |place: usize| match *call.shape(place)? {
        [rows, columns] => Ok(if transposed[place] { [columns, rows] } else { [rows, columns] }),
        ref other => Err(call.wrong(format!("its input {} has the shape {other:?} and is no matrix", place + 1))),
    };
    let ([rows, inner], [also_inner, columns]) = (matrix(0)?, matrix(1)?);
    if inner != also_inner {
        return Err(call.wrong(format!("it multiplies {rows}×{inner} by {also_inner}×{columns}")));
    }
    let shape = vec![rows, columns];
    let arguments = if call.has(2) { 3 } else { 2 };
    if arguments == 3 && broadcast(&shape, call.shape(2)?).as_ref() != Some(&shape) {
        return Err(call.wrong("its third input does not fit the product"));
    }
    let (alpha, beta) = (call.node.attributes.float("alpha", 1.0), call.node.attributes.float("beta", 1.0));
    Ok(Ready::new(Operation::Gemm { alpha, beta, transposed }, arguments, shape))
}

pub fn matmul(call: &Call<'_>) -> Result<Ready, Error> {
    let (left, right) = (call.shape(0)?, call.shape(1)?);
    let unfit = || call.wrong(format!("it multiplies {left:?} by {right:?}"));
    let ([.., rows, inner], [.., also_inner, columns]) = (left, right) else { return Err(unfit()) };
    let batches = broadcast(&left[..left.len() - 2], &right[..right.len() - 2]);
    let mut shape = batches.filter(|_| inner == also_inner).ok_or_else(unfit)?;
    shape.extend([*rows, *columns]);
    Ok(Ready::new(Operation::MatMul, 2, shape))
}
