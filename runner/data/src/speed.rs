//! Measures the throughput of reading and decoding images, without a CNN.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use foreglow_architectures::Colour;

use crate::images::Decoder;
use crate::set::{DataSet, ItemError};

/// Shape of the tensors.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Greyscale or colour.
    pub colour: Colour,
    /// Side of the square images, pixels.
    pub px: u32,
    /// Images per tensor.
    pub batch_size: NonZeroUsize,
}

/// Result of the measurement.
#[derive(Clone, Debug, Default)]
pub struct Speed {
    /// Images decoded.
    pub images: u64,
    /// Images that could not be used.
    pub broken: u64,
    /// The first broken image, with the reason.
    pub first_broken: Option<String>,
    /// Wall-clock time, seconds.
    pub secs: f64,
    /// Reading time summed over all threads, seconds.
    pub read_secs: f64,
    /// Decoding, resizing and normalising time summed over all threads, seconds.
    pub decode_secs: f64,
}

/// Reads and decodes these images on `threads` threads, one batch at a time, and sends the tensors
/// to the calling thread, which drops them. This is the work of an executor's slot before the CNN,
/// or of a data loader with workers.
pub fn read_speed(set: &dyn DataSet, numbers: &[u64], shape: Shape, threads: NonZeroUsize) -> Speed {
    let batches: Vec<&[u64]> = numbers.chunks(shape.batch_size.get()).collect();
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::sync_channel(2 * threads.get());
    let start = Instant::now();
    let mut all = Speed::default();
    std::thread::scope(|scope| {
        for _thread in 0..threads.get() {
            let (send, batches, next) = (send.clone(), &batches, &next);
            scope.spawn(move || {
                let mut decoder = Decoder::new(shape.colour, shape.px);
                while let Some(numbers) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if send.send(batch(set, numbers, &mut decoder)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for (tensor, speed) in receive {
            black_box(tensor);
            all.add(speed);
        }
    });
    all.secs = start.elapsed().as_secs_f64();
    all
}

fn batch(set: &dyn DataSet, numbers: &[u64], decoder: &mut Decoder) -> (Vec<f32>, Speed) {
    let mut tensor = Vec::with_capacity(numbers.len() * decoder.numbers());
    let (mut speed, mut read, mut decode) = (Speed::default(), Duration::ZERO, Duration::ZERO);
    for number in numbers {
        let start = Instant::now();
        let image = set.read(*number);
        let there = Instant::now();
        let decoded = image.and_then(|image| decoder.decode(&image, &mut tensor));
        read += there - start;
        decode += there.elapsed();
        match decoded {
            Ok(()) => speed.images += 1,
            Err(ItemError(why)) => {
                speed.broken += 1;
                speed.first_broken.get_or_insert_with(|| format!("{} ({why})", set.name(*number)));
            }
        }
    }
    (speed.read_secs, speed.decode_secs) = (read.as_secs_f64(), decode.as_secs_f64());
    (tensor, speed)
}

impl Speed {
    fn add(&mut self, other: Self) {
        self.images += other.images;
        self.broken += other.broken;
        self.first_broken = self.first_broken.take().or(other.first_broken);
        self.read_secs += other.read_secs;
        self.decode_secs += other.decode_secs;
    }

    /// Returns the decoded images per second.
    pub fn images_per_sec(&self) -> f64 {
        self.images as f64 / self.secs.max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Drawing, Drawn, generate};

    #[test]
    fn every_image_is_read_once_on_any_number_of_threads() {
        let dir = tempfile::tempdir().unwrap();
        let drawing = Drawing::Photographs;
        generate(drawing, dir.path(), 7, &mut |_, _| {}).unwrap();
        std::fs::write(drawing.path(dir.path(), 4), b"no image").unwrap();
        let shape = Shape { colour: Colour::Rgb, px: 16, batch_size: NonZeroUsize::new(2).unwrap() };
        for threads in [1, 2, 9] {
            let numbers: Vec<u64> = (0..7).collect();
            let threads = NonZeroUsize::new(threads).unwrap();
            let speed = read_speed(&Drawn::new(drawing, dir.path()), &numbers, shape, threads);
            assert_eq!((speed.images, speed.broken), (6, 1));
            assert!(speed.first_broken.as_ref().unwrap().contains("00000004.jpg"), "{speed:?}");
            assert!(speed.images_per_sec() > 0.0 && speed.decode_secs > 0.0 && speed.read_secs > 0.0);
        }
    }
}
