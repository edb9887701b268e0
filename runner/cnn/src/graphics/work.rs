//! Matrix products of convolutions and fully connected layers, and of their gradients: sizes, grids
//! and launches.

use burn::nn::conv::Conv2d;
use burn_cubecl::ops::{permute, reshape};
use burn_cubecl::{kernel, tensor::CubeTensor};
use cubecl::client::Client;
use cubecl::prelude::*;

use super::convolution_kernel::{self, Affine, Epilogue, SizesLaunch, TILE_COLUMNS, TILE_ROWS, convolution};
use super::depthwise_kernels::{SIDE, depthwise, depthwise_weights};
use super::layout::{channels_first, channels_last, element, empty};
use super::weights_kernel::{self, sums_of_rows};
use super::{UNITS, fits, grid, is_indexable, normalisation_kernels, one_by_one};
use crate::geometry::Geometry;

/// Workgroups that keep a large GPU busy: a few for each of its 100 to 200 multiprocessors.
const BUSY: usize = 768;
/// Limit on the taps of a depthwise convolution, because the gradient of its weights keeps all sums
/// of a channel.
const MOST_DEPTHWISE_TAPS: usize = 25;
/// Fewest pixels in a part of the gradient of the weights.
const SMALLEST_PART: usize = 256;

/// Data for the epilogue of the kernel.
pub struct EpilogueArgs {
    /// Empty; the bias twice; or γ, β, mean and variance.
    pub numbers: Vec<CubeTensor>,
    /// Summand of the output, in memory order.
    pub residual: Option<CubeTensor>,
    /// ε of batch normalisation.
    pub epsilon: f32,
    /// Operations on an output before it is written.
    pub epilogue: Epilogue,
}

impl EpilogueArgs {
    /// Writes the products unchanged.
    pub fn none() -> Self {
        Self { numbers: Vec::new(), residual: None, epsilon: 0.0, epilogue: Epilogue::NONE }
    }

    /// Returns the index of the first number that a kernel reads; the bias is stored twice.
    pub fn first_number(&self) -> usize {
        usize::from(self.epilogue.affine == Affine::Bias)
    }
}

/// A convolution that is computed here instead of by Burn.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Sizes.
    pub shape: Geometry,
    /// Whether each channel is convolved with its own taps.
    pub is_depthwise: bool,
}

impl Work {
    /// Returns the work of a convolution; `None` for dilated convolutions, and for grouped ones
    /// that are not depthwise.
    pub fn of(conv: &Conv2d, images: [usize; 4]) -> Option<Self> {
        let [outputs, _, down, across] = conv.weight.dims();
        let shape = Geometry::of(images, outputs, [down, across], conv.stride, &conv.padding)?;
        let [inputs, outputs] = shape.channels;
        let is_depthwise = conv.groups > 1 && [inputs, outputs] == [conv.groups; 2] && inputs.is_multiple_of(4);
        let is_small = !is_depthwise || down * across <= MOST_DEPTHWISE_TAPS;
        let is_plain = conv.dilation == [1, 1] && (conv.groups == 1 || is_depthwise) && shape.images > 0;
        (is_plain && is_small).then_some(Self { shape, is_depthwise })
    }

    /// Returns a fully connected layer, which is a convolution of single pixels.
    pub fn fully_connected(images: usize, channels: [usize; 2]) -> Self {
        let one = [1, 1];
        let shape = Geometry { images, channels, side: one, kernel: one, stride: one, padding: [0, 0], out: one };
        Self { shape, is_depthwise: false }
    }

    /// Returns weights in the layout of the forward kernel: `[outputs, taps, channels]`, or `[taps,
    /// channels]` of a depthwise convolution.
    pub fn weights_in_memory(self, weights: CubeTensor) -> Option<CubeTensor> {
        channels_last(if self.is_depthwise { permute(weights, &[1, 0, 2, 3]) } else { weights })
    }

    /// Returns weights in the layout of the kernel of the images' gradient: `[inputs, taps,
    /// outputs]`, or as [`Self::weights_in_memory`].
    pub fn weights_for_gradient(self, weights: CubeTensor) -> Option<CubeTensor> {
        channels_last(permute(weights, &[1, 0, 2, 3]))
    }

    /// Returns the taps of the kernel.
    fn taps(self) -> usize {
        self.shape.kernel[0] * self.shape.kernel[1]
    }

    /// Returns the sizes for a kernel; `read` and `written` are height, width and channels of
    /// source and destination.
    fn sizes(self, read: [usize; 3], written: [usize; 3]) -> SizesLaunch {
        let fours = read[2].div_ceil(4);
        let Geometry { images, stride, padding, kernel, .. } = self.shape;
        let [height, width, outputs] = written;
        SizesLaunch::new(
            read[0] as u32,
            read[1] as u32,
            fours as u32,
            height as u32,
            width as u32,
            outputs as u32,
            images as u32,
            stride[0] as u32,
            stride[1] as u32,
            padding[0] as u32,
            padding[1] as u32,
            kernel[0] as u32,
            kernel[1] as u32,
            (self.taps() * fours) as u32,
        )
    }

    /// Convolves images `[n, height, width, channels]` with weights `[outputs, taps, channels]`,
    /// and returns `[n, outputs, height, width]`.
    pub fn forward(self, images: &CubeTensor, weights: &CubeTensor, extras: &EpilogueArgs) -> Option<CubeTensor> {
        let [inputs, outputs] = self.shape.channels;
        let ([height, width], out) = (self.shape.side, self.shape.out);
        let (read, written) = ([height, width, inputs], [out[0], out[1], outputs]);
        self.product(images, weights, (read, written), extras, false).map(channels_first)
    }

    /// Returns the gradient of the images from that of the output, `[n, height, width, outputs]`,
    /// and the weights, `[inputs, taps, outputs]`.
    pub fn images_gradient(self, gradient: &CubeTensor, weights: &CubeTensor) -> Option<CubeTensor> {
        let [inputs, outputs] = self.shape.channels;
        let ([height, width], out) = (self.shape.side, self.shape.out);
        let (read, written) = ([out[0], out[1], outputs], [height, width, inputs]);
        self.product(gradient, weights, (read, written), &EpilogueArgs::none(), true).map(channels_first)
    }

    /// Returns the grid of the kernel for this destination; a gradient has a class of pixels for
    /// each step of the stride.
    fn grid(self, client: &Client, [height, width, columns]: [usize; 3], is_gradient: bool) -> Option<CubeCount> {
        let [down, across] = if is_gradient { self.shape.stride } else { [1, 1] };
        let rows = self.shape.images * height.div_ceil(down) * width.div_ceil(across);
        grid(client, [rows.div_ceil(TILE_ROWS), columns.div_ceil(TILE_COLUMNS), down * across])
    }

    /// Returns whether the device is large enough for the kernels, and for the gradients if needed.
    pub fn fits(self, client: &Client, has_gradient: bool) -> bool {
        fits(client) && (!has_gradient || self.has_gradient(client))
    }

    fn has_gradient(self, client: &Client) -> bool {
        let ([height, width], [inputs, _]) = (self.shape.side, self.shape.channels);
        self.is_depthwise || self.grid(client, [height, width, inputs], true).is_some()
    }

    fn product(
        self,
        images: &CubeTensor,
        weights: &CubeTensor,
        (read, written): ([usize; 3], [usize; 3]),
        extras: &EpilogueArgs,
        is_gradient: bool,
    ) -> Option<CubeTensor> {
        if self.is_depthwise {
            return self.depthwise(images, weights, (read, written), extras, is_gradient);
        }
        let [height, width, columns] = written;
        let output = empty(images, [self.shape.images, height, width, columns]);
        if ![images, weights, &output].into_iter().all(is_indexable) {
            return None;
        }
        let cubes = self.grid(&images.client, written, is_gradient)?;
        // The kernel does not read numbers that the epilogue lacks, so any buffer will do.
        let number = |place: usize| extras.numbers.get(place).unwrap_or(weights).clone().into_buffer_arg();
        let residual = extras.residual.as_ref().unwrap_or(weights).clone();
        // SAFETY: the kernel reads and writes only where a row, a column and a summand are within
        // `sizes`, which are those of the tensors: all are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            convolution::launch_unchecked(
                &images.client,
                cubes,
                CubeDim::new_1d(convolution_kernel::UNITS as u32),
                images.clone().into_buffer_arg(),
                weights.clone().into_buffer_arg(),
                number(0),
                number(1),
                number(2),
                number(3),
                residual.into_buffer_arg(),
                output.clone().into_buffer_arg(),
                self.sizes(read, written),
                extras.epsilon,
                is_gradient,
                extras.epilogue,
                element(images),
            );
        }
        Some(output)
    }

    fn depthwise(
        self,
        images: &CubeTensor,
        weights: &CubeTensor,
        (read, written): ([usize; 3], [usize; 3]),
        extras: &EpilogueArgs,
        is_gradient: bool,
    ) -> Option<CubeTensor> {
        let [height, width, channels] = written;
        let output = empty(images, [self.shape.images, height, width, channels]);
        if !is_indexable(images) || !is_indexable(&output) {
            return None;
        }
        let count = self.shape.images * height * width * channels / 4;
        let cubes = one_by_one(&images.client, count)?;
        // The kernel does not read numbers that the epilogue lacks, so any buffer will do.
        let number = |place: usize| extras.numbers.get(place).unwrap_or(weights).clone().into_buffer_arg();
        // SAFETY: the kernel writes only where its index is below `count`, the length of the
        // output, and reads only where a pixel, a tap and a channel are within `sizes`, which are
        // those of the tensors: all are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            depthwise::launch_unchecked(
                &images.client,
                cubes,
                CubeDim::new_1d(UNITS),
                images.clone().into_buffer_arg(),
                weights.clone().into_buffer_arg(),
                number(0),
                number(1),
                number(2),
                number(3),
                output.clone().into_buffer_arg(),
                self.sizes(read, written),
                count as u32,
                extras.epsilon,
                is_gradient,
                extras.epilogue,
                element(images),
            );
        }
        Some(output)
    }

    /// Returns the gradient of the weights of a depthwise convolution as
    /// [`Self::weights_gradient`].
    fn depthwise_weights_gradient(self, gradient: &CubeTensor, images: &CubeTensor) -> Option<CubeTensor> {
        let Geometry { channels: [channels, _], side, out, kernel: [down, across], .. } = self.shape;
        let rows = self.shape.images * out[0] * out[1];
        let groups = (channels / 4).div_ceil(SIDE);
        let [part, parts] = parts(rows, groups, 1);
        let found = empty(images, [parts, down, across, channels]);
        let cubes = grid(&images.client, [groups, parts, 1])?;
        // SAFETY: the kernel reads and writes only where a pixel, a tap and a channel are within
        // `sizes`, which are those of the tensors: all are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            depthwise_weights::launch_unchecked(
                &images.client,
                cubes,
                CubeDim::new_1d((SIDE * SIDE) as u32),
                gradient.clone().into_buffer_arg(),
                images.clone().into_buffer_arg(),
                found.clone().into_buffer_arg(),
                self.sizes([side[0], side[1], channels], [out[0], out[1], channels]),
                part as u32,
                down,
                across,
            );
        }
        let sum = add_parts(found, [1, down, across, channels])?;
        Some(permute(channels_first(sum), &[1, 0, 2, 3]))
    }

    /// Returns the gradient of the weights, `[outputs, inputs, height, width]`, from that of the
    /// output, `[n, height, width, outputs]`, and the images, `[n, height, width, channels]`.
    pub fn weights_gradient(self, gradient: &CubeTensor, images: &CubeTensor) -> Option<CubeTensor> {
        use weights_kernel::{DEPTH, TILE_COLUMNS, TILE_ROWS, weights_gradient};
        if self.is_depthwise {
            return self.depthwise_weights_gradient(gradient, images);
        }
        let Geometry { channels: [inputs, outputs], side, out, kernel: [down, across], .. } = self.shape;
        let channels = inputs.next_multiple_of(4);
        let columns = self.taps() * channels;
        let rows = self.shape.images * out[0] * out[1];
        // Few outputs have many summands, so these are split to keep the device busy.
        let tiles = [columns.div_ceil(TILE_COLUMNS), outputs.div_ceil(TILE_ROWS)];
        let [part, parts] = parts(rows, tiles[0] * tiles[1], DEPTH);
        let found = empty(images, [parts, outputs, down, across * channels]);
        if !is_indexable(&found) || !is_indexable(gradient) {
            return None;
        }
        let client = &images.client;
        let cubes = grid(client, [tiles[0], tiles[1], parts])?;
        let sizes = self.sizes([side[0], side[1], inputs], [out[0], out[1], outputs]);
        // SAFETY: the kernel reads and writes only where a pixel, an output and a column are within
        // `sizes`, which are those of the tensors: all are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            weights_gradient::launch_unchecked(
                client,
                cubes,
                CubeDim::new_1d(weights_kernel::UNITS as u32),
                gradient.clone().into_buffer_arg(),
                images.clone().into_buffer_arg(),
                found.clone().into_buffer_arg(),
                sizes,
                part as u32,
            );
        }
        let sum = add_parts(found, [outputs, down, across, channels])?;
        let sum = channels_first(sum);
        Some(if channels == inputs { sum } else { kernel::slice(sum, &[0..outputs, 0..inputs, 0..down, 0..across]) })
    }
}

impl Work {
    /// Returns the gradient of the bias from that of the output, `[n, height, width, outputs]`.
    pub fn bias_gradient(self, gradient: &CubeTensor) -> Option<CubeTensor> {
        const SIDE: usize = normalisation_kernels::SIDE;
        let Geometry { channels: [_, outputs], out, images, .. } = self.shape;
        let (rows, fours) = (images * out[0] * out[1], outputs.div_ceil(4));
        let groups = fours.div_ceil(SIDE);
        let [part, parts] = parts(rows, groups, 1);
        let found = empty(gradient, [parts, 1, 1, 4 * fours]);
        let cubes = grid(&gradient.client, [groups, parts, 1])?;
        // SAFETY: the kernel reads and writes only below `rows`, `fours` and the number of parts,
        // which are those of the tensors: both are contiguous with these shapes.
        #[allow(unsafe_code, reason = "unchecked indices")]
        unsafe {
            sums_of_rows::launch_unchecked(
                &gradient.client,
                cubes,
                CubeDim::new_1d((SIDE * SIDE) as u32),
                gradient.clone().into_buffer_arg(),
                found.clone().into_buffer_arg(),
                rows as u32,
                fours as u32,
                part as u32,
            );
        }
        let sum = add_parts(found, [1, 1, 1, 4 * fours])?;
        let sum = if outputs == 4 * fours { sum } else { kernel::slice(sum, &[0..1, 0..1, 0..1, 0..outputs]) };
        Some(reshape(sum, [outputs].into()))
    }
}

/// Divides rows into parts that keep a device busy with `workgroups` workgroups each. Returns the
/// rows of a part, a multiple of `steps`, and the number of parts.
fn parts(rows: usize, workgroups: usize, steps: usize) -> [usize; 2] {
    let wanted = BUSY.div_ceil(workgroups).min(rows.div_ceil(SMALLEST_PART));
    let part = rows.div_ceil(wanted).next_multiple_of(steps);
    [part, rows.div_ceil(part)]
}

/// Adds parts, `[parts, …]`, to one tensor of this shape.
fn add_parts(found: CubeTensor, shape: [usize; 4]) -> Option<CubeTensor> {
    let count = shape.iter().product::<usize>() / 4;
    let parts = found.meta.num_elements() / (4 * count);
    if parts == 1 {
        return Some(reshape(found, shape.into()));
    }
    let sum = empty(&found, shape);
    let cubes = one_by_one(&found.client, count)?;
    // SAFETY: a unit reads and writes only where its index is below `count`, the length of the sum
    // and of each part.
    #[allow(unsafe_code, reason = "unchecked indices")]
    unsafe {
        weights_kernel::sum_of_parts::launch_unchecked(
            &found.client,
            cubes,
            CubeDim::new_1d(UNITS),
            found.clone().into_buffer_arg(),
            sum.clone().into_buffer_arg(),
            count as u32,
            parts as u32,
        );
    }
    Some(sum)
}
