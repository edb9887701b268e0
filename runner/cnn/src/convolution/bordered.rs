//! A padded image plane, laid out so that each kernel tap reads contiguous numbers.
//!
//! With a stride of s the padded plane is split into s × s phases, each with every s-th row and
//! column, so that the pixels one tap reads for neighbouring outputs are adjacent. All rows have
//! the same length: an output row plus the reach of the kernel beyond it. The results in the extra
//! columns are discarded.

use crate::geometry::Geometry;

/// Numbers processed per inner loop, to keep the accumulators in vector registers.
pub const BLOCK: usize = 64;

/// Memory layout of a padded plane.
#[derive(Debug)]
pub struct Bordered {
    shape: Geometry,
    /// Rows and columns of a phase.
    size: [usize; 2],
    /// Offset of each tap relative to the position of the output.
    offsets: Vec<usize>,
}

impl Bordered {
    /// Returns the layout for the planes of a convolution.
    pub fn of(shape: &Geometry) -> Self {
        let size = [0, 1].map(|axis| shape.out[axis] + (shape.kernel[axis] - 1) / shape.stride[axis]);
        let mut offsets = Vec::with_capacity(shape.kernel[0] * shape.kernel[1]);
        for down in 0..shape.kernel[0] {
            for across in 0..shape.kernel[1] {
                let [rows, columns] = shape.stride;
                let phase = down % rows * columns + across % columns;
                offsets.push(phase * size[0] * size[1] + down / rows * size[1] + across / columns);
            }
        }
        Self { shape: *shape, size, offsets }
    }

    /// Returns the offset of each tap, in row-major order of the kernel.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Allocates the padded plane, filled with `border`. It is long enough to read whole blocks
    /// from every offset.
    pub fn pixels(&self, border: f32) -> Vec<f32> {
        let last = self.offsets.iter().max().copied().unwrap_or(0);
        let phases = self.shape.stride[0] * self.shape.stride[1] * self.size[0] * self.size[1];
        vec![border; phases.max(last + self.blocks())]
    }

    /// Allocates the outputs, in whole blocks of zeros.
    pub fn outputs(&self) -> Vec<f32> {
        vec![0.0; self.blocks()]
    }

    fn blocks(&self) -> usize {
        (self.shape.out[0] * self.size[1]).next_multiple_of(BLOCK)
    }

    /// Iterates over the output rows in a buffer made by [`Bordered::outputs`].
    #[inline(always)]
    pub fn lines<'a>(&self, outputs: &'a [f32]) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let [rows, columns] = self.shape.out;
        outputs.chunks(self.size[1]).take(rows).map(move |line| &line[..columns])
    }

    /// Like [`Bordered::lines`], mutable.
    #[inline(always)]
    pub fn lines_mut<'a>(&self, outputs: &'a mut [f32]) -> impl Iterator<Item = &'a mut [f32]> + use<'a> {
        let [rows, columns] = self.shape.out;
        outputs.chunks_mut(self.size[1]).take(rows).map(move |line| &mut line[..columns])
    }

    /// Copies a plane into the layout; the border of `pixels` keeps its values.
    #[inline(always)]
    pub fn lay_out(&self, plane: &[f32], pixels: &mut [f32]) {
        self.for_each_line(|line| {
            let to = &mut pixels[line.place..][..line.count];
            let from = &plane[line.first..];
            match self.shape.stride[1] {
                1 => to.copy_from_slice(&from[..line.count]),
                stride => to.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to = *from),
            }
        });
    }

    /// Copies the pixels from the layout back into a plane, without the border.
    #[inline(always)]
    pub fn take_back(&self, pixels: &[f32], plane: &mut [f32]) {
        self.for_each_line(|line| {
            let from = &pixels[line.place..][..line.count];
            let to = &mut plane[line.first..];
            match self.shape.stride[1] {
                1 => to[..line.count].copy_from_slice(from),
                stride => to.iter_mut().step_by(stride).zip(from).for_each(|(to, from)| *to = *from),
            }
        });
    }

    #[inline(always)]
    fn for_each_line(&self, mut run: impl FnMut(Line)) {
        let Geometry { side, stride, padding, .. } = self.shape;
        let size = self.size;
        for down in 0..stride[0] {
            let rows = inside(side[0], stride[0], padding[0], down, size[0]);
            for across in 0..stride[1] {
                let columns = inside(side[1], stride[1], padding[1], across, size[1]);
                let phase = (down * stride[1] + across) * size[0] * size[1];
                let first = columns.start * stride[1] + across;
                for row in rows.clone().filter(|_| !columns.is_empty()) {
                    let place = phase + row * size[1] + columns.start;
                    let first = (row * stride[0] + down - padding[0]) * side[1] + first - padding[1];
                    run(Line { place, first, count: columns.len() });
                }
            }
        }
    }
}

/// Pixels of one row that belong to the same phase.
struct Line {
    /// Start in the layout.
    place: usize,
    /// Start in the plane.
    first: usize,
    count: usize,
}

/// Returns the positions of a phase along an axis that lie inside the plane.
fn inside(side: usize, stride: usize, padding: usize, phase: usize, size: usize) -> std::ops::Range<usize> {
    let start = padding.saturating_sub(phase).div_ceil(stride);
    let end = (side + padding).saturating_sub(phase).div_ceil(stride).min(size);
    start.min(end)..end
}
