//! The kernel of a convolution and of the gradient of its images.

use cubecl::prelude::*;

use super::Four;
use crate::activation::Activation;

/// Rows of the product (pixels) in a tile.
pub const TILE_ROWS: usize = 128;
/// Columns of the product (channels) in a tile.
pub const TILE_COLUMNS: usize = 64;
/// Rows and columns of units in a workgroup.
const UNIT_ROWS: usize = 16;
const UNIT_COLUMNS: usize = 8;
/// Units of a workgroup.
pub const UNITS: usize = UNIT_ROWS * UNIT_COLUMNS;
/// Rows and columns of the product that a unit computes.
const OWN_ROWS: usize = TILE_ROWS / UNIT_ROWS;
const OWN_COLUMNS: usize = TILE_COLUMNS / UNIT_COLUMNS;
/// Fours of summands per row and column of a tile.
const DEPTH: usize = 4;
/// Rows or columns that the units load at once, one four each.
const LOADED: usize = UNITS / DEPTH;
/// Rows and columns in memory: two more, so that units which write at once reach different banks.
const STORED_ROWS: usize = TILE_ROWS + 2;
const STORED_COLUMNS: usize = TILE_COLUMNS + 2;
/// A place outside of every image.
pub const OUTSIDE: i32 = -(1 << 30);

/// Sizes of the source tensor, `[images, height, width, channels]`, and of the destination, and the
/// mapping from destination to source pixels.
#[derive(Clone, Copy, Debug, CubeType, CubeLaunch)]
pub struct Sizes {
    /// Height of the source.
    pub height: u32,
    /// Its width.
    pub width: u32,
    /// Fours of its channels.
    pub fours: u32,
    /// Height of the destination.
    pub out_height: u32,
    /// Its width.
    pub out_width: u32,
    /// Its channels.
    pub outputs: u32,
    /// Images of both.
    pub images: u32,
    /// Stride downwards.
    pub down: u32,
    /// Stride to the right.
    pub across: u32,
    /// Padding above.
    pub top: u32,
    /// Padding to the left.
    pub left: u32,
    /// Height of the kernel.
    pub kernel_height: u32,
    /// Its width.
    pub kernel_width: u32,
    /// Fours of the summands of an output: taps × fours of channels.
    pub depth: u32,
}

/// Operations on an output before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// Factor and summand of each channel.
    pub affine: Affine,
    /// Whether a tensor of the shape of the output is added.
    pub has_residual: bool,
    /// The activation.
    pub then: Activation,
}

/// A function of the outputs of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Affine {
    /// The identity.
    None,
    /// Adds `beta`.
    Bias,
    /// Batch normalisation with running statistics.
    Norm,
}

impl Epilogue {
    /// Writes the products unchanged.
    pub const NONE: Self = Self { affine: Affine::None, has_residual: false, then: Activation::None };
}

/// Convolves, or computes the gradient of the images if `is_gradient`. The source is then the
/// gradient of the output, and the destination that of the images.
///
/// Rows of the product are the destination pixels, its columns the destination channels, and its
/// summands the taps and source channels. `weights` is `[columns, taps, channels]`.
///
/// With a stride, only every `down`-th row of taps and every `across`-th tap of a row reach a pixel
/// of the images. Pixels with the same taps form a class. Classes are the third dimension of the
/// grid, and a workgroup iterates over the taps of its class.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments, reason = "the buffers of a kernel are arguments")]
pub fn convolution<F: Float>(
    images: &[Four<F>],
    weights: &[Four<F>],
    gamma: &[F],
    beta: &[F],
    mean: &[F],
    variance: &[F],
    residual: &[F],
    output: &mut [F],
    sizes: Sizes,
    epsilon: f32,
    #[comptime] is_gradient: bool,
    #[comptime] epilogue: Epilogue,
    #[define(F)] _kind: ElemType,
) {
    let mut rows = Shared::<[Four<f32>]>::new_slice(comptime!(DEPTH * STORED_ROWS));
    let mut columns = Shared::<[Four<f32>]>::new_slice(comptime!(DEPTH * STORED_COLUMNS));
    let unit = UNIT_POS as usize;
    let load_depth = unit % DEPTH;
    let load_at = unit / DEPTH;
    let own_column = unit % UNIT_COLUMNS;
    let own_row = unit / UNIT_COLUMNS;
    let first_row = CUBE_POS_X as usize * TILE_ROWS;
    let first_column = CUBE_POS_Y as usize * TILE_COLUMNS;

    // First tap of the class in each direction, the step to the next one, and their number.
    let mut first_down = 0u32.runtime();
    let mut first_across = 0u32.runtime();
    let mut step_down = 1u32.runtime();
    let mut step_across = 1u32.runtime();
    let mut class_down = 0u32.runtime();
    let mut class_across = 0u32.runtime();
    if comptime!(is_gradient) {
        step_down = sizes.down;
        step_across = sizes.across;
        class_down = CUBE_POS_Z / step_across;
        class_across = CUBE_POS_Z % step_across;
        first_down = (class_down + sizes.top) % step_down;
        first_across = (class_across + sizes.left) % step_across;
    }
    let taps_down = (sizes.kernel_height + step_down - 1 - first_down) / step_down;
    let taps_across = (sizes.kernel_width + step_across - 1 - first_across) / step_across;
    let depth_of_class = taps_down * taps_across * sizes.fours;
    // The pixels of the class in an image; those of the last row and column may be outside of it.
    let height_of_class = sizes.out_height.div_ceil(step_down);
    let width_of_class = sizes.out_width.div_ceil(step_across);

    // Start of the taps of the rows that this unit loads.
    let mut image = Array::<u32>::new(comptime!(TILE_ROWS / LOADED));
    let mut top = Array::<i32>::new(comptime!(TILE_ROWS / LOADED));
    let mut left = Array::<i32>::new(comptime!(TILE_ROWS / LOADED));
    #[unroll]
    for i in 0..comptime!(TILE_ROWS / LOADED) {
        let row = (first_row + load_at + i * LOADED) as u32;
        let y = row / width_of_class % height_of_class;
        let x = row % width_of_class;
        image[i] = row / (height_of_class * width_of_class);
        if comptime!(is_gradient) {
            // The class has been chosen so that these divide.
            top[i] = ((y * step_down + class_down + sizes.top - first_down) / step_down) as i32;
            left[i] = ((x * step_across + class_across + sizes.left - first_across) / step_across) as i32;
        } else {
            top[i] = (y * sizes.down) as i32 - sizes.top as i32;
            left[i] = (x * sizes.across) as i32 - sizes.left as i32;
        }
        if image[i] >= sizes.images {
            top[i] = OUTSIDE.runtime();
        }
    }

    let mut sums = Array::<f32>::new(comptime!(OWN_ROWS * OWN_COLUMNS));
    #[unroll]
    for i in 0..comptime!(OWN_ROWS * OWN_COLUMNS) {
        sums[i] = 0.0f32;
    }
    let mut next_rows = Array::<Four<f32>>::new(comptime!(TILE_ROWS / LOADED));
    let mut next_columns = Array::<Four<f32>>::new(comptime!(TILE_COLUMNS / LOADED));

    let tiles = depth_of_class.div_ceil(DEPTH as u32);
    // One iteration more than tiles: each loads the next tile while the previous one is multiplied.
    for tile in 0..tiles + 1 {
        if tile < tiles {
            let depth = tile * DEPTH as u32 + load_depth as u32;
            let tap = depth / sizes.fours;
            let four = depth % sizes.fours;
            let tap_down = tap / taps_across;
            let tap_across = tap % taps_across;
            #[unroll]
            for i in 0..comptime!(TILE_ROWS / LOADED) {
                let mut y = top[i] + tap_down as i32;
                let mut x = left[i] + tap_across as i32;
                if comptime!(is_gradient) {
                    y = top[i] - tap_down as i32;
                    x = left[i] - tap_across as i32;
                }
                let is_inside = y >= 0 && x >= 0 && (y as u32) < sizes.height && (x as u32) < sizes.width;
                let mut value = Four::<f32>::new(0.0f32);
                if depth < depth_of_class && is_inside {
                    let pixel = (image[i] * sizes.height + y as u32) * sizes.width + x as u32;
                    value = Four::<f32>::cast_from(images[(pixel * sizes.fours + four) as usize]);
                }
                next_rows[i] = value;
            }
            let tap_down = first_down + tap_down * step_down;
            let tap_across = first_across + tap_across * step_across;
            let depth_of_all = (tap_down * sizes.kernel_width + tap_across) * sizes.fours + four;
            #[unroll]
            for j in 0..comptime!(TILE_COLUMNS / LOADED) {
                let column = (first_column + load_at + j * LOADED) as u32;
                let mut value = Four::<f32>::new(0.0f32);
                if column < sizes.outputs && depth < depth_of_class {
                    value = Four::<f32>::cast_from(weights[(column * sizes.depth + depth_of_all) as usize]);
                }
                next_columns[j] = value;
            }
        }
        if tile > 0 {
            #[unroll]
            for k in 0..DEPTH {
                let mut own = Array::<Four<f32>>::new(OWN_ROWS);
                #[unroll]
                for i in 0..OWN_ROWS {
                    own[i] = rows[k * STORED_ROWS + own_row + i * UNIT_ROWS];
                }
                #[unroll]
                for j in 0..OWN_COLUMNS {
                    let column = columns[k * STORED_COLUMNS + own_column + j * UNIT_COLUMNS];
                    #[unroll]
                    for c in 0..4usize {
                        #[unroll]
                        for i in 0..OWN_ROWS {
                            sums[i * OWN_COLUMNS + j] =
                                fma(own[i].extract(c), column.extract(c), sums[i * OWN_COLUMNS + j]);
                        }
                    }
                }
            }
        }
        sync_cube();
        if tile < tiles {
            #[unroll]
            for i in 0..comptime!(TILE_ROWS / LOADED) {
                rows[load_depth * STORED_ROWS + load_at + i * LOADED] = next_rows[i];
            }
            #[unroll]
            for j in 0..comptime!(TILE_COLUMNS / LOADED) {
                columns[load_depth * STORED_COLUMNS + load_at + j * LOADED] = next_columns[j];
            }
        }
        sync_cube();
    }

    let mut scales = Array::<f32>::new(OWN_COLUMNS);
    let mut shifts = Array::<f32>::new(OWN_COLUMNS);
    #[unroll]
    for j in 0..OWN_COLUMNS {
        let column = first_column + own_column + j * UNIT_COLUMNS;
        scales[j] = 1.0f32;
        shifts[j] = 0.0f32;
        if (column as u32) < sizes.outputs {
            if comptime!(epilogue.affine == Affine::Bias) {
                shifts[j] = f32::cast_from(beta[column]);
            } else if comptime!(epilogue.affine == Affine::Norm) {
                let scale = f32::cast_from(gamma[column]) / f32::sqrt(f32::cast_from(variance[column]) + epsilon);
                scales[j] = scale;
                shifts[j] = f32::cast_from(beta[column]) - f32::cast_from(mean[column]) * scale;
            }
        }
    }
    #[unroll]
    for i in 0..OWN_ROWS {
        let row = (first_row + own_row + i * UNIT_ROWS) as u32;
        let image = row / (height_of_class * width_of_class);
        let y = row / width_of_class % height_of_class * step_down + class_down;
        let x = row % width_of_class * step_across + class_across;
        if image < sizes.images && y < sizes.out_height && x < sizes.out_width {
            let pixel = (image * sizes.out_height + y) * sizes.out_width + x;
            #[unroll]
            for j in 0..OWN_COLUMNS {
                let column = (first_column + own_column + j * UNIT_COLUMNS) as u32;
                if column < sizes.outputs {
                    let at = (pixel * sizes.outputs + column) as usize;
                    let mut value = sums[i * OWN_COLUMNS + j];
                    if comptime!(epilogue.affine != Affine::None) {
                        value = fma(value, scales[j], shifts[j]);
                    }
                    if comptime!(epilogue.has_residual) {
                        value += f32::cast_from(residual[at]);
                    }
                    output[at] = F::cast_from(activate(value, epilogue.then));
                }
            }
        }
    }
}

/// Applies the activation; NaN stays NaN.
#[cube]
pub fn activate(value: f32, #[comptime] then: Activation) -> f32 {
    let mut value = value;
    if comptime!(then != Activation::None) {
        value = select(value < 0.0f32, 0.0f32.runtime(), value);
    }
    if comptime!(then == Activation::Relu6) {
        value = select(value > 6.0f32, 6.0f32.runtime(), value);
    }
    value
}
