//! Decoded images on their way to a graphics device: copied as bytes, and normalised there.

use burn::tensor::{DType, Shape, Tensor};
use burn_cubecl::{Cube, kernel, tensor::CubeTensor};
use cubecl::bytes::Bytes;
use cubecl::prelude::*;

use super::layout::element;
use super::{Four, UNITS, fits, one_by_one, place};

/// Copies bytes `[n, channels, height, width]` to the device of `factors`, and returns byte ×
/// factor − offset of the channel in the number format of the factors, `[1, channels, 1, 1]`;
/// returns the bytes unchanged if that is not a graphics device.
pub fn normalise_bytes(
    mut bytes: Vec<u8>,
    dims: [usize; 4],
    factors: &Tensor<4>,
    offsets: &Tensor<4>,
) -> Result<Tensor<4>, Vec<u8>> {
    let device = |tensor: &Tensor<4>| tensor.clone().try_into_primitive::<Cube>().ok().map(kernel::into_contiguous);
    let (Some(factors), Some(offsets)) = (device(factors), device(offsets)) else { return Err(bytes) };
    let client = factors.client.clone();
    let is_float = matches!(factors.dtype, DType::F32 | DType::F16) && factors.dtype == offsets.dtype;
    let words = bytes.len().div_ceil(4);
    let has_index = u32::try_from(4 * words).is_ok();
    let (true, true, true, Some(cubes)) = (is_float, has_index, fits(&client), one_by_one(&client, words)) else {
        return Err(bytes);
    };
    // A unit reads a whole word and writes the numbers of its four bytes.
    bytes.resize(4 * words, 0);
    let read = client.create(Bytes::from_bytes_vec(bytes));
    let written = client.empty(4 * words * factors.elem_size());
    let [_, channels, height, width] = dims;
    // SAFETY: a unit reads and writes only where its index is below `words`, the length of both
    // buffers, and at channels below `channels`, the length of the factors and offsets.
    #[allow(unsafe_code, reason = "unchecked indices")]
    unsafe {
        unpack::launch_unchecked(
            &client,
            cubes,
            CubeDim::new_1d(UNITS),
            BufferArg::from_raw_parts(read, words),
            factors.clone().into_buffer_arg(),
            offsets.into_buffer_arg(),
            BufferArg::from_raw_parts(written.clone(), words),
            words as u32,
            (height * width) as u32,
            channels as u32,
            element(&factors),
        );
    }
    let tensor = CubeTensor::new_contiguous(client, factors.device.clone(), Shape::from(dims), written, factors.dtype);
    Ok(Tensor::from_primitive::<Cube>(tensor))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
fn unpack<F: Float>(
    bytes: &[u32],
    factors: &[F],
    offsets: &[F],
    numbers: &mut [Four<F>],
    words: u32,
    plane: u32,
    channels: u32,
    #[define(F)] _kind: ElemType,
) {
    let at = place();
    if at >= words {
        terminate!();
    }
    let word = bytes[at as usize];
    let mut four = Four::<F>::new(F::from_int(0));
    #[unroll]
    for c in 0..4usize {
        let channel = ((at * 4 + c as u32) / plane % channels) as usize;
        let byte = f32::cast_from((word >> (8 * c as u32)) & 0xFF);
        four.insert(c, F::cast_from(byte * f32::cast_from(factors[channel]) - f32::cast_from(offsets[channel])));
    }
    numbers[at as usize] = four;
}
