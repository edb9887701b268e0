//! A tensor of any number of axes: images with four, or six axes with leading ones.

use burn::tensor::Tensor;
use foreglow_onnx::MOST_AXES;

/// A tensor between two operations.
#[derive(Clone, Debug)]
pub enum Value {
    /// Four axes.
    Image(Tensor<4>),
    /// Fewer or more, with leading axes of length 1 up to six.
    Any(Tensor<6>),
}

/// Returns a shape with leading ones.
pub fn to_rank6(shape: &[usize]) -> [usize; 6] {
    let mut six = [1; MOST_AXES];
    six[MOST_AXES - shape.len()..].copy_from_slice(shape);
    six
}

impl Value {
    /// Returns a tensor with this shape.
    pub fn shaped(tensor: Tensor<6>, shape: &[usize]) -> Self {
        match *shape {
            [n, c, h, w] => Self::Image(tensor.reshape([n, c, h, w])),
            _ => Self::Any(tensor.reshape(to_rank6(shape))),
        }
    }

    /// Returns a matrix.
    pub fn of_matrix(matrix: Tensor<2>) -> Self {
        let [rows, columns] = matrix.dims();
        Self::Any(matrix.reshape([1, 1, 1, 1, rows, columns]))
    }

    /// Returns the tensor with four axes.
    pub fn image(self) -> Tensor<4> {
        match self {
            Self::Image(image) => image,
            Self::Any(any) => {
                let [_, _, n, c, h, w] = any.dims();
                any.reshape([n, c, h, w])
            }
        }
    }

    /// Returns the tensor of `axes` axes with four: those after the third in one row. Images, and
    /// sequences of three axes, which are images of one row, keep their numbers in place.
    pub fn rows(self, axes: usize) -> Tensor<4> {
        match self {
            Self::Image(image) => image,
            Self::Any(any) => {
                let dims = any.dims();
                let length = |axis: usize| if axis < axes { dims[MOST_AXES - axes + axis] } else { 1 };
                let [n, c] = [length(0), length(1)];
                any.reshape(if axes == 4 {
                    [n, c, length(2), length(3)]
                } else {
                    [n, c, 1, (2..axes).map(length).product()]
                })
            }
        }
    }

    /// Returns a tensor of this shape from [`Self::rows`].
    pub fn of_rows(rows: Tensor<4>, shape: &[usize]) -> Self {
        if shape.len() == 4 { Self::Image(rows) } else { Self::shaped(Self::Image(rows).any(), shape) }
    }

    /// Returns the tensor with six axes.
    pub fn any(self) -> Tensor<6> {
        match self {
            Self::Image(image) => {
                let [n, c, h, w] = image.dims();
                image.reshape([1, 1, n, c, h, w])
            }
            Self::Any(any) => any,
        }
    }

    /// Returns the tensor as a matrix of the rows given.
    pub fn matrix(self, [rows, columns]: [usize; 2]) -> Tensor<2> {
        match self {
            Self::Image(image) => image.reshape([rows, columns]),
            Self::Any(any) => any.reshape([rows, columns]),
        }
    }

    /// Returns all numbers in a row.
    pub fn list(self) -> Tensor<1> {
        match self {
            Self::Image(image) => {
                let count = image.shape().num_elements();
                image.reshape([count])
            }
            Self::Any(any) => {
                let count = any.shape().num_elements();
                any.reshape([count])
            }
        }
    }

    /// Returns whether only the last four axes may be longer than 1.
    pub fn fits_image(&self) -> bool {
        match self {
            Self::Image(_) => true,
            Self::Any(any) => any.dims()[..2] == [1, 1],
        }
    }
}

/// A source of an operation.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "an operation has a few, for as long as it runs")]
pub enum Operand {
    Tensor(Value),
    /// Only beside a tensor, in a function of two numbers.
    Scalar(f32),
}

impl Operand {
    /// Returns the tensor.
    pub fn tensor(self) -> Value {
        match self {
            Self::Tensor(value) => value,
            Self::Scalar(_) => unreachable!("a program has single numbers only with a tensor"),
        }
    }
}
