//! Generator of synthetic photographs: JPEG files with gradients, soft shapes and noise, whose
//! shapes and colours depend on the class. Decoding takes as long as for real photographs, and no
//! download is needed.

use image::codecs::jpeg::JpegEncoder;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

const SIDE_PX: u32 = 128;
/// Number of classes; image i belongs to class i modulo this.
pub const CLASSES: u64 = 10;
const QUALITY: u8 = 90;

/// Returns the JPEG file of a photograph, which its number determines; the last digit is its class.
pub fn draw(index: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(index);
    let mut unit = || random.random::<f32>();
    let class = (index % CLASSES) as f32 / CLASSES as f32;
    let side = SIDE_PX as f32;
    let sky: [f32; 3] = std::array::from_fn(|channel| 0.3 + 0.4 * wave(class + channel as f32 / 3.0 + 0.1 * unit()));
    let tilt = [unit() - 0.5, unit() - 0.5];
    let shapes: Vec<Shape> = (0..3 + index % CLASSES).map(|_| Shape::draw(class, &mut unit)).collect();
    let mut pixels = Vec::with_capacity((SIDE_PX * SIDE_PX * 3) as usize);
    for y in 0..SIDE_PX {
        for x in 0..SIDE_PX {
            let (u, v) = (x as f32 / side, y as f32 / side);
            let light = tilt[0] * (u - 0.5) + tilt[1] * (v - 0.5);
            let mut colour = sky.map(|channel| channel + light);
            for shape in &shapes {
                let cover = shape.cover(u, v);
                for (channel, paint) in colour.iter_mut().zip(shape.colour) {
                    *channel += (paint - *channel) * cover;
                }
            }
            let grain = 0.06 * (unit() - 0.5);
            pixels.extend(colour.map(|channel| ((channel + grain).clamp(0.0, 1.0) * 255.0) as u8));
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode(&pixels, SIDE_PX, SIDE_PX, image::ExtendedColorType::Rgb8)
        .expect("a picture of fixed size in memory is encoded into memory");
    jpeg
}

/// An ellipse or a bar with a soft edge.
struct Shape {
    centre: [f32; 2],
    radius: [f32; 2],
    turn: [f32; 2],
    power: f32,
    colour: [f32; 3],
}

impl Shape {
    fn draw(class: f32, unit: &mut impl FnMut() -> f32) -> Self {
        let angle = (class + 0.2 * unit()) * std::f32::consts::TAU;
        Self {
            centre: [unit(), unit()],
            radius: [0.05 + 0.2 * unit(), 0.03 + 0.1 * unit()],
            turn: [angle.cos(), angle.sin()],
            power: if class < 0.5 { 2.0 } else { 8.0 },
            colour: std::array::from_fn(|channel| wave(class * 2.0 + channel as f32 * 0.27 + 0.3 * unit())),
        }
    }

    fn cover(&self, u: f32, v: f32) -> f32 {
        let (x, y) = (u - self.centre[0], v - self.centre[1]);
        let along = (x * self.turn[0] + y * self.turn[1]) / self.radius[0];
        let across = (y * self.turn[0] - x * self.turn[1]) / self.radius[1];
        if along.abs().max(across.abs()) > 1.5 {
            return 0.0;
        }
        1.0 / (1.0 + (along.abs().powf(self.power) + across.abs().powf(self.power)).powi(4))
    }
}

/// Maps a phase to 0…1 periodically, with period 1.
fn wave(phase: f32) -> f32 {
    0.5 + 0.5 * (phase * std::f32::consts::TAU).sin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_depends_only_on_its_number() {
        assert_eq!(draw(17), draw(17));
        assert_ne!(draw(17), draw(27), "two images of one class differ");
        let decoded = image::load_from_memory(&draw(17)).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (SIDE_PX, SIDE_PX));
    }
}
