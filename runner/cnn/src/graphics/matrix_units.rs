//! Convolutions of 16-bit floats on the matrix units of a GPU.

use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::ir::UIntKind;
use cubecl::ir::metadata::Info;
use cubecl::ir::settings::Dim3;

use cubecl::prelude::*;
use cubecl::server::{KernelArguments, MetadataBindingInfo};
use cubecl::wgpu::WgpuDeviceKind;
use cubecl::{CubeKernel, Device, PrecompiledSource};
use foreglow_machine::device::DeviceId;

use super::is_indexable;
use super::layout::{channels_first, channels_last_in, empty};
use super::matrix_kernel::{EIGHT, MatrixKernel, Tile, sizes};
use super::work::{EpilogueArgs, Work};
use crate::device::{self, Matrices};

/// Tiles in descending order; larger ones read less memory per product.
const TILES: [Tile; 4] = [
    Tile { subgroups: [4, 2], matrices: [2, 4], depth: 64 },
    Tile { subgroups: [2, 2], matrices: [2, 4], depth: 64 },
    Tile { subgroups: [2, 2], matrices: [2, 2], depth: 32 },
    Tile { subgroups: [2, 2], matrices: [2, 1], depth: 32 },
];
/// Workgroups that keep a large GPU busy: one for each of its 132 multiprocessors.
const BUSY: u32 = 132;

/// Convolves images `[n, channels, height, width]` with weights
/// `[outputs, channels, height, width]` as [`Work::forward`] does; `None` without
/// matrix units, or for unsuitable sizes.
pub fn convolve(work: Work, images: &CubeTensor, weights: &CubeTensor, extras: &EpilogueArgs) -> Option<CubeTensor> {
    if work.is_depthwise || images.dtype != DType::F16 {
        return None;
    }
    let matrices = of(&images.device)?;
    let shape = work.shape;
    let [inputs, outputs] = shape.channels;
    let rows = u32::try_from(shape.images * shape.out[0] * shape.out[1]).ok()?;
    let channels = inputs.next_multiple_of(EIGHT as usize) as u32;
    let depth = (shape.kernel[0] * shape.kernel[1]) as u32 * channels;
    let kernel = |tile: Tile| MatrixKernel {
        side: matrices.side,
        lanes: matrices.lanes,
        tile,
        epilogue: extras.epilogue,
        has_whole_outputs: outputs.is_multiple_of(EIGHT as usize),
        has_whole_depth: depth.is_multiple_of(tile.depth),
        is_pointwise: shape.kernel == [1, 1]
            && shape.padding == [0, 0]
            && [0, 1].iter().all(|way| (shape.out[*way] - 1) * shape.stride[*way] < shape.side[*way]),
    };
    let hardware = &images.client.properties().hardware;
    let fits = |kernel: &MatrixKernel| {
        kernel.is_even()
            && kernel.units() <= hardware.max_units_per_cube
            && kernel.workgroup_memory() as usize <= hardware.max_shared_memory_size
    };
    let kernel = choose(TILES.map(kernel).into_iter().filter(fits), rows, outputs as u32)?;
    let images = channels_last_in(images.clone(), EIGHT as usize)?;
    let weights = channels_last_in(weights.clone(), EIGHT as usize)?;
    let output = empty(&images, [shape.images, shape.out[0], shape.out[1], outputs]);
    let [x, y, z] = kernel.grid(rows, outputs as u32);
    if ![&images, &weights, &output].into_iter().all(is_indexable) || x > hardware.max_cube_count.0 {
        return None;
    }
    let mut arguments = KernelArguments::new();
    let buffers = [&images, &weights, &output].into_iter().chain(&extras.numbers[extras.first_number()..]);
    for buffer in buffers.chain(&extras.residual) {
        arguments = arguments.with_buffer(buffer.handle.clone().binding());
    }
    arguments.info = MetadataBindingInfo::custom(sizes(&shape, channels, extras.epsilon));
    // The kernel reads and writes only where a row, a column and a summand are within the sizes,
    // which are those of the tensors: all are contiguous with these shapes.
    output.client.launch(Box::new(Source(kernel)), CubeCount::Static(x, y, z), arguments);
    Some(channels_first(output))
}

/// Chooses the largest tile that keeps the device busy, or else the smallest. A tile that would be
/// more than a quarter empty is skipped if a narrower one is fuller.
fn choose(kernels: impl Iterator<Item = MatrixKernel>, rows: u32, outputs: u32) -> Option<MatrixKernel> {
    let empty = |kernel: &MatrixKernel| {
        let covered = outputs.next_multiple_of(kernel.tile_side()[1]);
        f64::from(covered - outputs) / f64::from(covered)
    };
    let kernels: Vec<MatrixKernel> = kernels.collect();
    let least = kernels.iter().map(empty).fold(f64::INFINITY, f64::min).max(0.25);
    let mut full = kernels.into_iter().filter(|kernel| empty(kernel) <= least).peekable();
    while let Some(kernel) = full.next() {
        let [x, y, z] = kernel.grid(rows, outputs);
        if x * y * z >= BUSY || full.peek().is_none() {
            return Some(kernel);
        }
    }
    None
}

/// Returns the matrix sizes of a device; `None` without matrix units.
fn of(device: &Device) -> Option<Matrices> {
    let Device::Wgpu(device) = device else { return None };
    let place = match device.kind {
        WgpuDeviceKind::Cpu => DeviceId::Software,
        WgpuDeviceKind::DiscreteGpu(index) => DeviceId::DiscreteGpu(index),
        WgpuDeviceKind::IntegratedGpu(index) => DeviceId::IntegratedGpu(index),
        WgpuDeviceKind::VirtualGpu(index) => DeviceId::VirtualGpu(index),
        _ => return None,
    };
    device::matrices(place)
}

/// A kernel given as WGSL text.
#[derive(Clone, Copy, Debug)]
struct Source(MatrixKernel);

impl CubeKernel for Source {
    fn define(&self) -> KernelDefinition {
        let settings = KernelSettings::new(Dim3::new_1d(self.0.units()), ExecutionMode::Unchecked, AddressType::U32);
        KernelDefinition { body: Scope::root(settings.clone()), settings, info: Info::default() }
    }

    fn source(&self) -> Option<PrecompiledSource> {
        Some(PrecompiledSource { source: self.0.text(), entrypoint_name: "main".into(), lang: "wgsl" })
    }
}

impl KernelMetadata for Source {
    fn id(&self) -> KernelId {
        KernelId::new::<Self>().info(self.0).cube_dim(Dim3::new_1d(self.0.units())).mode(ExecutionMode::Unchecked)
    }

    fn address_type(&self) -> ElemType {
        UIntKind::U32.into()
    }
}

#[cfg(test)]
mod tests {
    use wgpu::naga::front::wgsl;
    use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;
    use crate::activation::Activation;
    use crate::graphics::convolution_kernel::{Affine, Epilogue};

    fn kernel(tile: Tile, matrices: Matrices) -> MatrixKernel {
        MatrixKernel {
            side: matrices.side,
            lanes: matrices.lanes,
            tile,
            epilogue: Epilogue::NONE,
            has_whole_outputs: true,
            has_whole_depth: true,
            is_pointwise: true,
        }
    }

    /// Matrices of NVIDIA's GPUs and of Mesa's software adapter.
    const KNOWN: [Matrices; 2] = [Matrices { side: 16, lanes: 32 }, Matrices { side: 8, lanes: 8 }];

    #[test]
    fn the_text_of_every_kernel_is_valid() {
        let epilogues = [
            Epilogue::NONE,
            Epilogue { affine: Affine::Bias, has_residual: false, then: Activation::Relu6 },
            Epilogue { affine: Affine::Norm, has_residual: true, then: Activation::Relu },
        ];
        for (tile, matrices) in TILES.iter().flat_map(|tile| KNOWN.map(|matrices| (*tile, matrices))) {
            for (epilogue, is_whole) in epilogues.iter().flat_map(|epilogue| [(*epilogue, true), (*epilogue, false)]) {
                let has = MatrixKernel {
                    epilogue,
                    has_whole_outputs: is_whole,
                    has_whole_depth: is_whole,
                    is_pointwise: is_whole,
                    ..kernel(tile, matrices)
                };
                assert!(has.is_even() && has.workgroup_memory() <= 48 << 10, "{has:?}");
                let text = has.text();
                let module = wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
                let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
                validator.validate(&module).unwrap_or_else(|error| panic!("{has:?}: {error:?}"));
            }
        }
    }

    #[test]
    fn the_tile_is_the_largest_that_keeps_the_device_busy() {
        let of = |rows, outputs| choose(TILES.map(|tile| kernel(tile, KNOWN[0])).into_iter(), rows, outputs).unwrap();
        assert_eq!(of(32 * 14 * 14, 1024).tile_side(), [128, 128]);
        assert_eq!(of(32 * 7 * 7, 512).tile_side(), [64, 64]);
        assert_eq!(of(32 * 56 * 56, 64).tile_side(), [64, 64]);
        assert_eq!(of(1, 10).tile_side(), [64, 32]);
    }
}
