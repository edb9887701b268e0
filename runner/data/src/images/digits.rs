//! Generator of digit images: small greyscale JPEG files with randomly distorted digits, as a
//! learnable data set.

use image::codecs::jpeg::JpegEncoder;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

/// Number of classes; image i belongs to class i modulo this.
pub const CLASSES: u64 = 10;

const SIDE_PX: u32 = 32;
const QUALITY: u8 = 90;

/// Strokes of the digits in a unit square, with the origin at the top left.
const STROKES: [&[[f32; 2]]; CLASSES as usize] = [
    &[
        [0.5, 0.08],
        [0.27, 0.2],
        [0.2, 0.5],
        [0.27, 0.8],
        [0.5, 0.92],
        [0.73, 0.8],
        [0.8, 0.5],
        [0.73, 0.2],
        [0.5, 0.08],
    ],
    &[[0.35, 0.25], [0.55, 0.08], [0.55, 0.92]],
    &[
        [0.22, 0.28],
        [0.3, 0.13],
        [0.5, 0.08],
        [0.7, 0.15],
        [0.77, 0.32],
        [0.68, 0.5],
        [0.4, 0.72],
        [0.2, 0.92],
        [0.8, 0.92],
    ],
    &[
        [0.22, 0.15],
        [0.5, 0.08],
        [0.74, 0.18],
        [0.74, 0.36],
        [0.5, 0.47],
        [0.76, 0.6],
        [0.78, 0.78],
        [0.52, 0.93],
        [0.2, 0.84],
    ],
    &[[0.62, 0.92], [0.62, 0.08], [0.18, 0.65], [0.84, 0.65]],
    &[[0.76, 0.08], [0.3, 0.08], [0.26, 0.46], [0.5, 0.4], [0.76, 0.52], [0.78, 0.75], [0.55, 0.93], [0.22, 0.85]],
    &[
        [0.7, 0.1],
        [0.4, 0.25],
        [0.23, 0.55],
        [0.25, 0.8],
        [0.5, 0.93],
        [0.74, 0.82],
        [0.75, 0.62],
        [0.52, 0.5],
        [0.28, 0.6],
    ],
    &[[0.2, 0.08], [0.8, 0.08], [0.45, 0.92]],
    &[
        [0.5, 0.48],
        [0.28, 0.36],
        [0.28, 0.17],
        [0.5, 0.08],
        [0.72, 0.17],
        [0.72, 0.36],
        [0.5, 0.48],
        [0.24, 0.63],
        [0.24, 0.82],
        [0.5, 0.93],
        [0.76, 0.82],
        [0.76, 0.63],
        [0.5, 0.48],
    ],
    &[
        [0.74, 0.4],
        [0.5, 0.5],
        [0.27, 0.38],
        [0.26, 0.18],
        [0.5, 0.07],
        [0.73, 0.18],
        [0.75, 0.42],
        [0.68, 0.72],
        [0.45, 0.93],
    ],
];

/// Returns the JPEG file of a digit: the last digit of the image's number, which determines the
/// file.
pub fn draw(index: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(index);
    let mut between = |low: f32, high: f32| low + (high - low) * random.random::<f32>();
    let (sin, cos) = between(-0.35, 0.35).sin_cos();
    let (slant, size) = (between(-0.35, 0.35), between(0.5, 0.95));
    let (right, down) = (between(-0.12, 0.12), between(-0.12, 0.12));
    let points: Vec<[f32; 2]> = STROKES[(index % CLASSES) as usize]
        .iter()
        .map(|[x, y]| {
            let (x, y) = (x - 0.5 + between(-0.05, 0.05), y - 0.5 + between(-0.05, 0.05));
            let x = (x - slant * y) * size;
            let y = y * size;
            [0.5 + right + x * cos - y * sin, 0.5 + down + x * sin + y * cos]
        })
        .collect();
    let (pen, ink, paper) = (between(0.025, 0.07), between(0.5, 1.0), between(0.0, 0.25));
    let mut pixels = Vec::with_capacity((SIDE_PX * SIDE_PX) as usize);
    for y in 0..SIDE_PX {
        for x in 0..SIDE_PX {
            let at = [x, y].map(|place| (place as f32 + 0.5) / SIDE_PX as f32);
            let distance = points.windows(2).map(|ends| distance(at, ends[0], ends[1])).fold(f32::INFINITY, f32::min);
            // Anti-aliases the edge of the stroke over one pixel.
            let cover = ((pen - distance) * SIDE_PX as f32 + 0.5).clamp(0.0, 1.0);
            let grain = between(-0.15, 0.15);
            pixels.push(((paper + (ink - paper) * cover + grain).clamp(0.0, 1.0) * 255.0) as u8);
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode(&pixels, SIDE_PX, SIDE_PX, image::ExtendedColorType::L8)
        .expect("a picture of fixed size in memory is encoded into memory");
    jpeg
}

/// Returns the distance from a point to a line segment.
fn distance(at: [f32; 2], from: [f32; 2], to: [f32; 2]) -> f32 {
    let (along, away) = ([to[0] - from[0], to[1] - from[1]], [at[0] - from[0], at[1] - from[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let share = if length > 0.0 { ((away[0] * along[0] + away[1] * along[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    (away[0] - share * along[0]).hypot(away[1] - share * along[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digit_depends_only_on_its_number_and_is_bright_on_dark() {
        for index in 0..20 {
            assert_eq!(draw(index), draw(index));
            let image = image::load_from_memory(&draw(index)).unwrap();
            assert_eq!((image.width(), image.height(), image.color()), (SIDE_PX, SIDE_PX, image::ColorType::L8));
            let pixels = image.into_luma8().into_raw();
            let bright = pixels.iter().filter(|pixel| **pixel > 110).count();
            assert!((15..600).contains(&bright), "image {index} has {bright} bright pixels");
        }
        assert_ne!(draw(3), draw(13), "two images of one digit differ");
    }
}
