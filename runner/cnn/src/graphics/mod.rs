//! Convolutions and batch normalisation on graphics devices.
//!
//! Burn tunes a dozen kernels for each shape of a convolution at every start, and its kernels for
//! 32-bit floats without matrix units leave most of a GPU idle (docs/performance.md). Here a
//! convolution is one matrix product whose factors are gathered from the images (implicit GEMM:
//! Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014, section 3), in tiles that
//! workgroups share in their memory, and batch normalisation is two passes over the mini-batch.
//! These kernels need no tuning. Burn computes dilated convolutions and those with groups of
//! several channels.
//!
//! Tensors are `[n, channels, height, width]` for the caller and channels-last in memory.

mod bytes;
mod convolution;
mod convolution_kernel;
mod copy;
mod depthwise_kernels;
mod layout;
mod matrix_kernel;
mod matrix_units;
mod normalisation;
mod normalisation_kernels;
mod optimizer;
#[cfg(test)]
mod tests;
mod weights_kernel;
mod work;

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn_cubecl::{Cube, tensor::CubeTensor};
use cubecl::client::Client;
use cubecl::prelude::*;

pub use self::bytes::normalise_bytes;
pub use self::convolution::{connect, convolve, convolve_and_normalise};
pub use self::copy::{Copy, copy};
pub use self::normalisation::normalise;
pub use self::optimizer::{adam_step, sgd_step};

type Differentiating = Autodiff<Cube, NoCheckpointing>;

/// Four numbers of neighbouring channels, which a unit reads and writes at once.
type Four<F> = Vector<F, Const<4>>;

/// Units of a workgroup, at most.
const UNITS: u32 = 256;
/// Largest number of buffers of a kernel.
const BUFFERS: u32 = 8;
/// Largest workgroup memory of a kernel, bytes.
const SHARED_BYTES: usize = 16 << 10;

/// Returns whether the device is large enough for the kernels.
fn fits(client: &Client) -> bool {
    let hardware = &client.properties().hardware;
    hardware.max_units_per_cube >= UNITS
        && hardware.max_cube_dim.0 >= UNITS
        && hardware.max_bindings >= BUFFERS
        && hardware.max_shared_memory_size >= SHARED_BYTES
}

/// Returns the grid of workgroups, or `None` if the device has no grid of this size.
fn grid(client: &Client, [x, y, z]: [usize; 3]) -> Option<CubeCount> {
    let most = client.properties().hardware.max_cube_count;
    let fits = |count: usize, most: u32| u32::try_from(count).ok().filter(|count| *count <= most);
    Some(CubeCount::Static(fits(x, most.0)?, fits(y, most.1)?, fits(z, most.2)?))
}

/// Returns a grid of `UNITS` units each with at least `count` units.
fn one_by_one(client: &Client, count: usize) -> Option<CubeCount> {
    let cubes = count.div_ceil(UNITS as usize).max(1);
    let across = cubes.min(client.properties().hardware.max_cube_count.0 as usize);
    grid(client, [across, cubes.div_ceil(across), 1])
}

/// Returns the index of a unit in such a grid.
#[cube]
fn place() -> u32 {
    (CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X) * CUBE_DIM_X + UNIT_POS
}

/// Returns whether every number of the tensor has an index of 32 bits.
fn is_indexable(tensor: &CubeTensor) -> bool {
    u32::try_from(tensor.meta.num_elements()).is_ok()
}
