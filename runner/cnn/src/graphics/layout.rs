//! Tensors in memory: channels last, and a multiple of four of them.

use burn::tensor::{DType, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw};
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::FloatKind;
use cubecl::prelude::*;

use super::{Four, UNITS, one_by_one, place};

/// Returns `[n, channels, height, width]` as `[n, height, width, channels]` without gaps, with the
/// channels padded with zeros to a multiple of four. Copies only if the memory layout differs.
pub fn channels_last(tensor: CubeTensor) -> Option<CubeTensor> {
    channels_last_in(tensor, 4)
}

/// Does the same as [`channels_last`] with a multiple of `steps`, itself one of four, channels.
pub fn channels_last_in(tensor: CubeTensor, steps: usize) -> Option<CubeTensor> {
    let [n, channels, height, width] = tensor.meta.shape().dims();
    if channels.is_multiple_of(steps) {
        return Some(into_contiguous(permute_nchw_to_nhwc(tensor)));
    }
    let fours = channels.next_multiple_of(steps) / 4;
    let padded = empty(&tensor, [n, height, width, 4 * fours]);
    let count = n * height * width * fours;
    let cubes = one_by_one(&tensor.client, count)?;
    let (client, kind) = (tensor.client.clone(), element(&tensor));
    // SAFETY: a unit writes only where its index is below `count`, the length of the output, and
    // reads at the strides of the input within its shape.
    #[allow(unsafe_code, reason = "unchecked indices")]
    unsafe {
        pad::launch_unchecked(
            &client,
            cubes,
            CubeDim::new_1d(UNITS),
            tensor.into_tensor_arg(),
            padded.clone().into_buffer_arg(),
            count as u32,
            fours as u32,
            kind,
        );
    }
    Some(padded)
}

/// Returns `[n, height, width, channels]` as the caller's `[n, channels, height, width]`.
pub fn channels_first(tensor: CubeTensor) -> CubeTensor {
    permute_nhwc_to_nchw(tensor)
}

/// Returns a contiguous tensor without content on the device and of the number format of `like`.
pub fn empty<const D: usize>(like: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    let bytes = shape.iter().product::<usize>() * like.elem_size();
    let handle = like.client.empty(bytes);
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), Shape::from(shape), handle, like.dtype)
}

/// Returns the number format of a tensor of 16-bit or 32-bit floats, for a kernel.
pub fn element(tensor: &CubeTensor) -> ElemType {
    ElemType::Float(if tensor.dtype == DType::F16 { FloatKind::F16 } else { FloatKind::F32 })
}

#[cube(launch_unchecked)]
fn pad<F: Float>(from: &Tensor<F>, to: &mut [Four<F>], count: u32, fours: u32, #[define(F)] _kind: ElemType) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let channels = from.shape(1) as u32;
    let height = from.shape(2) as u32;
    let width = from.shape(3) as u32;
    let pixel = at / fours;
    let first = at % fours * 4;
    let image = pixel / (height * width);
    let row = pixel / width % height;
    let start =
        image as usize * from.stride(0) + row as usize * from.stride(2) + (pixel % width) as usize * from.stride(3);
    let mut four = Four::<F>::new(F::from_int(0));
    #[unroll]
    for c in 0..4usize {
        let channel = first + c as u32;
        if channel < channels {
            four.insert(c, from[start + channel as usize * from.stride(1)]);
        }
    }
    to[at as usize] = four;
}
