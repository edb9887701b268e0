//! Text of the kernel of a convolution of 16-bit floats on the matrix units of a GPU.
//!
//! cubecl's WGSL compiler has no matrix units, so this kernel is WGSL itself, with naga's extension
//! for cooperative matrices. Rows of the product are pixels of the output, its columns are output
//! channels, its summands are taps × channels. A workgroup computes a tile of the product, and each
//! of its subgroups a part of the tile as several matrices. Products are added in 32 bits.

use std::fmt::Write as _;

use super::convolution_kernel::{Affine, Epilogue};
use crate::activation::Activation;
use crate::geometry::Geometry;

/// Row tiles go over y and z of the grid, because wgpu allows this many workgroups per dimension.
const LONGEST_SIDE: u32 = 65_535;
/// Workgroup memory of a kernel, at most, bytes.
const MEMORY: u32 = 48 << 10;
/// Numbers of a load: 16 bytes.
pub const EIGHT: u32 = 8;
/// Numbers of an element of workgroup memory.
const FOUR: u32 = 4;

/// The part of the product that a workgroup computes, counted in matrices, so that a tile is
/// independent of their side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Subgroups of a workgroup, down the pixels and across the outputs.
    pub subgroups: [u32; 2],
    /// Matrices of a subgroup, down the pixels and across the outputs.
    pub matrices: [u32; 2],
    /// Summands per step.
    pub depth: u32,
}

/// Parameters of the kernel's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixKernel {
    /// Side of a matrix.
    pub side: u32,
    /// Units of a subgroup.
    pub lanes: u32,
    /// The tile.
    pub tile: Tile,
    /// Operations on an output before it is written.
    pub epilogue: Epilogue,
    /// Whether the outputs are a multiple of eight, so that a store writes 16 bytes.
    pub has_whole_outputs: bool,
    /// Whether the summands are a multiple of the tile's depth, so that no load is beyond them.
    pub has_whole_depth: bool,
    /// Whether the only tap never leaves the image.
    pub is_pointwise: bool,
}

/// Names of the sizes, in the order of [`sizes`].
const SIZES: [&str; 14] = [
    "rows",
    "outputs",
    "height",
    "width",
    "eighths",
    "out_height",
    "out_width",
    "kernel_width",
    "stride_down",
    "stride_across",
    "pad_top",
    "pad_left",
    "depth",
    "epsilon",
];

/// Returns the sizes that the kernel reads, two to a word. `channels` are those of the images in
/// memory, a multiple of eight.
pub fn sizes(shape: &Geometry, channels: u32, epsilon: f32) -> Vec<u64> {
    let Geometry { images, channels: [_, outputs], side, kernel, stride, padding, out } = *shape;
    let [taps, rows] = [kernel[0] * kernel[1], images * out[0] * out[1]].map(|count| count as u32);
    let eighths = channels / EIGHT;
    let [outputs, height, width, kernel_width] = [outputs, side[0], side[1], kernel[1]].map(|size| size as u32);
    let [[out_height, out_width], [down, across], [top, left]] =
        [out, stride, padding].map(|pair| pair.map(|size| size as u32));
    let values = [
        rows,
        outputs,
        height,
        width,
        eighths,
        out_height,
        out_width,
        kernel_width,
        down,
        across,
        top,
        left,
        taps * eighths,
        epsilon.to_bits(),
    ];
    values.as_chunks::<2>().0.iter().map(|[low, high]| u64::from(*low) | u64::from(*high) << 32).collect()
}

impl MatrixKernel {
    /// Returns the height of the tile, pixels, and its width, outputs.
    pub fn tile_side(&self) -> [u32; 2] {
        let Tile { subgroups, matrices, .. } = self.tile;
        [0, 1].map(|way| subgroups[way] * matrices[way] * self.side)
    }

    /// Returns the units of a workgroup.
    pub fn units(&self) -> u32 {
        self.tile.subgroups[0] * self.tile.subgroups[1] * self.lanes
    }

    /// Returns the grid: columns of tiles in x and rows of tiles in y and z. x varies fastest, so
    /// that concurrent workgroups read the same pixels.
    pub fn grid(&self, rows: u32, outputs: u32) -> [u32; 3] {
        let [height, width] = self.tile_side();
        let rows = rows.div_ceil(height);
        let layers = rows.div_ceil(LONGEST_SIDE);
        [outputs.div_ceil(width), rows.div_ceil(layers.max(1)), layers]
    }

    /// Returns the bytes of workgroup memory.
    pub fn workgroup_memory(&self) -> u32 {
        self.tile_memory() + self.stage_memory(self.stage()[1])
    }

    /// Returns the bytes of a tile's pixels and weights.
    fn tile_memory(&self) -> u32 {
        self.tile_side().iter().sum::<u32>() * (self.tile.depth + EIGHT) * 2
    }

    /// Returns the bytes of the staging memory between the matrices of all subgroups and their
    /// units.
    fn stage_memory(&self, row: u32) -> u32 {
        self.tile.subgroups[0] * self.tile.subgroups[1] * self.side * row * 4
    }

    /// Returns the number of matrices that a subgroup stages side by side, and the floats of a row
    /// of them. Wider pieces write longer runs of memory, and eight extra floats avoid bank
    /// conflicts.
    fn stage(&self) -> [u32; 2] {
        let fits = |[wide, row]: [u32; 2]| {
            self.tile.matrices[1].is_multiple_of(wide)
                && self.lanes.is_multiple_of(wide * self.side / EIGHT)
                && self.tile_memory() + self.stage_memory(row) <= MEMORY
        };
        let padded = [4, 2, 1].map(|wide| [wide, wide * self.side + EIGHT]);
        padded.into_iter().find(|stage| fits(*stage)).unwrap_or([1, self.side])
    }

    /// Whether the units divide the work of loading and storing evenly.
    pub fn is_even(&self) -> bool {
        let ([height, width], units, pieces) = (self.tile_side(), self.units(), self.tile.depth / EIGHT);
        units.is_multiple_of(pieces)
            && self.tile.depth.is_multiple_of(self.side)
            && [height, width].iter().all(|side| (side * pieces).is_multiple_of(units))
            && (self.side * self.side / EIGHT).is_multiple_of(self.lanes)
            && self.lanes.is_multiple_of(self.side / EIGHT)
    }

    /// Returns the text. Buffers: images, weights, output, four of the epilogue, the summand, and
    /// the sizes. The text declares only those that it reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.declarations(&mut text);
        self.positions(&mut text);
        self.products(&mut text);
        self.stores(&mut text);
        text.push_str("}\n");
        text
    }

    /// Writes the text's buffers, memory and the head of the function.
    fn declarations(&self, text: &mut String) {
        let ([height, width], units, row) = (self.tile_side(), self.units(), self.row());
        let packed = if self.has_whole_outputs { "vec4<u32>" } else { "f16" };
        // Every buffer can be written: cubecl's tensors are parts of the same buffers.
        let mut buffer = |place: usize, name: &str, kind: &str| {
            line(text, format!("@group(0) @binding({place}) var<storage, read_write> {name}: array<{kind}>;"));
        };
        buffer(0, "images", "mat2x4<f16>");
        buffer(1, "weights", "mat2x4<f16>");
        buffer(2, "result", packed);
        let mut place = 3;
        for name in self.names() {
            buffer(place, name, packed);
            place += 1;
        }
        let (side, stage) = (self.side, self.stage_memory(self.stage()[1]) / 16);
        line(text, format!("@group(0) @binding({place}) var<storage, read_write> sizes: array<u32>;"));
        line(text, format!("var<workgroup> tile_a: array<vec4<f16>, {}>;", height * row));
        line(text, format!("var<workgroup> tile_b: array<vec4<f16>, {}>;", width * row));
        line(text, format!("var<workgroup> stage: array<vec4<f32>, {stage}>;"));
        for (name, kind) in [("A", "f16"), ("B", "f16"), ("C", "f32")] {
            line(text, format!("alias Matrix{name} = coop_mat{side}x{side}<{kind}, {name}>;"));
        }
        text.insert_str(0, "enable f16;\nenable wgpu_cooperative_matrix;\n");
        line(text, format!("@compute @workgroup_size({units}, 1, 1)"));
        text.push_str(
            "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,\n    \
             @builtin(local_invocation_index) unit: u32) {\n",
        );
        for (place, name) in SIZES.iter().enumerate() {
            line(text, format!("let {name} = sizes[{place}];"));
        }
    }

    /// Returns the names of the buffers of the epilogue.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names = match self.epilogue.affine {
            Affine::None => Vec::new(),
            Affine::Bias => vec!["beta"],
            Affine::Norm => vec!["gamma", "beta", "mean", "variance"],
        };
        names.extend(self.epilogue.has_residual.then_some("residual"));
        names
    }

    /// Returns the elements of a row of a tile in workgroup memory: one load more than the depth,
    /// so that rows start in different banks and at multiples of 16 bytes.
    fn row(&self) -> u32 {
        (self.tile.depth + EIGHT) / FOUR
    }

    /// Writes the choice of pixels, outputs and summands that a unit loads: the same eight summands
    /// of several rows, so that all its rows have the same tap.
    fn positions(&self, text: &mut String) {
        let ([height, width], pieces) = (self.tile_side(), self.tile.depth / EIGHT);
        let step = self.units() / pieces;
        // The workgroups beyond the last row store nothing; naga allows no matrix after an early
        // return.
        line(text, format!("let first_row = (group.y + group.z * groups.y) * {height}u;"));
        line(text, format!("let first_column = group.x * {width}u;"));
        line(text, format!("let steps = (depth + {}u) / {pieces}u;", pieces - 1));
        // Subgroups are contiguous ranges of units.
        line(text, format!("let subgroup = unit / {}u;", self.lanes));
        line(text, format!("let lane = unit % {}u;", self.lanes));
        line(text, format!("let part_down = subgroup / {}u;", self.tile.subgroups[1]));
        line(text, format!("let part_across = subgroup % {}u;", self.tile.subgroups[1]));
        line(text, format!("let piece = unit % {pieces}u;"));
        line(text, format!("let load_row = unit / {pieces}u;"));
        line(text, format!("let store_at = load_row * {}u + piece * 2u;", self.row()));
        for j in 0..height / step {
            // Rows beyond the last repeat it: their products are not stored.
            line(text, format!("let row_{j} = min(first_row + load_row + {}u, rows - 1u);", j * step));
            line(text, format!("let line_{j} = row_{j} / out_width;"));
            line(text, format!("let image_{j} = line_{j} / out_height;"));
            // Positions above or to the left of the image wrap to large numbers.
            line(text, format!("let top_{j} = (line_{j} - image_{j} * out_height) * stride_down - pad_top;"));
            line(text, format!("let left_{j} = (row_{j} - line_{j} * out_width) * stride_across - pad_left;"));
            line(text, format!("let base_{j} = ((image_{j} * height + top_{j}) * width + left_{j}) * eighths;"));
            line(text, format!("var a_{j}: mat2x4<f16>;"));
        }
        for j in 0..width / step {
            line(text, format!("let weight_{j} = min(first_column + load_row + {}u, outputs - 1u) * depth;", j * step));
            line(text, format!("var b_{j}: mat2x4<f16>;"));
        }
        line(text, "var summand = piece;");
        if !self.is_pointwise {
            line(text, "var tap_row = 0u; var tap_column = 0u; var eighth = piece;");
            line(text, WRAP);
        }
        for i in 0..self.tile.matrices[0] {
            for k in 0..self.tile.matrices[1] {
                line(text, format!("var c_{i}_{k}: MatrixC;"));
            }
        }
    }

    /// Returns the text that loads the summands of a step from the buffers.
    fn loads(&self) -> String {
        let ([height, width], pieces) = (self.tile_side(), self.tile.depth / EIGHT);
        let step = self.units() / pieces;
        let mut text = String::new();
        let mut load = |to: String, buffer: &str, at: String, conditions: &[String]| {
            line(
                &mut text,
                match conditions {
                    [] => format!("{to} = {buffer}[{at}];"),
                    all => format!("{to} = mat2x4<f16>(); if ({}) {{ {to} = {buffer}[{at}]; }}", all.join(" && ")),
                },
            );
        };
        let within = if self.has_whole_depth { Vec::new() } else { vec!["summand < depth".to_owned()] };
        let tap = "(tap_row * width + tap_column) * eighths + eighth";
        for j in 0..height / step {
            let mut conditions = within.clone();
            if self.is_pointwise {
                load(format!("a_{j}"), "images", format!("base_{j} + summand"), &conditions);
            } else {
                conditions.push(format!("top_{j} + tap_row < height && left_{j} + tap_column < width"));
                load(format!("a_{j}"), "images", format!("base_{j} + {tap}"), &conditions);
            }
        }
        for j in 0..width / step {
            load(format!("b_{j}"), "weights", format!("weight_{j} + summand"), &within);
        }
        text
    }

    /// Writes the loop over the summands: while a step is multiplied, the next one is loaded.
    fn products(&self, text: &mut String) {
        let (Tile { matrices: [down, across], depth, .. }, side, row) = (self.tile, self.side, self.row());
        let ([height, width], pieces) = (self.tile_side(), depth / EIGHT);
        let step = self.units() / pieces;
        line(text, format!("let part_a = part_down * {}u;", down * side * row));
        line(text, format!("let part_b = part_across * {}u;", across * side * row));
        text.push_str(&self.loads());
        line(text, "for (var turn = 0u; turn < steps; turn += 1u) {");
        line(text, "workgroupBarrier();");
        for (name, count) in [("a", height / step), ("b", width / step)] {
            for j in 0..count {
                for half in 0..2 {
                    let at = j * step * row + half;
                    line(text, format!("tile_{name}[store_at + {at}u] = {name}_{j}[{half}];"));
                }
            }
        }
        line(text, "workgroupBarrier();");
        line(text, "if (turn + 1u < steps) {");
        line(text, format!("summand += {pieces}u;"));
        if !self.is_pointwise {
            line(text, format!("eighth += {pieces}u;"));
            line(text, WRAP);
        }
        text.push_str(&self.loads());
        line(text, "}");
        for first in (0..depth).step_by(side as usize).map(|summand| summand / FOUR) {
            line(text, "{");
            for i in 0..down {
                let at = i * side * row + first;
                line(text, format!("let a{i} = coopLoadT<MatrixA>(&tile_a[part_a + {at}u], {row}u);"));
            }
            for k in 0..across {
                // The tile has an output per row, and the matrix one per column.
                let at = k * side * row + first;
                line(text, format!("let b{k} = coopLoad<MatrixB>(&tile_b[part_b + {at}u], {row}u);"));
                for i in 0..down {
                    line(text, format!("c_{i}_{k} = coopMultiplyAdd(a{i}, b{k}, c_{i}_{k});"));
                }
            }
            line(text, "}");
        }
        line(text, "}");
    }

    /// Writes the conversion of sums to outputs. Sums pass through workgroup memory, so that a unit
    /// gets eight neighbouring columns.
    fn stores(&self, text: &mut String) {
        let ([down, across], side, [wide, floats]) = (self.tile.matrices, self.side, self.stage());
        let (groups, row) = (wide * side / EIGHT, floats / FOUR);
        line(text, format!("let stage_at = subgroup * {}u;", side * row));
        line(text, format!("let group_column = (lane % {groups}u) * {EIGHT}u;"));
        line(text, format!("let group_row = lane / {groups}u;"));
        for k in (0..across).step_by(wide as usize) {
            line(text, "{");
            let own = across * side;
            line(text, format!("let column = first_column + part_across * {own}u + {}u + group_column;", k * side));
            line(text, "let is_inside = column < outputs;");
            self.channels(text);
            for i in 0..down {
                for next in 0..wide {
                    let at = next * side / FOUR;
                    line(text, format!("coopStoreT(c_{i}_{}, &stage[stage_at + {at}u], {row}u);", k + next));
                }
                line(text, "workgroupBarrier();");
                for round in 0..side * groups / self.lanes {
                    line(text, "{");
                    line(text, format!("let row_in = group_row + {}u;", round * self.lanes / groups));
                    let first = i * side;
                    line(text, format!("let row = first_row + part_down * {}u + {first}u + row_in;", down * side));
                    line(text, "if (row < rows && is_inside) {");
                    line(text, format!("let at = stage_at + row_in * {row}u + group_column / {FOUR}u;"));
                    line(text, "let to = row * outputs + column;");
                    self.store(text);
                    line(text, "}");
                    line(text, "}");
                }
                line(text, "workgroupBarrier();");
            }
            line(text, "}");
        }
    }

    /// Writes the numbers of eight channels that the epilogue needs.
    fn channels(&self, text: &mut String) {
        let affine = self.epilogue.affine;
        if affine == Affine::None {
            return;
        }
        for half in 0..2 {
            line(text, format!("var scale_{half}: vec4<f32>; var shift_{half}: vec4<f32>;"));
        }
        line(text, "if (is_inside) {");
        for half in 0..2 {
            let four = |name: &str| self.four(name, "column", half);
            if affine == Affine::Norm {
                let (gamma, variance) = (four("gamma"), four("variance"));
                let epsilon = "vec4<f32>(bitcast<f32>(epsilon))";
                line(text, format!("scale_{half} = {gamma} * inverseSqrt({variance} + {epsilon});"));
                line(text, format!("shift_{half} = {} - {} * scale_{half};", four("beta"), four("mean")));
            } else {
                line(text, format!("shift_{half} = {};", four("beta")));
            }
        }
        line(text, "}");
    }

    /// Returns four floats of a buffer from index `at` on, or from four after it.
    fn four(&self, name: &str, at: &str, half: usize) -> String {
        if self.has_whole_outputs {
            let [first, second] = [["x", "y"], ["z", "w"]][half];
            let eight = format!("{name}[{at} / {EIGHT}u]");
            return format!("vec4<f32>(unpack2x16float({eight}.{first}), unpack2x16float({eight}.{second}))");
        }
        // Columns beyond the last are not stored.
        let one = |place: usize| format!("f32({name}[{at} + min({}u, outputs - 1u - column)])", 4 * half + place);
        format!("vec4<f32>({}, {}, {}, {})", one(0), one(1), one(2), one(3))
    }

    /// Writes the epilogue of eight sums and their store.
    fn store(&self, text: &mut String) {
        let Epilogue { affine, has_residual, then } = self.epilogue;
        for half in 0..2 {
            line(text, format!("var value_{half} = stage[at + {half}u];"));
            match affine {
                Affine::None => {}
                Affine::Bias => line(text, format!("value_{half} += shift_{half};")),
                Affine::Norm => line(text, format!("value_{half} = value_{half} * scale_{half} + shift_{half};")),
            }
            if has_residual {
                line(text, format!("value_{half} += {};", self.four("residual", "to", half)));
            }
            // A comparison with NaN is false, so NaN stays.
            let mut limit = |bound: &str, is: &str| {
                let bound = format!("vec4<f32>({bound})");
                line(text, format!("value_{half} = select(value_{half}, {bound}, value_{half} {is} {bound});"));
            };
            if then != Activation::None {
                limit("0.0", "<");
            }
            if then == Activation::Relu6 {
                limit("6.0", ">");
            }
        }
        if self.has_whole_outputs {
            let pack = |half: usize, two: &str| format!("pack2x16float(value_{half}.{two})");
            let [first, second] = [0, 1].map(|half| format!("{}, {}", pack(half, "xy"), pack(half, "zw")));
            line(text, format!("result[to / {EIGHT}u] = vec4<u32>({first}, {second});"));
            return;
        }
        for place in 0..EIGHT as usize {
            let (half, part) = (place / 4, ["x", "y", "z", "w"][place % 4]);
            let value = format!("f16(value_{half}.{part})");
            line(text, format!("if (column + {place}u < outputs) {{ result[to + {place}u] = {value}; }}"));
        }
    }
}

/// Moves the position back into the channels of a pixel, tap by tap.
const WRAP: &str = "while (eighth >= eighths) { eighth -= eighths; tap_column += 1u; \
                    if (tap_column == kernel_width) { tap_column = 0u; tap_row += 1u; } }";

fn line(text: &mut String, line: impl AsRef<str>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", line.as_ref());
}
