//! Normalisations and softmax.

use super::{Call, Ready};
use crate::{CumSum, Error, Operation};

pub fn batch(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let channels = channels(call, &shape)?;
    // Weight standardisation of a convolution, which networks without normalised activations use.
    if shape.len() == 3 && shape[0] == 1 && call.node.attributes.int("training_mode") == Some(1) {
        return Ok(Ready::new(Operation::InstanceNorm { epsilon: epsilon(call) }, 3, scaled(call)?));
    }
    for place in 1..5 {
        call.expect(place, &[channels])?;
    }
    let momentum = f64::from(call.node.attributes.float("momentum", 0.9));
    Ok(Ready::new(Operation::BatchNorm { epsilon: epsilon(call), momentum }, 5, shape))
}

pub fn instance(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = scaled(call)?;
    Ok(Ready::new(Operation::InstanceNorm { epsilon: epsilon(call) }, 3, shape))
}

pub fn group(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let channels = channels(call, &shape)?;
    let groups = call.node.attributes.int("num_groups").and_then(|groups| usize::try_from(groups).ok());
    let groups = groups.filter(|groups| *groups > 0 && channels.is_multiple_of(*groups));
    let groups = groups.ok_or_else(|| call.wrong(format!("its groups do not divide {channels} channels")))?;
    // Before operator set 21 there was one scale per group, which PyTorch never wrote.
    call.expect(1, &[channels])?;
    call.expect(2, &[channels])?;
    Ok(Ready::new(Operation::GroupNorm { groups, epsilon: epsilon(call) }, 3, shape))
}

pub fn layer(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let axis = call.axis_attribute(-1, shape.len())?;
    if call.node.outputs.iter().skip(1).any(|name| !name.is_empty()) {
        return Err(call.wrong("mean and deviation are not supported as outputs"));
    }
    call.expect(1, &shape[axis..])?;
    let arguments = if call.has(2) { 3 } else { 2 };
    if arguments == 3 {
        call.expect(2, &shape[axis..])?;
    }
    Ok(Ready::new(Operation::LayerNorm { axis, epsilon: epsilon(call) }, arguments, shape))
}

/// Local response normalisation (Krizhevsky et al., "ImageNet classification with deep
/// convolutional neural networks", 2012).
pub fn across_channels(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let channels = channels(call, &shape)?;
    let size = call.node.attributes.int("size").and_then(|size| usize::try_from(size).ok());
    let size = size.filter(|size| (1..1 << 16).contains(size)).ok_or_else(|| call.wrong("it has no size"))?;
    let float = |name, default| call.node.attributes.float(name, default);
    // The longer side of an even size is after the channel. Channels outside count as zeros.
    let reach = [(size - 1) / 2, size / 2].map(|side| side.min(channels));
    let (factor, exponent, bias) = (float("alpha", 1e-4) / size as f32, float("beta", 0.75), float("bias", 1.0));
    Ok(Ready::new(Operation::ChannelNorm { reach, factor, exponent, bias }, 1, shape))
}

pub fn softmax(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    // Before operator set 13, softmax covered all axes from the given one on.
    let is_old = call.opset < 13;
    let first = call.axis_attribute(if is_old { 1 } else { -1 }, shape.len())?;
    let last = if is_old { shape.len() - 1 } else { first };
    let is_log = call.node.operator == "LogSoftmax";
    Ok(Ready::new(Operation::Softmax { first, last, is_log }, 1, shape))
}

pub fn cumulative_sum(call: &Call<'_>) -> Result<Ready, Error> {
    let shape = call.shape(0)?.to_vec();
    let &[axis] = call.ints(1)?.unwrap_or_default() else {
        return Err(call.wrong("its axis is not one integer"));
    };
    let is_set = |name| call.node.attributes.int(name).unwrap_or(0) != 0;
    let axis = call.axis(axis, shape.len())?;
    let sum = CumSum { axis, is_exclusive: is_set("exclusive"), is_reversed: is_set("reverse") };
    Ok(Ready::new(Operation::CumSum(sum), 1, shape))
}

fn epsilon(call: &Call<'_>) -> f64 {
    f64::from(call.node.attributes.float("epsilon", 1e-5))
}

fn channels(call: &Call<'_>, shape: &[usize]) -> Result<usize, Error> {
    match shape {
        [_, channels, ..] => Ok(*channels),
        _ => Err(call.wrong(format!("its input {shape:?} has no channels"))),
    }
}

/// Returns the shape of an input with channels and a scale and a bias for each.
fn scaled(call: &Call<'_>) -> Result<Vec<usize>, Error> {
    let shape = call.shape(0)?.to_vec();
    let channels = channels(call, &shape)?;
    if shape.len() < 3 {
        return Err(call.wrong(format!("its input {shape:?} has nothing to normalise over")));
    }
    call.expect(1, &[channels])?;
    call.expect(2, &[channels])?;
    Ok(shape)
}
