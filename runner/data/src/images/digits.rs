//! Generator of digit images: small greyscale JPEG files with randomly distorted digits, as a
//! learnable data set.

use image::codecs::jpeg::JpegEncoder;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

/// Number of classes; image i belongs to class i modulo this.
pub const CLASSES: u64 = 10;

const SIDE_PX: u32 = 32;
const QUALITY: u8 = 90;

/// Strokes of the digits in a unit square, with the origin at the top left: points as `x,y`.
const STROKES: [&str; CLASSES as usize] = [
    ".5,.08 .27,.2 .2,.5 .27,.8 .5,.92 .73,.8 .8,.5 .73,.2 .5,.08",
    ".35,.25 .55,.08 .55,.92",
    ".22,.28 .3,.13 .5,.08 .7,.15 .77,.32 .68,.5 .4,.72 .2,.92 .8,.92",
    ".22,.15 .5,.08 .74,.18 .74,.36 .5,.47 .76,.6 .78,.78 .52,.93 .2,.84",
    ".62,.92 .62,.08 .18,.65 .84,.65",
    ".76,.08 .3,.08 .26,.46 .5,.4 .76,.52 .78,.75 .55,.93 .22,.85",
    ".7,.1 .4,.25 .23,.55 .25,.8 .5,.93 .74,.82 .75,.62 .52,.5 .28,.6",
    ".2,.08 .8,.08 .45,.92",
    ".5,.48 .28,.36 .28,.17 .5,.08 .72,.17 .72,.36 .5,.48 .24,.63 .24,.82 .5,.93 .76,.82 .76,.63 .5,.48",
    ".74,.4 .5,.5 .27,.38 .26,.18 .5,.07 .73,.18 .75,.42 .68,.72 .45,.93",
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
        .split(' ')
        .map(|point| {
            let [x, y] = coordinates(point);
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

fn coordinates(point: &str) -> [f32; 2] {
    let (x, y) = point.split_once(',').expect("a point of a stroke has two coordinates");
    [x, y].map(|number| number.parse().expect("a coordinate is a number"))
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
