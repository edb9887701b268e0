//! Convolutions, pools and resizing.

use super::{Call, Ready};
use crate::resample::COORDINATES;
use crate::{Coordinates, Error, Filter, Operation, Reduction, Resampling, ResizeMode, Rounding, Window};

/// Coefficient of the cubic interpolation, PyTorch's and the default of ONNX.
const CUBIC: f32 = -0.75;
/// Difference from a whole number that rounding explains.
const WHOLE: f64 = 1e-3;
/// Limit on the numbers in the matrix of an interpolation.
const MOST_WEIGHTS: usize = 1 << 24;

pub fn conv(call: &Call<'_>) -> Result<Ready, Error> {
    let [images, inputs, height, width] = call.images()?;
    let (outputs, per_group, kernel) = weights(call)?;
    let groups = groups(call)?;
    if per_group.checked_mul(groups) != Some(inputs) || !outputs.is_multiple_of(groups) {
        return Err(call.wrong(format!(
            "its weights take {per_group} channels in {groups} groups and give {outputs}, and its input has {inputs}"
        )));
    }
    let (window, [down, across]) = slide(call, kernel, [height, width])?;
    let arguments = arguments(call, outputs)?;
    let shape = call.like_images([images, outputs, down, across]);
    Ok(Ready::new(Operation::Conv { window, groups }, arguments, shape))
}

pub fn conv_transpose(call: &Call<'_>) -> Result<Ready, Error> {
    let [images, inputs, height, width] = call.images()?;
    let (stored_inputs, per_group, kernel) = weights(call)?;
    let groups = groups(call)?;
    let outputs = per_group.checked_mul(groups).filter(|_| stored_inputs == inputs && inputs.is_multiple_of(groups));
    let outputs = outputs.ok_or_else(|| call.wrong("its weights do not fit the channels of its input"))?;
    let (stride, dilation) = (positive(call, "strides")?, positive(call, "dilations")?);
    let mut extra = call.pair("output_padding", 0)?;
    let mut padding = pads(call)?;
    // Size without padding (the formula of the operator's specification).
    let full = |axis: usize, side: usize| (side - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
    let sides = [height, width];
    let auto = call.node.attributes.text("auto_pad", "NOTSET");
    match auto {
        "NOTSET" | "SAME_UPPER" | "SAME_LOWER" => {}
        "VALID" => padding = [0; 4],
        other => return Err(call.wrong(format!("the padding {other} is unknown"))),
    }
    let wanted = match (call.node.attributes.ints("output_shape"), auto) {
        (Some(_), _) => Some(call.pair("output_shape", 1)?),
        (None, "SAME_UPPER" | "SAME_LOWER") => Some([0, 1].map(|axis| sides[axis] * stride[axis])),
        _ => None,
    };
    if let Some(wanted) = wanted {
        for axis in 0..2 {
            let total = (full(axis, sides[axis]) + extra[axis]).checked_sub(wanted[axis]).ok_or_else(|| {
                call.wrong(format!(
                    "an output of {wanted:?} px is larger than its windows cover, which is not supported"
                ))
            })?;
            let before = if auto == "SAME_UPPER" { total / 2 } else { total - total / 2 };
            (padding[axis], padding[axis + 2]) = (before, total - before);
        }
    }
    let (mut out, mut crop) = ([0; 2], [0; 2]);
    for axis in 0..2 {
        // Burn crops both ends equally, so rows that only one end loses are added there, or
        // computed and then cut off.
        let (before, after) = (padding[axis], padding[axis + 2]);
        let size = (full(axis, sides[axis]) + extra[axis]).checked_sub(before + after).filter(|size| *size > 0);
        out[axis] = size.ok_or_else(|| call.wrong("its padding is larger than its output"))?;
        extra[axis] += before.saturating_sub(after);
        crop[axis] = after.saturating_sub(before);
        padding[axis + 2] = before;
    }
    let window = Window { kernel, stride, dilation, padding };
    let arguments = arguments(call, outputs)?;
    let shape = call.like_images([images, outputs, out[0], out[1]]);
    Ok(Ready::new(Operation::ConvTranspose { window, groups, extra, crop }, arguments, shape))
}

pub fn max_pool(call: &Call<'_>) -> Result<Ready, Error> {
    let [images, channels, height, width] = call.images()?;
    let (window, [down, across]) = slide(call, kernel(call)?, [height, width])?;
    if call.node.outputs.get(1).is_some_and(|name| !name.is_empty()) {
        return Err(call.wrong("the places of the largest numbers are not supported as an output"));
    }
    Ok(Ready::new(Operation::MaxPool(window), 1, call.like_images([images, channels, down, across])))
}

pub fn average_pool(call: &Call<'_>) -> Result<Ready, Error> {
    let [images, channels, height, width] = call.images()?;
    let (window, [down, across]) = slide(call, kernel(call)?, [height, width])?;
    if window.dilation != [1, 1] {
        return Err(call.wrong("an average pool with dilation is not supported"));
    }
    let counts = call.node.attributes.int("count_include_pad").unwrap_or(0) != 0;
    let counted = match (counts, automatic(call)) {
        (true, None) => pads(call)?,
        // Without padding, what the ceiling of the size adds is all, and never counts.
        (true, Some("VALID")) | (false, _) => [0; 4],
        (true, Some(_)) => window.padding,
    };
    let shape = call.like_images([images, channels, down, across]);
    Ok(Ready::new(Operation::AveragePool { window, counted }, 1, shape))
}

pub fn global_pool(call: &Call<'_>) -> Result<Ready, Error> {
    let mut shape = call.shape(0)?.to_vec();
    let reduction = match (call.node.operator.as_str(), call.node.attributes.int("p").unwrap_or(2)) {
        ("GlobalMaxPool", _) => Reduction::Max,
        ("GlobalAveragePool", _) => Reduction::Mean,
        (_, 1) => Reduction::L1,
        (_, 2) => Reduction::L2,
        (_, other) => return Err(call.wrong(format!("its norm is {other}, and only 1 and 2 are supported"))),
    };
    shape.iter_mut().skip(2).for_each(|length| *length = 1);
    Ok(Ready::new(Operation::Reduce(reduction, (2..shape.len()).collect()), 1, shape))
}

pub fn resize(call: &Call<'_>) -> Result<Ready, Error> {
    let [images, channels, height, width] = match call.shape(0)?.len() {
        4 => call.images()?,
        axes => return Err(call.wrong(format!("its input has {axes} axes, and only images are supported"))),
    };
    let is_new = call.node.operator == "Resize" && call.opset >= 11;
    let attributes = &call.node.attributes;
    let scales = match attributes.get("scales") {
        Some(crate::node::Attribute::Floats(scales)) => scales.clone(),
        _ => call.known(if is_new { 2 } else { 1 })?.map_or_else(Vec::new, |known| known.floats()),
    };
    let sizes = if is_new { call.ints(3)?.unwrap_or_default() } else { &[] };
    // From operator set 18 on, sizes may be given for some axes only.
    let axes = match attributes.ints("axes") {
        Some(axes) => axes.iter().map(|axis| call.axis(*axis, 4)).collect::<Result<_, _>>()?,
        None => vec![0, 1, 2, 3],
    };
    let given = if sizes.is_empty() { scales.len() } else { sizes.len() };
    if given != axes.len() {
        return Err(call.wrong(format!("it has {given} sizes for {} axes", axes.len())));
    }
    if attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch" {
        return Err(call.wrong("keeping the aspect ratio is not supported"));
    }
    let mut out = [images, channels, height, width];
    let mut factors = [1.0; 4];
    for (place, axis) in axes.into_iter().enumerate() {
        let (size, factor) = match sizes.get(place) {
            Some(size) => (*size as f64, *size as f64 / out[axis] as f64),
            // The runtimes multiply in this precision.
            None => (f64::from((out[axis] as f32 * scales[place]).floor()), f64::from(scales[place])),
        };
        if !(1.0..=65536.0).contains(&size) {
            return Err(call.wrong(format!("it gives an axis the length {size}")));
        }
        // The batch may differ from that of the file.
        if axis > 0 {
            (out[axis], factors[axis]) = (size as usize, factor);
        }
    }
    if out[1] != channels {
        return Err(call.wrong("it changes the number of channels, which is not supported"));
    }
    let operation = resampled(call, [height, width], [out[2], out[3]], [factors[2], factors[3]])?;
    Ok(Ready::new(operation, 1, out.to_vec()))
}

/// Returns the interpolation of images: by Burn if it has the mode, else by the matrix of each
/// axis.
fn resampled(call: &Call<'_>, from: [usize; 2], to: [usize; 2], factors: [f64; 2]) -> Result<Operation, Error> {
    let (attributes, is_new) = (&call.node.attributes, call.node.operator == "Resize" && call.opset >= 11);
    let is_set = |name| attributes.int(name).unwrap_or(0) != 0;
    let named = attributes.text("coordinate_transformation_mode", if is_new { "half_pixel" } else { "asymmetric" });
    let Some(named) = COORDINATES.into_iter().find(|coordinates| *coordinates == named) else {
        return Err(call.wrong(format!("the coordinates {named} are not supported; export it with half_pixel")));
    };
    let coordinates = match named {
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" | "tf_half_pixel_for_nn" => Coordinates::Asymmetric,
        _ => Coordinates::HalfPixel,
    };
    let cubic = attributes.float("cubic_coeff_a", CUBIC);
    let (mode, filter) = match attributes.text("mode", "nearest") {
        "nearest" => {
            let usual = if is_new { "round_prefer_floor" } else { "floor" };
            let rounding = match attributes.text("nearest_mode", usual) {
                "round_prefer_floor" => Rounding::HalfDown,
                "round_prefer_ceil" => Rounding::HalfUp,
                "ceil" => Rounding::Ceil,
                _ => Rounding::Floor,
            };
            (ResizeMode::Nearest(rounding), Filter::Nearest(rounding))
        }
        "linear" => (ResizeMode::Linear, Filter::Linear),
        "cubic" => (ResizeMode::Cubic, Filter::Cubic(f64::from(cubic))),
        other => return Err(call.wrong(format!("the interpolation {other} is not supported; export it with linear"))),
    };
    // Burn computes the factor from the lengths.
    let is_exact = (0..2).all(|axis| (factors[axis] * from[axis] as f64 - to[axis] as f64).abs() < WHOLE);
    let is_nearest = matches!(mode, ResizeMode::Nearest(_));
    let has_burns_settings = coordinates != Coordinates::Asymmetric
        && (cubic == CUBIC || mode == ResizeMode::Linear)
        && !is_set("antialias")
        && !is_set("exclude_outside");
    let is_burns = is_exact
        && named != "tf_half_pixel_for_nn"
        && (is_nearest || has_burns_settings)
        && (named != "pytorch_half_pixel" || to.iter().all(|length| *length > 1));
    if is_burns {
        return Ok(Operation::Resize(mode, coordinates));
    }
    if (0..2).any(|axis| from[axis].saturating_mul(to[axis]) > MOST_WEIGHTS) {
        return Err(call.wrong(format!("its interpolation from {from:?} to {to:?} px is too large for these settings")));
    }
    Ok(Operation::Resample(Resampling {
        filter,
        coordinates: named,
        is_antialiased: is_set("antialias") && !is_nearest,
        excludes_outside: is_set("exclude_outside"),
        scales: factors,
    }))
}

/// Returns the first two lengths of the weights, and the kernel.
fn weights(call: &Call<'_>) -> Result<(usize, usize, [usize; 2]), Error> {
    let shape = call.shape(1)?;
    let (first, second, kernel) = match (shape, call.shape(0)?.len()) {
        ([first, second, down, across], 4) => (*first, *second, [*down, *across]),
        ([first, second, along], 3) => (*first, *second, [1, *along]),
        _ => {
            return Err(call.wrong(format!(
                "its weights have the shape {shape:?}; only kernels of one or two dimensions are supported"
            )));
        }
    };
    match kernel.iter().all(|length| (1..1 << 16).contains(length)) {
        true => Ok((first, second, kernel)),
        false => Err(call.wrong(format!("its weights have the shape {shape:?}"))),
    }
}

/// Returns the number of inputs: two, or three with a bias of this length.
fn arguments(call: &Call<'_>, outputs: usize) -> Result<usize, Error> {
    if !call.has(2) {
        return Ok(2);
    }
    call.expect(2, &[outputs])?;
    Ok(3)
}

fn groups(call: &Call<'_>) -> Result<usize, Error> {
    let groups = call.node.attributes.int("group").unwrap_or(1);
    usize::try_from(groups)
        .ok()
        .filter(|groups| *groups > 0)
        .ok_or_else(|| call.wrong(format!("it has {groups} groups")))
}

fn kernel(call: &Call<'_>) -> Result<[usize; 2], Error> {
    if call.node.attributes.ints("kernel_shape").is_none() {
        return Err(call.wrong("it has no kernel_shape"));
    }
    positive(call, "kernel_shape")
}

fn positive(call: &Call<'_>, attribute: &str) -> Result<[usize; 2], Error> {
    let pair = call.pair(attribute, 1)?;
    if pair.contains(&0) { Err(call.wrong(format!("its {attribute} is {pair:?}"))) } else { Ok(pair) }
}

fn automatic<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    Some(call.node.attributes.text("auto_pad", "NOTSET")).filter(|mode| *mode != "NOTSET")
}

/// Returns the explicit padding: top, left, bottom, right.
fn pads(call: &Call<'_>) -> Result<[usize; 4], Error> {
    let Some(pads) = call.node.attributes.ints("pads") else { return Ok([0; 4]) };
    let small = |pad: &i64| usize::try_from(*pad).ok().filter(|pad| *pad < 1 << 16);
    let all = pads.iter().map(small).collect::<Option<Vec<_>>>();
    match (all.as_deref(), call.shape(0)?.len()) {
        (Some([top, left, bottom, right]), 4) => Ok([*top, *left, *bottom, *right]),
        (Some([before, after]), 3) => Ok([0, *before, 0, *after]),
        _ => Err(call.wrong(format!("its pads are {pads:?}"))),
    }
}

/// Slides a window over an image: returns its geometry and the size of the output. If the size is
/// rounded up, the padding includes the rows and columns that this adds.
fn slide(call: &Call<'_>, kernel: [usize; 2], sides: [usize; 2]) -> Result<(Window, [usize; 2]), Error> {
    let (stride, dilation) = (positive(call, "strides")?, positive(call, "dilations")?);
    let mut padding = pads(call)?;
    let rounds_up = call.node.attributes.int("ceil_mode").unwrap_or(0) != 0;
    let mut out = [0; 2];
    for axis in 0..2 {
        let (side, stride, reach) = (sides[axis], stride[axis], (kernel[axis] - 1) * dilation[axis] + 1);
        match automatic(call) {
            None => {}
            Some("VALID") => (padding[axis], padding[axis + 2]) = (0, 0),
            Some(mode @ ("SAME_UPPER" | "SAME_LOWER")) => {
                let total = ((side.div_ceil(stride) - 1) * stride + reach).saturating_sub(side);
                let before = if mode == "SAME_UPPER" { total / 2 } else { total - total / 2 };
                (padding[axis], padding[axis + 2]) = (before, total - before);
            }
            Some(other) => return Err(call.wrong(format!("the padding {other} is unknown"))),
        }
        let (before, after) = (padding[axis], padding[axis + 2]);
        let room = (side + before + after).checked_sub(reach);
        let room =
            room.ok_or_else(|| call.wrong(format!("its window of {reach} px is larger than its input of {side} px")))?;
        out[axis] = room / stride + 1;
        // The last window must start inside the image or the padding before it.
        if rounds_up && !room.is_multiple_of(stride) && out[axis] * stride < side + before {
            out[axis] += 1;
            padding[axis + 2] += stride - room % stride;
        }
    }
    Ok((Window { kernel, stride, dilation, padding }, out))
}
