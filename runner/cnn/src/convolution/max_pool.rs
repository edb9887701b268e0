//! Max-pooling on the CPU. It compares the taps row by row in vector registers, where Burn's CPU
//! device goes pixel by pixel and stores the index of each maximum.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::nn::pool::MaxPool2d;
use burn::tensor::Tensor;

use super::bordered::{BLOCK, Bordered};
use super::{on_processor, slice, tensor};
use crate::geometry::Geometry;
use crate::vectorised::vectorised;

/// Max-pools `[n, channels, height, width]` with the result of [`MaxPool2d::forward`].
pub fn max_pool(pool: &MaxPool2d, images: Tensor<4>) -> Tensor<4> {
    ours(pool, images.clone()).unwrap_or_else(|| pool.forward(images))
}

/// Runs the vectorised version; `None` if the images are not on the CPU or the pool has dilation or
/// ceil mode.
fn ours(pool: &MaxPool2d, images: Tensor<4>) -> Option<Tensor<4>> {
    type Differentiating = Autodiff<Flex, NoCheckpointing>;
    if pool.dilation != [1, 1] || pool.ceil_mode {
        return None;
    }
    let shape = Geometry::of(images.dims(), images.dims()[1], pool.kernel_size, pool.stride, &pool.padding)?;
    if !images.device().is_autodiff() {
        let images = on_processor(&images.try_into_primitive::<Flex>().ok()?)?;
        return Some(Tensor::from_primitive::<Flex>(largest(&shape, &images)));
    }
    let (images, node) = images.try_into_primitive::<Differentiating>().ok()?.into_parts();
    let images = on_processor(&images)?;
    let output = largest(&shape, &images);
    let output = match Backward::<Flex, 1>::prepare::<NoCheckpointing>(Largest, [node]).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((shape, images), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Some(Tensor::from_primitive::<Differentiating>(output))
}

fn largest(shape: &Geometry, images: &FlexTensor) -> FlexTensor {
    let mut output = Vec::with_capacity(shape.images * shape.channels[0] * shape.outputs());
    largest_into(shape, slice(images), &mut output);
    tensor(output, [shape.images, shape.channels[0], shape.out[0], shape.out[1]])
}

vectorised! {
    fn largest_into<'a>(shape: &'a Geometry, images: &'a [f32], output: &'a mut Vec<f32>) {
        let bordered = Bordered::of(shape);
        let (mut pixels, mut found) = (bordered.pixels(f32::NEG_INFINITY), bordered.outputs());
        for plane in images.chunks_exact(shape.inputs()) {
            bordered.lay_out(plane, &mut pixels);
            largest_of_taps(&mut found, &pixels, bordered.offsets());
            bordered.lines(&found).for_each(|line| output.extend_from_slice(line));
        }
    }
}

#[inline(always)]
fn largest_of_taps(found: &mut [f32], pixels: &[f32], offsets: &[usize]) {
    for (block, found) in found.chunks_exact_mut(BLOCK).enumerate() {
        let mut most = [f32::NEG_INFINITY; BLOCK];
        for offset in offsets {
            let pixels = &pixels[block * BLOCK + offset..][..BLOCK];
            most.iter_mut().zip(pixels).for_each(|(most, pixel)| *most = if *pixel > *most { *pixel } else { *most });
        }
        found.copy_from_slice(&most);
    }
}

/// Autodiff node of a max-pool.
#[derive(Debug)]
struct Largest;

impl Backward<Flex, 1> for Largest {
    type State = (Geometry, FlexTensor);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let output = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (shape, images) = ops.state;
        if let [Some(parent)] = &ops.parents {
            let mut found = vec![0.0; slice(&images).len()];
            gradient_into(&shape, slice(&images), slice(&output), &mut found);
            let [height, width] = shape.side;
            grads.register::<Flex>(parent.id, tensor(found, [shape.images, shape.channels[0], height, width]));
        }
    }
}

vectorised! {
    /// Computes the gradient of the images: each output's gradient goes to the first of its largest
    /// pixels.
    fn gradient_into<'a>(shape: &'a Geometry, images: &'a [f32], output: &'a [f32], of_images: &'a mut [f32]) {
        let bordered = Bordered::of(shape);
        let (mut pixels, mut spread) = (bordered.pixels(f32::NEG_INFINITY), bordered.pixels(0.0));
        let (mut most, mut left) = (bordered.outputs(), bordered.outputs());
        let planes = images.chunks_exact(shape.inputs()).zip(of_images.chunks_exact_mut(shape.inputs()));
        for ((plane, of_plane), output) in planes.zip(output.chunks_exact(shape.outputs())) {
            bordered.lay_out(plane, &mut pixels);
            largest_of_taps(&mut most, &pixels, bordered.offsets());
            let lines = bordered.lines_mut(&mut left).zip(output.chunks_exact(shape.out[1]));
            lines.for_each(|(to, from)| to.copy_from_slice(from));
            spread.fill(0.0);
            for offset in bordered.offsets() {
                let places = spread[*offset..].iter_mut().zip(&pixels[*offset..]);
                for ((spread, pixel), (left, most)) in places.zip(left.iter_mut().zip(&most)) {
                    let taken = if pixel == most { *left } else { 0.0 };
                    *spread += taken;
                    *left -= taken;
                }
            }
            bordered.take_back(&spread, of_plane);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::PaddingConfig2d;
    use burn::nn::pool::MaxPool2dConfig;
    use burn::tensor::{Device, Distribution};

    use super::*;

    #[test]
    fn max_pooling_and_its_gradients_equal_burns() {
        let device = Device::flex().autodiff();
        for (side, kernel, stride, padding) in [(8, 2, 2, 0), (9, 3, 2, 1), (16, 3, 2, 0), (7, 3, 1, 1), (1, 3, 2, 1)] {
            let config = MaxPool2dConfig::new([kernel; 2]).with_strides([stride; 2]);
            let pool = config.with_padding(PaddingConfig2d::Explicit(padding, padding, padding, padding)).init();
            let random = |dims: [usize; 4]| {
                let numbers = Tensor::<4>::random(dims, Distribution::Normal(0.0, 2.0), &Device::flex()).round();
                Tensor::<4>::from_data(numbers.into_data(), &device)
            };
            let images = random([3, 5, side, side]).require_grad();
            let ours = ours(&pool, images.clone()).unwrap();
            let burns = pool.forward(images.clone());
            let factors = random(burns.dims());
            let of = |output: Tensor<4>| {
                let gradients = (output * factors.clone()).sum().backward();
                images.grad(&gradients).unwrap().into_data()
            };
            let what = format!("{side} px, kernel {kernel}, stride {stride}, padding {padding}");
            // Whole numbers give many ties, which go to the first of the largest pixels.
            assert_eq!(ours.clone().into_data(), burns.clone().into_data(), "{what}");
            assert_eq!(of(ours), of(burns), "{what}");
        }
    }
}
