//! Constant folding: computes nodes whose result is known before the run, such as constants,
//! shapes, and arithmetic on them.

use crate::known::{MOST_KNOWN, numbers};
use crate::node::Attribute;
use crate::rules::{Call, broadcast, ranges, squeezed, unsqueezed};
use crate::scan::{cumulative_sums, non_zero};
use crate::{Error, Known, Numbers};

/// Returns the outputs of a node if they are constant; `None` if they depend on the images.
pub fn fold(call: &Call<'_>) -> Result<Option<Vec<Known>>, Error> {
    let one = |known: Known| Ok(Some(vec![known]));
    match call.node.operator.as_str() {
        "Constant" => return one(constant(call)?),
        "Shape" => return one(shape(call)?),
        "Size" => {
            let count = numbers(call.shape(0)?).ok_or_else(|| call.wrong("its input is too large"))?;
            return one(Known { dims: Vec::new(), numbers: Numbers::Ints(vec![count as i64]) });
        }
        "Identity" | "Relu" | "Dropout" => return Ok(None),
        _ => {}
    }
    let given = (0..call.node.inputs.len()).filter(|place| call.has(*place));
    let known: Option<Vec<&Known>> = given.map(|place| call.known[place].as_deref()).collect();
    let Some(known) = known.filter(|known| !known.is_empty()) else { return Ok(None) };
    if known.iter().any(|known| known.count() > MOST_KNOWN) {
        return Ok(None);
    }
    let folded = match (call.node.operator.as_str(), known.as_slice()) {
        ("Cast", [number]) => Some(cast(number, call.node.attributes.int("to").unwrap_or(1))),
        ("CastLike", [number, like]) => Some(cast(number, if like.ints().is_some() { 7 } else { 1 })),
        ("ConstantOfShape", [dims]) => filled(call, dims)?,
        ("Concat", parts) => concat(call, parts)?,
        ("Gather", [from, _]) => gather(call, from)?,
        ("Slice", [from, ..]) => sliced(call, from)?,
        ("Transpose", [from]) => transposed(call, from)?,
        ("Squeeze", [from, ..]) => from.pick(squeezed(call)?, 0..from.count()),
        ("Unsqueeze", [from, ..]) => from.pick(unsqueezed(call)?, 0..from.count()),
        ("Reshape", [from, _]) => {
            let ready = crate::rules::resolve(call)?;
            from.pick(ready.shapes.into_iter().next().unwrap_or_default(), 0..from.count())
        }
        ("Range", [start, limit, delta]) => range(start, limit, delta),
        ("Where", [condition, yes, no]) => choose(condition, yes, no),
        ("CumSum", [from, _]) => match crate::rules::resolve(call)?.operation {
            crate::Operation::CumSum(sum) => cumulative_sums(from, sum),
            _ => None,
        },
        ("NonZero", [from]) => Some(non_zero(from)),
        ("ReduceProd", [from]) if from.dims.len() <= 1 => product(from),
        ("Not", [from]) => ints(from, |int| Some(i64::from(int == 0))),
        ("Neg", [from]) => ints(from, i64::checked_neg),
        ("Floor" | "Ceil", [from]) => rounded(from, call.node.operator == "Floor"),
        ("Sqrt", [from]) => Some(Known {
            dims: from.dims.clone(),
            numbers: Numbers::Floats(from.floats().iter().map(|x| x.sqrt()).collect()),
        }),
        ("Clip", [from, bounds @ ..]) => clip(call, from, bounds),
        (operator, [left, right]) => arithmetic(operator, left, right),
        _ => None,
    };
    let is_small = |known: &Known| known.count() <= MOST_KNOWN && known.dims.len() <= crate::MOST_AXES;
    Ok(folded.filter(is_small).map(|known| vec![known]))
}

fn constant(call: &Call<'_>) -> Result<Known, Error> {
    let scalar = |numbers| Known { dims: Vec::new(), numbers };
    let list = |numbers: Numbers| {
        let dims = vec![match &numbers {
            Numbers::Ints(ints) => ints.len(),
            Numbers::Floats(floats) => floats.len(),
        }];
        Known { dims, numbers }
    };
    match call.node.attributes.0.first() {
        Some((_, Attribute::Float(float))) => Ok(scalar(Numbers::Floats(vec![*float]))),
        Some((_, Attribute::Int(int))) => Ok(scalar(Numbers::Ints(vec![*int]))),
        Some((_, Attribute::Floats(floats))) => Ok(list(Numbers::Floats(floats.clone()))),
        Some((_, Attribute::Ints(ints))) => Ok(list(Numbers::Ints(ints.clone()))),
        _ => Err(call.wrong("a constant of this type is not supported")),
    }
}

fn shape(call: &Call<'_>) -> Result<Known, Error> {
    let shape = call.shape(0)?;
    let axes = shape.len() as i64;
    let at = |name, default: i64| {
        let axis = call.node.attributes.int(name).unwrap_or(default);
        (if axis < 0 { axis.saturating_add(axes) } else { axis }).clamp(0, axes) as usize
    };
    let (start, end) = (at("start", 0), at("end", axes));
    Ok(Known::list(shape.get(start..end).unwrap_or_default().iter().map(|length| *length as i64).collect()))
}

fn cast(from: &Known, to: i64) -> Known {
    let numbers = match (&from.numbers, to) {
        (Numbers::Ints(ints), 1 | 10 | 11 | 16) => Numbers::Floats(ints.iter().map(|int| *int as f32).collect()),
        (Numbers::Floats(floats), 9) => Numbers::Ints(floats.iter().map(|float| i64::from(*float != 0.0)).collect()),
        (Numbers::Floats(floats), 2..=8 | 12 | 13) => Numbers::Ints(floats.iter().map(|float| *float as i64).collect()),
        (same, _) => same.clone(),
    };
    Known { dims: from.dims.clone(), numbers }
}

fn filled(call: &Call<'_>, dims: &Known) -> Result<Option<Known>, Error> {
    let dims = dims.ints().unwrap_or_default().iter().map(|length| usize::try_from(*length).ok());
    let dims: Vec<usize> = dims.collect::<Option<_>>().ok_or_else(|| call.wrong("its shape is invalid"))?;
    let Some(count) = numbers(&dims).filter(|count| *count <= MOST_KNOWN) else {
        return Err(call.wrong(format!("a constant {dims:?} is too large")));
    };
    Ok(match call.node.attributes.get("value") {
        Some(Attribute::Tensor(value)) => {
            value.known().and_then(|known| known.pick(dims, std::iter::repeat_n(0, count)))
        }
        _ => Some(Known { dims, numbers: Numbers::Floats(vec![0.0; count]) }),
    })
}

fn concat(call: &Call<'_>, parts: &[&Known]) -> Result<Option<Known>, Error> {
    if parts.iter().any(|part| part.dims.len() != 1) {
        return Ok(None);
    }
    call.axis_attribute(0, 1)?;
    let all: Option<Vec<i64>> = parts.iter().map(|part| part.ints()).try_fold(Vec::new(), |mut all, ints| {
        all.extend(ints?);
        Some(all)
    });
    Ok(all.map(Known::list).or_else(|| {
        let floats: Vec<f32> = parts.iter().flat_map(|part| part.floats()).collect();
        Some(Known { dims: vec![floats.len()], numbers: Numbers::Floats(floats) })
    }))
}

fn gather(call: &Call<'_>, from: &Known) -> Result<Option<Known>, Error> {
    if from.dims.len() != 1 {
        return Ok(None);
    }
    let ready = crate::rules::resolve(call)?;
    let (crate::Operation::Select(_, places), Some(dims)) = (ready.operation, ready.shapes.into_iter().next()) else {
        return Ok(None);
    };
    Ok(from.pick(dims, places.into_iter()))
}

fn sliced(call: &Call<'_>, from: &Known) -> Result<Option<Known>, Error> {
    let ranges = ranges(call)?;
    let starts = ranges.iter().map(|range| range.start as isize);
    let steps = ranges.iter().map(|range| range.step);
    let walk: Vec<(isize, isize)> = starts.zip(steps).collect();
    let dims = ranges.iter().map(|range| range.len).collect();
    Ok(walked(from, dims, |axis| (axis, walk[axis].0, walk[axis].1)))
}

fn transposed(call: &Call<'_>, from: &Known) -> Result<Option<Known>, Error> {
    let ready = crate::rules::resolve(call)?;
    let (crate::Operation::Transpose(order), Some(dims)) = (ready.operation, ready.shapes.into_iter().next()) else {
        return Ok(None);
    };
    Ok(walked(from, dims, |axis| (order[axis], 0, 1)))
}

/// Picks numbers for an output of shape `dims`: along its axis, `of` returns the axis of the input,
/// the first place on it and the step.
fn walked(from: &Known, dims: Vec<usize>, of: impl Fn(usize) -> (usize, isize, isize)) -> Option<Known> {
    let count = numbers(&dims).filter(|count| *count <= MOST_KNOWN)?;
    let stride = |axis: usize| from.dims[axis + 1..].iter().product::<usize>() as isize;
    let place = |mut at: usize| {
        let mut place = 0_isize;
        for axis in (0..dims.len()).rev() {
            let (input, start, step) = of(axis);
            place += (start + (at % dims[axis]) as isize * step) * stride(input);
            at /= dims[axis];
        }
        usize::try_from(place).unwrap_or(usize::MAX)
    };
    let places: Vec<usize> = (0..count).map(place).collect();
    from.pick(dims, places.into_iter())
}

fn range(start: &Known, limit: &Known, delta: &Known) -> Option<Known> {
    let [start, limit, delta] = [start, limit, delta].map(|known| known.ints().and_then(|ints| ints.first().copied()));
    let (start, limit, delta) = (start?, limit?, delta?);
    let count = limit.checked_sub(start)?.checked_add(delta - delta.signum())?.checked_div(delta)?.max(0);
    let count = usize::try_from(count).ok().filter(|count| *count <= MOST_KNOWN)?;
    (0..count as i64).map(|at| start.checked_add(at.checked_mul(delta)?)).collect::<Option<_>>().map(Known::list)
}

fn choose(condition: &Known, yes: &Known, no: &Known) -> Option<Known> {
    let dims = broadcast(&condition.dims, &broadcast(&yes.dims, &no.dims)?)?;
    let count = numbers(&dims).filter(|count| *count <= MOST_KNOWN)?;
    // Only equal shapes and single numbers; others do not occur in shape arithmetic.
    let at = |known: &Known, place: usize| known.ints()?.get(if known.count() == 1 { 0 } else { place }).copied();
    if [condition, yes, no].iter().any(|known| known.count() != 1 && known.count() != count) {
        return None;
    }
    let pick = |place| if at(condition, place)? != 0 { at(yes, place) } else { at(no, place) };
    let ints = (0..count).map(pick).collect::<Option<_>>()?;
    Some(Known { dims, numbers: Numbers::Ints(ints) })
}

fn product(from: &Known) -> Option<Known> {
    let product = from.ints()?.iter().try_fold(1_i64, |product, int| product.checked_mul(*int))?;
    Some(Known { dims: Vec::new(), numbers: Numbers::Ints(vec![product]) })
}

fn ints(from: &Known, function: impl Fn(i64) -> Option<i64>) -> Option<Known> {
    let ints = from.ints()?.iter().map(|int| function(*int)).collect::<Option<_>>()?;
    Some(Known { dims: from.dims.clone(), numbers: Numbers::Ints(ints) })
}

fn rounded(from: &Known, is_down: bool) -> Option<Known> {
    let round = |float: &f32| if is_down { float.floor() } else { float.ceil() };
    Some(Known { dims: from.dims.clone(), numbers: Numbers::Floats(from.floats().iter().map(round).collect()) })
}

fn clip(call: &Call<'_>, from: &Known, bounds: &[&Known]) -> Option<Known> {
    // Either bound may be left out.
    let mut bounds = bounds.iter();
    let mut next = |place| if call.has(place) { bounds.next().copied() } else { None };
    let (min, max) = (next(1), next(2));
    let dims = from.dims.clone();
    let numbers = match &from.numbers {
        Numbers::Ints(ints) => {
            let bound = |known: Option<&Known>, open| known.map_or(Some(open), |known| known.ints()?.first().copied());
            let (min, max) = (bound(min, i64::MIN)?, bound(max, i64::MAX)?);
            Numbers::Ints(ints.iter().map(|int| (*int).max(min).min(max)).collect())
        }
        Numbers::Floats(floats) => {
            let bound = |known: Option<&Known>, name, open| match known {
                Some(known) => known.scalar(),
                None => Some(call.node.attributes.float(name, open)),
            };
            let (min, max) = (bound(min, "min", f32::MIN)?, bound(max, "max", f32::MAX)?);
            Numbers::Floats(floats.iter().map(|float| float.max(min).min(max)).collect())
        }
    };
    Some(Known { dims, numbers })
}

fn arithmetic(operator: &str, left: &Known, right: &Known) -> Option<Known> {
    let is_number = matches!(operator, "Add" | "Sum" | "Sub" | "Mul" | "Div" | "Mod" | "Min" | "Max");
    let is_truth =
        matches!(operator, "And" | "Or" | "Xor" | "Equal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual");
    if !is_number && !is_truth {
        return None;
    }
    let dims = broadcast(&left.dims, &right.dims)?;
    let count = numbers(&dims).filter(|count| *count <= MOST_KNOWN)?;
    if [left, right].iter().any(|known| known.count() != 1 && known.count() != count) {
        return None;
    }
    let place = |known: &Known, at: usize| if known.count() == 1 { 0 } else { at };
    let numbers = match (left.ints(), right.ints()) {
        (Some(lefts), Some(rights)) => {
            let of = |at: usize| {
                let (l, r) = (lefts.get(place(left, at)).copied()?, rights.get(place(right, at)).copied()?);
                match operator {
                    "Add" | "Sum" => l.checked_add(r),
                    "Sub" => l.checked_sub(r),
                    "Mul" => l.checked_mul(r),
                    "Div" => l.checked_div(r),
                    "Mod" => l.checked_rem_euclid(r),
                    "Min" => Some(l.min(r)),
                    "Max" => Some(l.max(r)),
                    "And" => Some(i64::from(l != 0 && r != 0)),
                    "Or" => Some(i64::from(l != 0 || r != 0)),
                    "Xor" => Some(i64::from((l != 0) != (r != 0))),
                    _ => compared(operator, l, r),
                }
            };
            Numbers::Ints((0..count).map(of).collect::<Option<_>>()?)
        }
        _ => {
            let (lefts, rights) = (left.floats(), right.floats());
            if is_truth {
                let of = |at: usize| compared(operator, *lefts.get(place(left, at))?, *rights.get(place(right, at))?);
                let numbers = Numbers::Ints((0..count).map(of).collect::<Option<_>>()?);
                return Some(Known { dims, numbers });
            }
            let of = |at: usize| {
                let (l, r) = (*lefts.get(place(left, at))?, *rights.get(place(right, at))?);
                match operator {
                    "Add" | "Sum" => Some(l + r),
                    "Sub" => Some(l - r),
                    "Mul" => Some(l * r),
                    "Div" => Some(l / r),
                    "Min" => Some(l.min(r)),
                    "Max" => Some(l.max(r)),
                    _ => None,
                }
            };
            Numbers::Floats((0..count).map(of).collect::<Option<_>>()?)
        }
    };
    Some(Known { dims, numbers })
}

/// Returns 1 if a comparison holds, else 0.
fn compared<T: PartialOrd + Copy>(operator: &str, left: T, right: T) -> Option<i64> {
    let holds = match operator {
        "Equal" => left == right,
        "Less" => left < right,
        "LessOrEqual" => left <= right,
        "Greater" => left > right,
        "GreaterOrEqual" => left >= right,
        _ => return None,
    };
    Some(i64::from(holds))
}
