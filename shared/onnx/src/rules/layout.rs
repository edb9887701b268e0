//! Shapes: the same numbers in another order, or a part of them.

use super::{Call, Ready};
use crate::known::numbers;
use crate::{Error, Operation, PadMode, SliceRange};

pub fn concat(call: &Call<'_>) -> Result<Ready, Error> {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis_attribute(1, shape.len())?;
    for place in 1..call.node.inputs.len() {
        let other = call.shape(place)?;
        // One row that does not depend on the images, such as a class token, is repeated for each
        // image.
        if let (Some([1, planned]), [first, ..], [other, ..]) = (call.batches, shape.as_mut_slice(), other)
            && axis > 0
            && [*first, *other].contains(&1)
            && [*first, *other].contains(&planned)
        {
            *first = planned;
        }
        let is_repeated = |at: usize| at == 0 && other[0] == 1 && call.batches == Some([1, shape[0]]);
        let fits = other.len() == shape.len()
            && (0..shape.len()).all(|at| at == axis || other[at] == shape[at] || is_repeated(at));
        let length = shape[axis].checked_add(*other.get(axis).unwrap_or(&0)).filter(|_| fits);
        shape[axis] = length.ok_or_else(|| call.wrong(format!("{shape:?} and {other:?} do not fit")))?;
    }
    Ok(Ready::new(Operation::Concat(axis), call.node.inputs.len(), shape))
}

pub fn split(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let axis = call.axis_attribute(0, shape.len())?;
    let lengths = match call.ints_of("split", 1)? {
        Some(lengths) => lengths.iter().map(|length| usize::try_from(*length).ok()).collect::<Option<Vec<_>>>(),
        None => {
            // Equal parts; the last is smaller if the length is no multiple.
            let part = shape[axis].div_ceil(call.node.outputs.len().max(1));
            let parts = (0..shape[axis]).step_by(part.max(1)).map(|start| part.min(shape[axis] - start));
            Some(parts.take(call.node.outputs.len() + 1).collect())
        }
    };
    let lengths = lengths.filter(|lengths| {
        let sum = lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        sum == Some(shape[axis]) && lengths.len() == call.node.outputs.len()
    });
    let lengths = lengths.ok_or_else(|| call.wrong(format!("its parts do not add up to {}", shape[axis])))?;
    let part = |length: &usize| {
        let mut part = shape.to_vec();
        part[axis] = *length;
        part
    };
    let shapes = lengths.iter().map(part).collect();
    Ok(Ready { operation: Operation::Split(axis, lengths), arguments: vec![0], shapes })
}

pub fn reshape(call: &Call<'_>) -> Result<Ready, Error> {
    let target = match call.ints_of("shape", 1)? {
        Some(target) => target,
        None => return Err(call.wrong("it has no shape")),
    };
    let shape = call.shape(0)?;
    let zero_copies = call.node.attributes.int("allowzero").unwrap_or(0) == 0;
    let mut dims = Vec::with_capacity(target.len());
    for (axis, length) in target.iter().enumerate() {
        dims.push(match (length, shape.get(axis)) {
            (-1, _) => None,
            (0, Some(same)) if zero_copies => Some(*same),
            (length, _) => Some(usize::try_from(*length).map_err(|_| call.wrong(format!("its shape is {target:?}")))?),
        });
    }
    let all = numbers(shape).ok_or_else(|| call.wrong("its input is too large"))?;
    let fill = |dims: &[Option<usize>]| -> Option<Vec<usize>> {
        let given = numbers(&dims.iter().map(|length| length.unwrap_or(1)).collect::<Vec<_>>())?;
        let open = dims.iter().filter(|length| length.is_none()).count();
        let rest = all.checked_div(given).filter(|rest| rest * given == all && (open == 1 || *rest == 1))?;
        (open <= 1).then(|| dims.iter().map(|length| length.unwrap_or(rest)).collect())
    };
    // A file for a fixed batch has its size in the first length; the plan may have another.
    let rebatched = |[written, planned]: [usize; 2]| -> Option<Vec<usize>> {
        let mut dims = dims.clone();
        let first = dims.first_mut()?.as_mut()?;
        *first = (*first).checked_mul(planned)?.checked_div(written)?;
        fill(&dims)
    };
    let is_literal = target.first().is_some_and(|first| *first > 0);
    let is_batched = call.batched.first() == Some(&true);
    let other_batch = call.batches.filter(|[written, planned]| written != planned && is_literal && is_batched);
    // A length that was computed from the plan's own shapes has the batch size of the plan.
    let shape = match call.derived.get(1) {
        Some(true) => fill(&dims).or_else(|| other_batch.and_then(rebatched)),
        _ => other_batch.and_then(rebatched).or_else(|| fill(&dims)),
    };
    let shape = shape.ok_or_else(|| call.wrong(format!("{:?} does not have the shape {target:?}", call.shapes[0])))?;
    Ok(Ready::new(Operation::Reshape, 1, shape))
}

pub fn flatten(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let axis = call.node.attributes.int("axis").unwrap_or(1);
    // The axis may be one past the last.
    let axis = if axis == shape.len() as i64 { shape.len() } else { call.axis(axis, shape.len())? };
    let product = |dims: &[usize]| numbers(dims).ok_or_else(|| call.wrong("its input is too large"));
    let shape = vec![product(&shape[..axis])?, product(&shape[axis..])?];
    Ok(Ready::new(Operation::Reshape, 1, shape))
}

pub fn squeeze(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = squeezed(call)?;
    Ok(Ready::new(Operation::Reshape, 1, shape))
}

pub fn unsqueeze(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = unsqueezed(call)?;
    Ok(Ready::new(Operation::Reshape, 1, shape))
}

/// Returns the shape without axes of length 1.
pub fn squeezed(call: &Call<'_>) -> Result<Vec<usize>, Error> {
    let shape = call.shape(0)?;
    let axes = match call.ints_of("axes", 1)? {
        Some(axes) => axes.iter().map(|axis| call.axis(*axis, shape.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..shape.len()).filter(|axis| shape[*axis] == 1).collect(),
    };
    if axes.iter().any(|axis| shape[*axis] != 1) {
        return Err(call.wrong(format!("an axis of {shape:?} that it removes is not 1")));
    }
    Ok(shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, length)| *length).collect())
}

/// Returns the shape with more axes of length 1.
pub fn unsqueezed(call: &Call<'_>) -> Result<Vec<usize>, Error> {
    let shape = call.shape(0)?;
    let axes = call.ints_of("axes", 1)?.ok_or_else(|| call.wrong("it has no axes"))?;
    let count = shape.len() + axes.len();
    if count > crate::MOST_AXES {
        return Err(call.wrong(format!("it makes {count} axes, and at most {} are supported", crate::MOST_AXES)));
    }
    let axes = axes.iter().map(|axis| call.axis(*axis, count)).collect::<Result<Vec<_>, _>>()?;
    let mut rest = shape.iter();
    let lengths = (0..count).map(|axis| if axes.contains(&axis) { Some(1) } else { rest.next().copied() });
    lengths.collect::<Option<_>>().ok_or_else(|| call.wrong("it adds an axis twice"))
}

pub fn transpose(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let order = match call.node.attributes.ints("perm") {
        Some(order) => order.iter().map(|axis| call.axis(*axis, shape.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..shape.len()).rev().collect(),
    };
    if order.len() != shape.len() || (0..shape.len()).any(|axis| !order.contains(&axis)) {
        return Err(call.wrong(format!("{order:?} is not an order of {} axes", shape.len())));
    }
    let shape = order.iter().map(|axis| shape[*axis]).collect();
    Ok(Ready::new(Operation::Transpose(order), 1, shape))
}

pub fn expand(call: &Call<'_>) -> Result<Ready, Error> {
    let wrong = || call.wrong("its shape is invalid");
    let target = call.ints(1)?.ok_or_else(wrong)?;
    let mut target =
        target.iter().map(|length| usize::try_from(*length).ok()).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    let shape = call.shape(0)?;
    // A file for a fixed batch of several images repeats a row, such as a class token, for each of
    // them; the plan may have another number.
    let is_one_row = shape.len() < target.len() || shape.first() == Some(&1);
    if let Some([written, planned]) = call.batches.filter(|[written, _]| *written > 1 && is_one_row)
        && call.derived.get(1) != Some(&true)
    {
        target.iter_mut().take(1).filter(|first| **first == written).for_each(|first| *first = planned);
    }
    let shape = super::elementwise::broadcast(shape, &target).ok_or_else(wrong)?;
    Ok(Ready::new(Operation::Expand, 1, shape))
}

pub fn slice(call: &Call<'_>) -> Result<Ready, Error> {
    let ranges = ranges(call)?;
    let shape = ranges.iter().map(|range| range.len).collect();
    Ok(Ready::new(Operation::Slice(ranges), 1, shape))
}

/// Returns the ranges of `Slice`.
pub fn ranges(call: &Call<'_>) -> Result<Vec<SliceRange>, Error> {
    let shape = call.shape(0)?;
    let starts = call.ints_of("starts", 1)?.ok_or_else(|| call.wrong("it has no starts"))?;
    let ends = call.ints_of("ends", 2)?.ok_or_else(|| call.wrong("it has no ends"))?;
    let axes = call.ints_of("axes", 3)?;
    let steps = call.ints_of("steps", 4)?;
    if ends.len() != starts.len() || [axes, steps].into_iter().flatten().any(|list| list.len() != starts.len()) {
        return Err(call.wrong("its starts, ends, axes and steps differ in number"));
    }
    let mut ranges: Vec<SliceRange> = shape.iter().map(|len| SliceRange { start: 0, len: *len, step: 1 }).collect();
    for (place, (start, end)) in starts.iter().zip(ends).enumerate() {
        let axis = call.axis(axes.map_or(place as i64, |axes| axes[place]), shape.len())?;
        let (length, step) = (shape[axis] as i64, steps.map_or(1, |steps| steps[place]));
        let from_start = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        ranges[axis] = match step {
            0 => return Err(call.wrong("its step is 0")),
            1.. => {
                let (start, end) = (from_start(*start).clamp(0, length), from_start(*end).clamp(0, length));
                let len = if end > start { (end - start - 1) / step + 1 } else { 0 };
                SliceRange { start: start as usize, len: len as usize, step: step as isize }
            }
            _ => {
                let (start, end) = (from_start(*start).clamp(-1, length - 1), from_start(*end).clamp(-1, length - 1));
                let len = if start > end { (start - end - 1) / step.saturating_neg() + 1 } else { 0 };
                SliceRange { start: start.max(0) as usize, len: len as usize, step: step as isize }
            }
        };
    }
    Ok(ranges)
}

pub fn gather(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let axis = call.axis_attribute(0, shape.len())?;
    let places = call.known(1)?.ok_or_else(|| call.wrong("it has no indices"))?;
    let indices = places.ints().ok_or_else(|| call.wrong("its indices are not integers"))?;
    let indices = indices.iter().map(|at| call.axis(*at, shape[axis])).collect::<Result<Vec<_>, _>>()?;
    let mut out = shape[..axis].to_vec();
    out.extend(&places.dims);
    out.extend(&shape[axis + 1..]);
    Ok(Ready::new(Operation::Select(axis, indices), 1, out))
}

pub fn tile(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?;
    let repeats = call.ints(1)?.unwrap_or_default();
    let times: Option<Vec<usize>> =
        repeats.iter().map(|times| usize::try_from(*times).ok().filter(|times| (1..1 << 16).contains(times))).collect();
    let times = times.filter(|times| times.len() == shape.len());
    let times = times.ok_or_else(|| call.wrong(format!("its repeats are {repeats:?} for {} axes", shape.len())))?;
    let tiled = shape.iter().zip(&times).map(|(length, times)| length * times).collect();
    Ok(Ready::new(Operation::Tile(times), 1, tiled))
}

/// Returns the shape of images and the side of a block, for moving pixels to channels and back.
fn blocks(call: &Call<'_>) -> Result<([usize; 4], usize), Error> {
    let images =
        <[usize; 4]>::try_from(call.shape(0)?).map_err(|_| call.wrong("its input is not a batch of images"))?;
    let side = call.node.attributes.int("blocksize").and_then(|side| usize::try_from(side).ok());
    side.filter(|side| (1..1 << 16).contains(side))
        .map(|side| (images, side))
        .ok_or_else(|| call.wrong("its blocksize is not positive"))
}

pub fn depth_to_space(call: &Call<'_>) -> Result<Ready, Error> {
    let ([n, c, h, w], b) = blocks(call)?;
    if !c.is_multiple_of(b * b) {
        return Err(call.wrong(format!("its {c} channels are no multiple of {}", b * b)));
    }
    let out = c / (b * b);
    let (split, order) = match call.node.attributes.text("mode", "DCR") {
        "CRD" => ([n, out, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        _ => ([n, b, b, out, h, w], [0, 3, 4, 1, 5, 2]),
    };
    Ok(Ready::new(Operation::Rearrange(split.to_vec(), order.to_vec()), 1, vec![n, out, h * b, w * b]))
}

pub fn space_to_depth(call: &Call<'_>) -> Result<Ready, Error> {
    let ([n, c, h, w], b) = blocks(call)?;
    if !(h.is_multiple_of(b) && w.is_multiple_of(b)) {
        return Err(call.wrong(format!("its images of {h}×{w} px are no multiple of {b}")));
    }
    let split = vec![n, c, h / b, b, w / b, b];
    Ok(Ready::new(Operation::Rearrange(split, vec![0, 3, 5, 1, 2, 4]), 1, vec![n, c * b * b, h / b, w / b]))
}

pub fn pad(call: &Call<'_>) -> Result<Ready, Error> {
    let mut shape = call.shape(0)?.to_vec();
    let pads = call.ints_of("pads", 1)?.or(call.node.attributes.ints("paddings"));
    let pads = pads.ok_or_else(|| call.wrong("it has no pads"))?;
    let axes = match call.ints(3)? {
        Some(axes) => axes.iter().map(|axis| call.axis(*axis, shape.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..shape.len()).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(call.wrong(format!("it has {} pads for {} axes", pads.len(), axes.len())));
    }
    let value = match call.known(2)? {
        Some(known) => known.scalar().ok_or_else(|| call.wrong("its value is not one number"))?,
        None => call.node.attributes.float("value", 0.0),
    };
    let mode = match call.node.attributes.text("mode", "constant") {
        "constant" => PadMode::Constant(value),
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        other => return Err(call.wrong(format!("the border {other} is not supported"))),
    };
    let mut border = vec![[0; 2]; shape.len()];
    let wrong = || call.wrong(format!("its pads are {pads:?}"));
    for (place, axis) in axes.iter().enumerate() {
        let ends = [pads[place], pads[place + axes.len()]];
        let cut: i64 = ends.iter().map(|end| (*end).clamp(-(1 << 16), 0)).sum();
        let left = shape[*axis] as i64 + cut;
        // A mirror image is shorter than what it mirrors.
        let most = if mode == PadMode::Reflect { left } else { 1 << 16 };
        if left < 1 || ends.iter().any(|end| *end >= most || *end <= -(1 << 16)) {
            return Err(wrong());
        }
        border[*axis] = ends.map(|end| end as isize);
    }
    for (length, [before, after]) in shape.iter_mut().zip(&border) {
        *length = length.checked_add_signed(before + after).ok_or_else(wrong)?;
    }
    Ok(Ready::new(Operation::Pad(border, mode), 1, shape))
}
