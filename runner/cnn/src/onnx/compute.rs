//! The operations other than layers with weights.

use burn::module::{Param, ParamId};
use burn::nn::PaddingConfig2d;
use burn::nn::conv::Conv2d;
use burn::nn::pool::MaxPool2d;
use burn::tensor::module::{avg_pool2d, conv_transpose2d, interpolate, layer_norm};
use burn::tensor::ops::PadMode as BurnPadMode;
use burn::tensor::ops::{AvgPoolOptions, ConvTransposeOptions, InterpolateMode, InterpolateOptions};
use burn::tensor::{Device, Int, Slice, Tensor, TensorData, activation};
use foreglow_onnx::{
    Binary, Coordinates, CumSum, MOST_AXES, Operation, PadMode, Reduction, ResizeMode, Rounding, SliceRange, Unary,
    Window,
};

use super::value::{Operand, Value, to_rank6};
use crate::convolution::{convolve, max_pool};

/// Computes an operation with one result, of this shape. The first source has `axes` axes.
pub fn compute(operation: &Operation, sources: Vec<Operand>, axes: usize, shape: &[usize]) -> Value {
    if let Operation::Binary(function) = operation {
        return binary(*function, sources, shape);
    }
    let mut tensors = sources.into_iter().map(Operand::tensor);
    let mut next = || tensors.next().expect("the rule of the operation has checked its inputs");
    let axis_at = |axis: usize| MOST_AXES - shape.len() + axis;
    match operation {
        Operation::Unary(function) => match next() {
            Value::Image(image) => Value::Image(unary(*function, image)),
            Value::Any(any) => Value::Any(unary(*function, any)),
        },
        // A convolution with computed weights, as in networks that standardise them, or along one
        // axis.
        Operation::Conv { window, groups } => {
            let [top, left, bottom, right] = window.padding;
            let (images, weight) = (next().rows(axes), next().rows(axes));
            let bias = tensors.next().map(|bias| Param::initialized(ParamId::new(), bias.list()));
            let conv = Conv2d {
                weight: Param::initialized(ParamId::new(), weight),
                bias,
                stride: window.stride,
                kernel_size: window.kernel,
                dilation: window.dilation,
                groups: *groups,
                padding: PaddingConfig2d::Explicit(top, left, bottom, right),
            };
            Value::of_rows(convolve(&conv, images), shape)
        }
        Operation::ConvTranspose { window, groups, extra, crop } => {
            let Window { stride, padding, dilation, .. } = *window;
            let options = ConvTransposeOptions::new(stride, [padding[0], padding[1]], *extra, dilation, *groups);
            let (images, weights) = (next().rows(axes), next().rows(axes));
            let bias = tensors.next().map(Value::list);
            let output = conv_transpose2d(images, weights, bias, options);
            let [_, _, height, width] = output.dims();
            Value::of_rows(output.narrow(2, 0, height - crop[0]).narrow(3, 0, width - crop[1]), shape)
        }
        Operation::MaxPool(window) => {
            let [top, left, bottom, right] = window.padding;
            let pool = MaxPool2d {
                kernel_size: window.kernel,
                stride: window.stride,
                padding: PaddingConfig2d::Explicit(top, left, bottom, right),
                dilation: window.dilation,
                ceil_mode: false,
            };
            Value::of_rows(max_pool(&pool, next().rows(axes)), shape)
        }
        Operation::AveragePool { window, counted } => {
            Value::of_rows(average_pool(window, counted, next().rows(axes)), shape)
        }
        Operation::ChannelNorm { reach, factor, exponent, bias } => {
            let x = next().rows(axes);
            let sum = neighbours(x.clone() * x.clone(), *reach);
            Value::of_rows(x / (sum * *factor + *bias).powf_scalar(*exponent), shape)
        }
        Operation::InstanceNorm { epsilon } => {
            let (x, scale, bias) = (next(), next().list(), next().list());
            group_norm(x, scale, bias, shape[1], *epsilon, shape)
        }
        Operation::GroupNorm { groups, epsilon } => {
            let (x, scale, bias) = (next(), next().list(), next().list());
            group_norm(x, scale, bias, *groups, *epsilon, shape)
        }
        Operation::LayerNorm { axis, epsilon } => {
            let inner = shape[*axis..].iter().product();
            let outer = shape[..*axis].iter().product();
            let (x, scale) = (next().matrix([outer, inner]), next().list());
            let bias = tensors.next().map(Value::list);
            Value::shaped(Value::of_matrix(layer_norm(x, scale, bias, *epsilon)).any(), shape)
        }
        Operation::Gemm { alpha, beta, transposed } => {
            let (left, right) = (matrix(next(), transposed[0]), matrix(next(), transposed[1]));
            let product = left.matmul(right);
            let product = if *alpha == 1.0 { product } else { product * *alpha };
            Value::of_matrix(match tensors.next() {
                None => product,
                Some(summand) => {
                    let summand = matrix(summand, false);
                    product + if *beta == 1.0 { summand } else { summand * *beta }
                }
            })
        }
        Operation::MatMul => Value::shaped(matmul(next(), next()).any(), shape),
        Operation::Where => {
            let (condition, yes, no) = (next().any(), next().any(), next().any());
            let dims = to_rank6(shape);
            let is_true = condition.not_equal_elem(0.0).expand(dims);
            Value::shaped(no.expand(dims).mask_where(is_true, yes.expand(dims)), shape)
        }
        Operation::Concat(axis) => {
            // A part that does not depend on the images has a single row.
            let whole = |value: Value| match value {
                Value::Any(any) if *axis > 0 && any.dims()[axis_at(0)] != shape[0] => {
                    let mut dims = any.dims();
                    dims[axis_at(0)] = shape[0];
                    Value::Any(any.expand(dims))
                }
                Value::Image(image) if *axis > 0 && image.dims()[0] != shape[0] => {
                    let [_, c, h, w] = image.dims();
                    Value::Image(image.expand([shape[0], c, h, w]))
                }
                whole => whole,
            };
            let all: Vec<Value> = std::iter::once(next()).chain(tensors).map(whole).collect();
            match shape.len() {
                4 => Value::Image(Tensor::cat(all.into_iter().map(Value::image).collect(), *axis)),
                _ => Value::Any(Tensor::cat(all.into_iter().map(Value::any).collect(), axis_at(*axis))),
            }
        }
        Operation::Reshape => Value::shaped(next().any(), shape),
        Operation::Expand => Value::Any(next().any().expand(to_rank6(shape))),
        Operation::Transpose(order) => transpose(next(), order, shape),
        Operation::Slice(ranges) => Value::Any(slice(next().any(), ranges)),
        Operation::Tile(times) => Value::shaped(next().any().repeat(&to_rank6(times)), shape),
        Operation::Rearrange(split, order) => {
            let x = next().any().reshape(to_rank6(split));
            let order: [usize; MOST_AXES] = std::array::from_fn(|axis| order[axis]);
            Value::shaped(x.permute(order), shape)
        }
        Operation::Select(axis, places) => {
            let x = next().any();
            let indices = indices(places, &x.device());
            Value::shaped(x.select(MOST_AXES - axes + axis, indices), shape)
        }
        Operation::Pad(border, mode) => {
            let cut = |end: isize| end.min(0).unsigned_abs();
            let added = |end: isize| end.max(0).unsigned_abs();
            let mut x = next().any();
            for (axis, [before, after]) in border.iter().enumerate().filter(|(_, [b, a])| b.min(a) < &0) {
                let axis = axis_at(axis);
                let left = x.dims()[axis] - cut(*before) - cut(*after);
                x = x.narrow(axis, cut(*before), left);
            }
            let pairs: Vec<(usize, usize)> = border.iter().map(|[b, a]| (added(*b), added(*a))).collect();
            Value::Any(x.pad(
                pairs,
                match mode {
                    PadMode::Constant(number) => BurnPadMode::Constant(*number),
                    PadMode::Reflect => BurnPadMode::Reflect,
                    PadMode::Edge => BurnPadMode::Edge,
                },
            ))
        }
        Operation::Resize(mode, coordinates) => {
            Value::Image(resize(next().image(), [shape[2], shape[3]], *mode, *coordinates))
        }
        Operation::Resample(resampling) => {
            let images = next().image();
            let [_, _, height, width] = images.dims();
            let device = images.device().without_autodiff();
            let matrix = |axis: usize, from: usize| -> Tensor<4> {
                let (to, device) = (shape[2 + axis], &device);
                Tensor::from_data(TensorData::new(resampling.matrix(axis, from, to), [1, 1, to, from]), device)
            };
            let (rows, columns) = (matrix(0, height), matrix(1, width).transpose());
            let tall = rows.expand([shape[0], shape[1], shape[2], height]).matmul(images);
            Value::Image(tall.matmul(columns.expand([shape[0], shape[1], width, shape[3]])))
        }
        Operation::Reduce(reduction, reduced) => {
            let reduced: Vec<usize> = reduced.iter().map(|axis| MOST_AXES - axes + axis).collect();
            reduce(next(), *reduction, &reduced, shape)
        }
        Operation::CumSum(sum) => Value::shaped(cumulative_sum(next().any(), axis_at(sum.axis), *sum), shape),
        Operation::Softmax { first, last, is_log } => {
            let x = next();
            let softmax = if *is_log { activation::log_softmax } else { activation::softmax };
            let count = |axes: &[usize]| axes.iter().product::<usize>();
            let dims = [1, 1, 1, count(&shape[..*first]), count(&shape[*first..=*last]), count(&shape[*last + 1..])];
            Value::shaped(softmax(x.any().reshape(dims), 4), shape)
        }
        Operation::BatchNorm { .. }
        | Operation::Dropout { .. }
        | Operation::Random(_)
        | Operation::Split(..)
        | Operation::Binary(_) => unreachable!("the program has instructions of their own for these"),
    }
}

fn cumulative_sum(x: Tensor<6>, axis: usize, sum: CumSum) -> Tensor<6> {
    let turned = |x: Tensor<6>| if sum.is_reversed { x.flip([axis]) } else { x };
    let x = turned(x);
    let length = x.dims()[axis];
    let added = if sum.is_exclusive {
        // Shifts the numbers by one place, so that no sum includes its own number.
        let zeros = x.clone().narrow(axis, 0, 1).zeros_like();
        if length == 1 { zeros } else { Tensor::cat(vec![zeros, x.narrow(axis, 0, length - 1)], axis) }
    } else {
        x
    };
    turned(added.cumsum(axis))
}

/// Splits a tensor along an axis.
pub fn split(x: Value, axis: usize, lengths: &[usize], shapes: &[&[usize]]) -> Vec<Value> {
    let starts = lengths.iter().scan(0, |start, length| Some(std::mem::replace(start, *start + length)));
    let parts = starts.zip(lengths);
    match x {
        Value::Image(image) => {
            parts.map(|(start, len)| Value::Image(image.clone().narrow(axis, start, *len))).collect()
        }
        Value::Any(any) => {
            let axis = MOST_AXES - shapes[0].len() + axis;
            parts.map(|(start, len)| Value::Any(any.clone().narrow(axis, start, *len))).collect()
        }
    }
}

fn unary<const D: usize>(function: Unary, x: Tensor<D>) -> Tensor<D> {
    match function {
        Unary::Relu => activation::relu(x),
        Unary::LeakyRelu(slope) => activation::leaky_relu(x, f64::from(slope)),
        Unary::Elu(alpha) => activation::elu(x, f64::from(alpha)),
        Unary::Celu(alpha) => activation::celu(x, f64::from(alpha)),
        Unary::Selu(alpha, gamma) => activation::elu(x, f64::from(alpha)) * gamma,
        Unary::Clip(min, max) => x.clamp(min, max),
        Unary::Sigmoid => activation::sigmoid(x),
        Unary::HardSigmoid(alpha, beta) => activation::hard_sigmoid(x, f64::from(alpha), f64::from(beta)),
        Unary::HardSwish => activation::hard_swish(x),
        Unary::Tanh => activation::tanh(x),
        Unary::Gelu => activation::gelu(x),
        Unary::GeluTanh => activation::gelu_approximate(x),
        Unary::Erf => x.erf(),
        Unary::Mish => activation::mish(x),
        Unary::Softplus => activation::softplus(x, 1.0),
        Unary::Softsign => activation::softsign(x),
        Unary::Exp => x.exp(),
        Unary::Log => x.log(),
        Unary::Sqrt => x.sqrt(),
        Unary::Reciprocal => x.recip(),
        Unary::Abs => x.abs(),
        Unary::Neg => x.neg(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Sign => x.sign(),
        Unary::Round => x.round(),
        Unary::Trunc => x.trunc(),
        Unary::IsNonZero => x.not_equal_elem(0.0).float(),
        Unary::Not => x.equal_elem(0.0).float(),
    }
}

fn binary(function: Binary, sources: Vec<Operand>, shape: &[usize]) -> Value {
    let [left, right]: [Operand; 2] = sources.try_into().expect("the rule of the operation has checked its inputs");
    let result = match (left, right) {
        (Operand::Tensor(left), Operand::Tensor(right)) => {
            if left.fits_image() && right.fits_image() {
                Value::Image(of_both(function, left.image(), right.image()))
            } else {
                Value::Any(of_both(function, left.any(), right.any()))
            }
        }
        (Operand::Tensor(Value::Image(left)), Operand::Scalar(right)) => {
            Value::Image(with_scalar(function, left, right))
        }
        (Operand::Tensor(Value::Any(left)), Operand::Scalar(right)) => Value::Any(with_scalar(function, left, right)),
        (Operand::Scalar(left), right) => match right.tensor() {
            Value::Image(right) => Value::Image(of_scalar(function, left, right)),
            Value::Any(right) => Value::Any(of_scalar(function, left, right)),
        },
    };
    match (&result, shape.len()) {
        (Value::Image(_), 4) => result,
        _ => Value::shaped(result.any(), shape),
    }
}

fn of_both<const D: usize>(function: Binary, left: Tensor<D>, right: Tensor<D>) -> Tensor<D> {
    match function {
        Binary::Add => left + right,
        Binary::Sub => left - right,
        Binary::Mul => left * right,
        Binary::Div => left / right,
        Binary::Pow => left.powf(right),
        Binary::Min => left.min_pair(right),
        Binary::Max => left.max_pair(right),
        Binary::PRelu => activation::relu(left.clone()) - activation::relu(left.neg()) * right,
        Binary::Less => left.lower(right).float(),
        Binary::LessOrEqual => left.lower_equal(right).float(),
        Binary::Greater => left.greater(right).float(),
        Binary::GreaterOrEqual => left.greater_equal(right).float(),
        Binary::Equal => left.equal(right).float(),
        // Truth values are 0 and 1.
        Binary::And => left * right,
        Binary::Or => left.max_pair(right),
        Binary::Xor => left.not_equal(right).float(),
    }
}

fn with_scalar<const D: usize>(function: Binary, left: Tensor<D>, right: f32) -> Tensor<D> {
    match function {
        Binary::Add => left + right,
        Binary::Sub => left - right,
        Binary::Mul => left * right,
        Binary::Div => left / right,
        Binary::Pow if right == 2.0 => left.clone() * left,
        Binary::Pow => left.powf_scalar(right),
        Binary::Min => left.clamp_max(right),
        Binary::Max => left.clamp_min(right),
        Binary::PRelu => activation::leaky_relu(left, f64::from(right)),
        Binary::Less => left.lower_elem(right).float(),
        Binary::LessOrEqual => left.lower_equal_elem(right).float(),
        Binary::Greater => left.greater_elem(right).float(),
        Binary::GreaterOrEqual => left.greater_equal_elem(right).float(),
        Binary::Equal => left.equal_elem(right).float(),
        Binary::And => left * right,
        Binary::Or => left.clamp_min(right),
        Binary::Xor => left.not_equal_elem(right).float(),
    }
}

fn of_scalar<const D: usize>(function: Binary, left: f32, right: Tensor<D>) -> Tensor<D> {
    match function {
        Binary::Add | Binary::Mul | Binary::Min | Binary::Max => with_scalar(function, right, left),
        Binary::Sub => right.neg() + left,
        Binary::Div => right.recip() * left,
        Binary::Equal | Binary::And | Binary::Or | Binary::Xor => with_scalar(function, right, left),
        Binary::Less => with_scalar(Binary::Greater, right, left),
        Binary::LessOrEqual => with_scalar(Binary::GreaterOrEqual, right, left),
        Binary::Greater => with_scalar(Binary::Less, right, left),
        Binary::GreaterOrEqual => with_scalar(Binary::LessOrEqual, right, left),
        Binary::Pow | Binary::PRelu => {
            let left = right.zeros_like() + left;
            of_both(function, left, right)
        }
    }
}

/// Averages windows. Burn excludes its padding from the mean, so padding that counts is added
/// first.
fn average_pool(window: &Window, counted: &[usize; 4], images: Tensor<4>) -> Tensor<4> {
    let [top, left, bottom, right] = window.padding;
    let is_counted = *counted == window.padding;
    let (images, rest) = if is_counted || *counted == [0; 4] {
        (images, [(top, bottom), (left, right)])
    } else {
        let pairs = [(counted[0], counted[2]), (counted[1], counted[3])];
        let rest = [(top - counted[0], bottom - counted[2]), (left - counted[1], right - counted[3])];
        (images.pad(pairs, BurnPadMode::Constant(0.0)), rest)
    };
    let options = AvgPoolOptions {
        kernel_size: window.kernel,
        stride: window.stride,
        padding: rest,
        count_include_pad: is_counted,
        ceil_mode: false,
    };
    avg_pool2d(images, options)
}

/// Sums each channel and its neighbours, of which this number is before and after it.
fn neighbours(x: Tensor<4>, [before, after]: [usize; 2]) -> Tensor<4> {
    let channels = x.dims()[1];
    let padded = x.pad([(before, after), (0, 0), (0, 0)], BurnPadMode::Constant(0.0));
    let parts = (0..=before + after).map(|first| padded.clone().narrow(1, first, channels));
    parts.reduce(|sum, part| sum + part).unwrap_or(padded)
}

/// Normalises groups of channels: `[n, channels, …]`.
fn group_norm(x: Value, scale: Tensor<1>, bias: Tensor<1>, groups: usize, epsilon: f64, shape: &[usize]) -> Value {
    let [images, channels] = [shape[0], shape[1]];
    let pixels: usize = shape[2..].iter().product();
    let x = x.any().reshape([images, groups, channels / groups * pixels]);
    let centred = x.clone() - x.mean_dim(2);
    let variance = (centred.clone() * centred.clone()).mean_dim(2);
    let normal = (centred / (variance + epsilon).sqrt()).reshape([images, channels, pixels]);
    let per_channel = |numbers: Tensor<1>| numbers.reshape([1, channels, 1]);
    let scaled = normal * per_channel(scale) + per_channel(bias);
    Value::shaped(scaled.reshape(to_rank6(&[images, channels, pixels])), shape)
}

fn matrix(x: Value, is_transposed: bool) -> Tensor<2> {
    let x = x.any();
    let [.., rows, columns] = x.dims();
    let x = x.reshape([rows, columns]);
    if is_transposed { x.transpose() } else { x }
}

/// Multiplies matrices; one on the right is multiplied by all rows on the left at once.
fn matmul(left: Value, right: Value) -> Value {
    let (left, right) = (left.any(), right.any());
    let [.., inner, columns] = right.dims();
    if right.dims()[..4] != [1; 4] {
        return Value::Any(left.matmul(right));
    }
    let mut dims = left.dims();
    let rows = dims[..5].iter().product::<usize>();
    let product = left.reshape([rows, inner]).matmul(right.reshape([inner, columns]));
    dims[5] = columns;
    Value::Any(product.reshape(dims))
}

fn transpose(x: Value, order: &[usize], shape: &[usize]) -> Value {
    match (x, order) {
        (Value::Image(image), [a, b, c, d]) => Value::Image(image.permute([*a, *b, *c, *d])),
        (x, order) => {
            let first = MOST_AXES - shape.len();
            let mut axes = [0, 1, 2, 3, 4, 5];
            axes[first..].iter_mut().zip(order).for_each(|(axis, from)| *axis = first + from);
            Value::Any(x.any().permute(axes))
        }
    }
}

fn slice(x: Tensor<6>, ranges: &[SliceRange]) -> Tensor<6> {
    let first = MOST_AXES - ranges.len();
    let mut slices = [Slice::new(0, None, 1); MOST_AXES];
    for (slice, SliceRange { start, len, step }) in slices[first..].iter_mut().zip(ranges) {
        let span = (len.saturating_sub(1) * step.unsigned_abs()) as isize;
        let start = *start as isize;
        *slice = match *step > 0 {
            true => Slice::new(start, Some(start + span + 1), *step),
            false => Slice::new(start - span, Some(start + 1), *step),
        };
    }
    x.slice(slices)
}

fn indices(places: &[usize], device: &Device) -> Tensor<1, Int> {
    let places: Vec<i32> = places.iter().map(|place| *place as i32).collect();
    let count = places.len();
    Tensor::from_data(TensorData::new(places, [count]), &device.clone().without_autodiff())
}

fn resize(images: Tensor<4>, [height, width]: [usize; 2], mode: ResizeMode, coordinates: Coordinates) -> Tensor<4> {
    let burns = match mode {
        ResizeMode::Nearest(rounding) => {
            let device = images.device();
            let [_, _, from_height, from_width] = images.dims();
            let rows = indices(&nearest(from_height, height, coordinates, rounding), &device);
            let columns = indices(&nearest(from_width, width, coordinates, rounding), &device);
            return images.select(2, rows).select(3, columns);
        }
        ResizeMode::Linear => InterpolateMode::Bilinear,
        ResizeMode::Cubic => InterpolateMode::Bicubic,
    };
    let options = InterpolateOptions::new(burns)
        .with_output_size([height, width])
        .with_align_corners(coordinates == Coordinates::AlignCorners);
    interpolate(images, options)
}

/// Returns the nearest input pixel of each output pixel.
fn nearest(from: usize, to: usize, coordinates: Coordinates, rounding: Rounding) -> Vec<usize> {
    let scale = from as f64 / to as f64;
    let place = |at: usize| {
        let at = match coordinates {
            Coordinates::HalfPixel => (at as f64 + 0.5) * scale - 0.5,
            Coordinates::Asymmetric => at as f64 * scale,
            Coordinates::AlignCorners if to > 1 => at as f64 * (from - 1) as f64 / (to - 1) as f64,
            Coordinates::AlignCorners => 0.0,
        };
        rounding.round(at).clamp(0.0, (from - 1) as f64) as usize
    };
    (0..to).map(place).collect()
}

/// Reduces axes, counted among six.
fn reduce(x: Value, reduction: Reduction, axes: &[usize], shape: &[usize]) -> Value {
    if let (Value::Image(image), Reduction::Mean, [4, 5]) = (&x, reduction, axes) {
        let mean = Value::Image(image.clone().mean_dims(&[2, 3]));
        return if shape.len() == 4 { mean } else { Value::shaped(mean.any(), shape) };
    }
    let x = x.any();
    let along = |x: Tensor<6>, one: fn(Tensor<6>, usize) -> Tensor<6>| axes.iter().fold(x, |x, axis| one(x, *axis));
    let sum = |x| along(x, |x, axis| x.sum_dim(axis));
    let reduced = match reduction {
        Reduction::Mean => along(x, |x, axis| x.mean_dim(axis)),
        Reduction::Sum => sum(x),
        Reduction::Max => along(x, |x, axis| x.max_dim(axis)),
        Reduction::Min => along(x, |x, axis| x.min_dim(axis)),
        Reduction::Prod => along(x, |x, axis| x.prod_dim(axis)),
        Reduction::L1 => sum(x.abs()),
        Reduction::L2 => sum(x.clone() * x).sqrt(),
        Reduction::SumSquare => sum(x.clone() * x),
    };
    Value::shaped(reduced, shape)
}
