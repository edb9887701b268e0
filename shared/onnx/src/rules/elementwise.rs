//! Functions of each number, and reductions.

use super::{Call, Ready};
use crate::{Binary, Error, Operation, Reduction, Unary};

/// Returns the shape of two tensors after broadcasting: axes are aligned at the end, and those of
/// length 1 repeated.
pub fn broadcast(left: &[usize], right: &[usize]) -> Option<Vec<usize>> {
    let axes = left.len().max(right.len());
    let at = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(axes).map_or(1, |place| shape[place]);
    (0..axes)
        .map(|axis| match (at(left, axis), at(right, axis)) {
            (1, length) | (length, 1) => Some(length),
            (left, right) => (left == right).then_some(left),
        })
        .collect()
}

pub fn dropout(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let ratio = match call.known(1)? {
        Some(known) => known.scalar().ok_or_else(|| call.wrong("its ratio is not one number"))?,
        None => call.node.attributes.float("ratio", 0.5),
    };
    if !(0.0..1.0).contains(&ratio) {
        return Err(call.wrong(format!("its ratio is {ratio}")));
    }
    let operation = Operation::Dropout { probability: f64::from(ratio), mask: shape.clone() };
    Ok(Ready::new(operation, 1, shape))
}

/// A conversion that changes numbers; they stay floats.
pub fn cast(call: &Call<'_>) -> Result<Ready, Error> {
    let function = match call.node.attributes.int("to") {
        _ if call.node.operator == "CastLike" => Unary::Trunc,
        Some(9) => Unary::IsNonZero,
        Some(2..=7 | 12 | 13) => Unary::Trunc,
        other => return Err(call.wrong(format!("a conversion to the type {other:?} is not supported"))),
    };
    Ok(Ready::new(Operation::Unary(function), 1, call.shape(0)?.to_vec()))
}

pub fn choice(call: &Call<'_>) -> Result<Ready, Error> {
    let (condition, yes, no) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let shape = broadcast(yes, no).and_then(|both| broadcast(condition, &both));
    let shape = shape.ok_or_else(|| call.wrong(format!("{condition:?}, {yes:?} and {no:?} do not fit")))?;
    Ok(Ready::new(Operation::Where, 3, shape))
}

pub fn binary(call: &Call<'_>) -> Result<Ready, Error> {
    if call.node.inputs.len() != 2 {
        return Err(call.wrong(format!("it has {} inputs; only two are supported", call.node.inputs.len())));
    }
    let (left, right) = (call.shape(0)?, call.shape(1)?);
    let shape = broadcast(left, right).ok_or_else(|| call.wrong(format!("{left:?} and {right:?} do not fit")))?;
    let function = match call.node.operator.as_str() {
        "Add" | "Sum" => Binary::Add,
        "Sub" => Binary::Sub,
        "Mul" => Binary::Mul,
        "Div" => Binary::Div,
        "Pow" => Binary::Pow,
        "Min" => Binary::Min,
        "Max" => Binary::Max,
        "Less" => Binary::Less,
        "LessOrEqual" => Binary::LessOrEqual,
        "Greater" => Binary::Greater,
        "GreaterOrEqual" => Binary::GreaterOrEqual,
        "Equal" => Binary::Equal,
        "And" => Binary::And,
        "Or" => Binary::Or,
        "Xor" => Binary::Xor,
        _ => Binary::PRelu,
    };
    Ok(Ready::new(Operation::Binary(function), 2, shape))
}

pub fn unary(call: &Call<'_>) -> Result<Ready, Error> {
    let float = |name, default| call.node.attributes.float(name, default);
    let bound = |place: usize, name: &str, default: f32| {
        let bound = match call.known(place)? {
            Some(known) => known.scalar(),
            None => Some(call.node.attributes.float(name, default)),
        };
        bound.filter(|bound| !bound.is_nan()).ok_or_else(|| call.wrong(format!("its {name} is not one number")))
    };
    let function = match call.node.operator.as_str() {
        "Relu" => Unary::Relu,
        "LeakyRelu" => Unary::LeakyRelu(float("alpha", 0.01)),
        "Elu" => Unary::Elu(float("alpha", 1.0)),
        "Celu" => Unary::Celu(float("alpha", 1.0)),
        "Selu" => Unary::Selu(float("alpha", 1.673_263_2), float("gamma", 1.050_701)),
        "Clip" => {
            let (min, max) = (bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?);
            // Every number becomes the maximum if the minimum is larger.
            Unary::Clip(min.min(max), max)
        }
        "Sigmoid" => Unary::Sigmoid,
        "HardSigmoid" => Unary::HardSigmoid(float("alpha", 0.2), float("beta", 0.5)),
        "HardSwish" => Unary::HardSwish,
        "Tanh" => Unary::Tanh,
        "Gelu" if call.node.attributes.text("approximate", "none") == "tanh" => Unary::GeluTanh,
        "Gelu" => Unary::Gelu,
        "Erf" => Unary::Erf,
        "Mish" => Unary::Mish,
        "Softplus" => Unary::Softplus,
        "Softsign" => Unary::Softsign,
        "Exp" => Unary::Exp,
        "Log" => Unary::Log,
        "Sqrt" => Unary::Sqrt,
        "Reciprocal" => Unary::Reciprocal,
        "Abs" => Unary::Abs,
        "Neg" => Unary::Neg,
        "Floor" => Unary::Floor,
        "Ceil" => Unary::Ceil,
        "Sin" => Unary::Sin,
        "Sign" => Unary::Sign,
        "Round" => Unary::Round,
        "Not" => Unary::Not,
        _ => Unary::Cos,
    };
    Ok(Ready::new(Operation::Unary(function), 1, call.shape(0)?.to_vec()))
}

pub fn reduce(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let axes = call.ints_of("axes", 1)?.unwrap_or_default();
    let mut axes = axes.iter().map(|axis| call.axis(*axis, shape.len())).collect::<Result<Vec<_>, _>>()?;
    // Without axes it reduces all of them, or none if an attribute says so.
    if axes.is_empty() && call.node.attributes.int("noop_with_empty_axes").unwrap_or(0) == 0 {
        axes = (0..shape.len()).collect();
    }
    axes.sort_unstable();
    axes.dedup();
    let keeps = call.node.attributes.int("keepdims").unwrap_or(1) != 0;
    let kept = shape.iter().enumerate().filter_map(|(axis, length)| match (axes.contains(&axis), keeps) {
        (false, _) => Some(*length),
        (true, true) => Some(1),
        (true, false) => None,
    });
    let reduction = match call.node.operator.as_str() {
        "ReduceMean" => Reduction::Mean,
        "ReduceSum" => Reduction::Sum,
        "ReduceMax" => Reduction::Max,
        "ReduceMin" => Reduction::Min,
        "ReduceProd" => Reduction::Prod,
        "ReduceL1" => Reduction::L1,
        "ReduceL2" => Reduction::L2,
        _ => Reduction::SumSquare,
    };
    let kept = kept.collect();
    Ok(Ready::new(Operation::Reduce(reduction, axes), 1, kept))
}
