//! A plane of an image with the border around it, laid out so that each tap of a kernel reads numbers that lie side by side.
//!
//! With a stride of s the bordered plane is s × s planes, each of every s-th row and column (its phases): the pixels that a tap
//! finds for neighbouring outputs are then neighbours. All lines have the same length, that of a line of outputs and what
//! the kernel reaches beyond it; what is computed for the places beyond is thrown away.

use super::geometry::Geometry;

/// Numbers that are worked through at once.
pub const BLOCK: usize = 64;

/// Where things lie.
#[derive(Debug)]
pub struct Bordered {
    shape: Geometry,
    /// Rows and columns of a phase.
    size: [usize; 2],
    /// Of each tap, from the first pixel that it finds.
    offsets: Vec<usize>,
}

impl Bordered {
    /// Of the planes of a convolution.
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

    /// Of each tap, row by row of the kernel: from where on its pixels lie.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Room for the pixels, in which the border has that number: whole blocks may be read from every offset.
    pub fn pixels(&self, border: f32) -> Vec<f32> {
        let last = self.offsets.iter().max().copied().unwrap_or(0);
        let phases = self.shape.stride[0] * self.shape.stride[1] * self.size[0] * self.size[1];
        vec![border; phases.max(last + self.blocks())]
    }

    /// Room for the outputs, in whole blocks, all zero.
    pub fn outputs(&self) -> Vec<f32> {
        vec![0.0; self.blocks()]
    }

    fn blocks(&self) -> usize {
        (self.shape.out[0] * self.size[1]).next_multiple_of(BLOCK)
    }

    /// The lines of the output in what [`Bordered::outputs`] made room for.
    #[inline(always)]
    pub fn lines<'a>(&self, outputs: &'a [f32]) -> impl Iterator<Item = &'a [f32]> + use<'a> {
        let [rows, columns] = self.shape.out;
        outputs.chunks(self.size[1]).take(rows).map(move |line| &line[..columns])
    }

    /// The same, to be written.
    #[inline(always)]
    pub fn lines_mut<'a>(&self, outputs: &'a mut [f32]) -> impl Iterator<Item = &'a mut [f32]> + use<'a> {
        let [rows, columns] = self.shape.out;
        outputs.chunks_mut(self.size[1]).take(rows).map(move |line| &mut line[..columns])
    }

    /// Lays out a plane; the border of `pixels` stays as it is.
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

    /// The other way: the pixels of the plane, without the border.
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

/// Pixels of a row that lie in one phase.
struct Line {
    /// Where they begin in the layout.
    place: usize,
    /// Where they begin in the plane.
    first: usize,
    count: usize,
}

/// The places of a phase along an axis that are inside the plane.
fn inside(side: usize, stride: usize, padding: usize, phase: usize, size: usize) -> std::ops::Range<usize> {
    let start = padding.saturating_sub(phase).div_ceil(stride);
    let end = (side + padding).saturating_sub(phase).div_ceil(stride).min(size);
    start.min(end)..end
}
