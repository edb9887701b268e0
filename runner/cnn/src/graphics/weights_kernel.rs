//! The kernel of the gradient of a convolution's weights.

use cubecl::prelude::*;

use super::convolution_kernel::{OUTSIDE, Sizes};
use super::normalisation_kernels::{SIDE, sum_of_lanes};
use super::{Four, place};

/// Outputs (rows of the product) in a tile.
pub const TILE_ROWS: usize = 64;
/// Taps × channels (columns of the product) in a tile.
pub const TILE_COLUMNS: usize = 128;
/// Pixels (summands) in a tile.
pub const DEPTH: usize = 16;
/// Rows and columns of units in a workgroup.
const UNIT_ROWS: usize = 8;
const UNIT_COLUMNS: usize = 16;
/// Units of a workgroup.
pub const UNITS: usize = UNIT_ROWS * UNIT_COLUMNS;
const ROW_FOURS: usize = TILE_ROWS / 4;
const COLUMN_FOURS: usize = TILE_COLUMNS / 4;
/// Fours of rows and of columns that a unit computes.
const OWN_ROWS: usize = ROW_FOURS / UNIT_ROWS;
const OWN_COLUMNS: usize = COLUMN_FOURS / UNIT_COLUMNS;
/// Pixels that the units load at once, a four of a row or of a column each.
const LOADED_ROWS: usize = UNITS / ROW_FOURS;
const LOADED_COLUMNS: usize = UNITS / COLUMN_FOURS;

/// Computes the gradient of the weights, `[parts, outputs, taps, channels]`: each part has the
/// summands of `part` pixels of the output, of all images.
///
/// `gradient` is that of the output, `[pixels, outputs]`, with the outputs padded with zeros to a
/// multiple of four.
#[cube(launch_unchecked)]
pub fn weights_gradient(
    gradient: &[Four<f32>],
    images: &[Four<f32>],
    output: &mut [Four<f32>],
    sizes: Sizes,
    part: u32,
) {
    let mut rows = Shared::<[Four<f32>]>::new_slice(comptime!(DEPTH * ROW_FOURS));
    let mut columns = Shared::<[Four<f32>]>::new_slice(comptime!(DEPTH * COLUMN_FOURS));
    let unit = UNIT_POS as usize;
    let own_column = unit % UNIT_COLUMNS;
    let own_row = unit / UNIT_COLUMNS;
    let output_fours = sizes.outputs.div_ceil(4);
    let first_row = CUBE_POS_Y * comptime!(ROW_FOURS as u32);
    let first_column = CUBE_POS_X * comptime!(COLUMN_FOURS as u32);
    let first = CUBE_POS_Z * part;
    let end = min(first + part, sizes.images * sizes.out_height * sizes.out_width);

    // The row and the column that this unit loads, and the tap and the channels of the latter.
    let load_row = first_row + (unit % ROW_FOURS) as u32;
    let load_column = first_column + (unit % COLUMN_FOURS) as u32;
    let tap = load_column / sizes.fours;
    let four = load_column % sizes.fours;
    let mut down = (tap / sizes.kernel_width) as i32 - sizes.top as i32;
    let across = (tap % sizes.kernel_width) as i32 - sizes.left as i32;
    if load_column >= sizes.depth {
        down = OUTSIDE.runtime();
    }

    let mut sums = Array::<Four<f32>>::new(comptime!(OWN_ROWS * 4 * OWN_COLUMNS));
    #[unroll]
    for i in 0..comptime!(OWN_ROWS * 4 * OWN_COLUMNS) {
        sums[i] = Four::<f32>::new(0.0f32);
    }
    let mut next_rows = Array::<Four<f32>>::new(comptime!(DEPTH / LOADED_ROWS));
    let mut next_columns = Array::<Four<f32>>::new(comptime!(DEPTH / LOADED_COLUMNS));

    let tiles = (end - first).div_ceil(DEPTH as u32);
    // One iteration more than tiles: each loads the next tile while the previous one is multiplied.
    for tile in 0..tiles + 1 {
        if tile < tiles {
            let start = first + tile * DEPTH as u32;
            #[unroll]
            for i in 0..comptime!(DEPTH / LOADED_ROWS) {
                let pixel = start + (unit / ROW_FOURS + i * LOADED_ROWS) as u32;
                let mut value = Four::<f32>::new(0.0f32);
                if pixel < end && load_row < output_fours {
                    value = gradient[(pixel * output_fours + load_row) as usize];
                }
                next_rows[i] = value;
            }
            #[unroll]
            for j in 0..comptime!(DEPTH / LOADED_COLUMNS) {
                let pixel = start + (unit / COLUMN_FOURS + j * LOADED_COLUMNS) as u32;
                let image = pixel / (sizes.out_height * sizes.out_width);
                let y = (pixel / sizes.out_width % sizes.out_height * sizes.down) as i32 + down;
                let x = (pixel % sizes.out_width * sizes.across) as i32 + across;
                let mut value = Four::<f32>::new(0.0f32);
                if pixel < end && y >= 0 && x >= 0 && (y as u32) < sizes.height && (x as u32) < sizes.width {
                    let at = (image * sizes.height + y as u32) * sizes.width + x as u32;
                    value = images[(at * sizes.fours + four) as usize];
                }
                next_columns[j] = value;
            }
        }
        if tile > 0 {
            #[unroll]
            for k in 0..DEPTH {
                let mut own = Array::<Four<f32>>::new(OWN_COLUMNS);
                #[unroll]
                for j in 0..OWN_COLUMNS {
                    own[j] = columns[k * COLUMN_FOURS + own_column + j * UNIT_COLUMNS];
                }
                #[unroll]
                for i in 0..OWN_ROWS {
                    let row = rows[k * ROW_FOURS + own_row + i * UNIT_ROWS];
                    #[unroll]
                    for c in 0..4usize {
                        #[unroll]
                        for j in 0..OWN_COLUMNS {
                            let at = comptime!((i * 4 + c) * OWN_COLUMNS + j);
                            sums[at] = fma(Four::<f32>::new(row.extract(c)), own[j], sums[at]);
                        }
                    }
                }
            }
        }
        sync_cube();
        if tile < tiles {
            #[unroll]
            for i in 0..comptime!(DEPTH / LOADED_ROWS) {
                rows[unit + i * UNITS] = next_rows[i];
            }
            #[unroll]
            for j in 0..comptime!(DEPTH / LOADED_COLUMNS) {
                columns[unit + j * UNITS] = next_columns[j];
            }
        }
        sync_cube();
    }

    #[unroll]
    for i in 0..OWN_ROWS {
        #[unroll]
        for c in 0..4usize {
            let row = (first_row + (own_row + i * UNIT_ROWS) as u32) * 4 + c as u32;
            if row < sizes.outputs {
                #[unroll]
                for j in 0..OWN_COLUMNS {
                    let column = first_column + (own_column + j * UNIT_COLUMNS) as u32;
                    if column < sizes.depth {
                        let at = (CUBE_POS_Z * sizes.outputs + row) * sizes.depth + column;
                        output[at as usize] = sums[comptime!((i * 4 + c) * OWN_COLUMNS + j)];
                    }
                }
            }
        }
    }
}

/// Adds the parts: `[parts, count]` fours to `[count]`.
#[cube(launch_unchecked)]
pub fn sum_of_parts(parts: &[Four<f32>], output: &mut [Four<f32>], count: u32, many: u32) {
    let at = place();
    if at >= count {
        terminate!();
    }
    let mut sum = Four::<f32>::new(0.0f32);
    for part in 0..many {
        sum += parts[(part * count + at) as usize];
    }
    output[at as usize] = sum;
}

/// Adds the rows of `[rows, channels]`; each workgroup adds those of one part: `[parts, channels]`.
#[cube(launch_unchecked)]
pub fn sums_of_rows(gradient: &[Four<f32>], output: &mut [Four<f32>], rows: u32, fours: u32, part: u32) {
    let four = CUBE_POS_X * SIDE as u32 + UNIT_POS % SIDE as u32;
    let lane = UNIT_POS / SIDE as u32;
    let first = CUBE_POS_Y * part;
    let end = min(first + part, rows);
    let is_inside = four < fours;
    let mut sum = Four::<f32>::new(0.0f32);
    if is_inside {
        let mut row = first + lane;
        while row < end {
            sum += gradient[(row * fours + four) as usize];
            row += SIDE as u32;
        }
    }
    let (sum, _) = sum_of_lanes(sum, Four::<f32>::new(0.0f32));
    if lane == 0 && is_inside {
        output[(CUBE_POS_Y * fours + four) as usize] = sum;
    }
}
