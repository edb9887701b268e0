//! From the bytes of a file to the numbers that a CNN takes: decode, resize, normalise.

use std::io::Cursor;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::ImageReader;

use crate::cnn::Colour;

/// Largest side and most memory of a decoded image. A small file can claim to be 30,000 px wide.
const LARGEST_SIDE_PX: u32 = 16_384;
const LARGEST_IMAGE_BYTES: u64 = 512 << 20;

/// Mean and standard deviation of ImageNet's channels (torchvision's) and of MNIST's.
const IMAGENET: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];
const MNIST: [(f32, f32); 1] = [(0.1307, 0.3081)];

/// Why an image cannot be used, as the end of a sentence.
#[derive(Debug)]
pub struct ImageError(pub String);

/// Decodes images of one job; keeps its buffers between them.
pub struct Decoder {
    colour: Colour,
    px: u32,
    resizer: Resizer,
    resized: Image<'static>,
}

impl Decoder {
    /// For square images of that side.
    pub fn new(colour: Colour, px: u32) -> Self {
        let pixel = match colour {
            Colour::Grey => PixelType::U8,
            Colour::Rgb => PixelType::U8x3,
        };
        Self { colour, px, resizer: Resizer::new(), resized: Image::new(px, px, pixel) }
    }

    /// Numbers of one decoded image.
    pub fn numbers(&self) -> usize {
        self.colour.channels() * (self.px as usize).pow(2)
    }

    /// Decodes a JPEG or PNG file, crops it to its middle square, resizes it, and appends it normalised, channel by
    /// channel.
    ///
    /// # Errors
    /// The bytes are no image, or one that is too large.
    pub fn decode(&mut self, bytes: &[u8], numbers: &mut Vec<f32>) -> Result<(), ImageError> {
        if is_cut_short(bytes) {
            return Err(ImageError("the JPEG file is cut short: its end is missing".into()));
        }
        let failed = |error: &dyn std::fmt::Display| ImageError(error.to_string());
        let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| failed(&error))?;
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(LARGEST_SIDE_PX);
        limits.max_image_height = Some(LARGEST_SIDE_PX);
        limits.max_alloc = Some(LARGEST_IMAGE_BYTES);
        reader.limits(limits);
        let decoded = reader.decode().map_err(|error| failed(&error))?;
        let (width, height) = (decoded.width(), decoded.height());
        let (pixels, pixel) = match self.colour {
            Colour::Grey => (decoded.into_luma8().into_raw(), PixelType::U8),
            Colour::Rgb => (decoded.into_rgb8().into_raw(), PixelType::U8x3),
        };
        let source = ImageRef::new(width, height, &pixels, pixel).map_err(|error| failed(&error))?;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .fit_into_destination(Some((0.5, 0.5)));
        self.resizer.resize(&source, &mut self.resized, &options).map_err(|error| failed(&error))?;
        self.normalise(numbers);
        Ok(())
    }

    fn normalise(&self, numbers: &mut Vec<f32>) {
        let statistics: &[(f32, f32)] = match self.colour {
            Colour::Grey => &MNIST,
            Colour::Rgb => &IMAGENET,
        };
        let channels = statistics.len();
        for (channel, (mean, deviation)) in statistics.iter().enumerate() {
            let (scale, shift) = (1.0 / (255.0 * deviation), mean / deviation);
            let values = self.resized.buffer().iter().skip(channel).step_by(channels);
            numbers.extend(values.map(|value| f32::from(*value) * scale - shift));
        }
    }
}

/// Whether a JPEG file lacks its end-of-image marker: the decoder would fill the rest with grey. The marker of a thumbnail
/// stands in the first half, and some cameras write more behind their own.
fn is_cut_short(bytes: &[u8]) -> bool {
    let is_jpeg = bytes.starts_with(&[0xFF, 0xD8]);
    is_jpeg && !bytes[bytes.len() / 2..].windows(2).any(|marker| marker == [0xFF, 0xD9])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
        let image = image::RgbImage::from_fn(width, height, |x, y| image::Rgb(colour(x, y)));
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
        bytes
    }

    #[test]
    fn an_image_becomes_normalised_channels_one_after_the_other() {
        let mut numbers = Vec::new();
        let mut decoder = Decoder::new(Colour::Rgb, 4);
        decoder.decode(&png(10, 10, |_, _| [255, 0, 124]), &mut numbers).unwrap();
        assert_eq!(numbers.len(), decoder.numbers());
        let expected = [(1.0 - 0.485) / 0.229, -0.456 / 0.224, (124.0 / 255.0 - 0.406) / 0.225];
        for (channel, expected) in expected.into_iter().enumerate() {
            for value in &numbers[channel * 16..(channel + 1) * 16] {
                assert!((value - expected).abs() < 1e-5, "{value} is not {expected}");
            }
        }
    }

    #[test]
    fn a_wide_image_is_cropped_to_its_middle() {
        let mut numbers = Vec::new();
        // White between two black bars: only the middle square is left.
        let bytes = png(30, 10, |x, _| if (10..20).contains(&x) { [255; 3] } else { [0; 3] });
        Decoder::new(Colour::Grey, 8).decode(&bytes, &mut numbers).unwrap();
        // The filter reaches beyond the edge of the crop, so that the outer columns are a little darker.
        let white = (1.0 - 0.1307) / 0.3081;
        assert!(numbers.iter().all(|value| (value - white).abs() < 0.3), "{numbers:?}");
    }

    #[test]
    fn what_is_no_image_and_what_is_too_large_are_refused() {
        let mut decoder = Decoder::new(Colour::Rgb, 4);
        let mut numbers = Vec::new();
        assert!(decoder.decode(b"not an image", &mut numbers).is_err());
        let whole = png(10, 10, |x, y| [x as u8, y as u8, 0]);
        assert!(decoder.decode(&whole[..whole.len() / 2], &mut numbers).is_err());
        assert!(decoder.decode(&png(20_000, 1, |_, _| [0; 3]), &mut numbers).is_err());
        let mut jpeg = Vec::new();
        image::load_from_memory(&whole)
            .unwrap()
            .write_to(&mut Cursor::new(&mut jpeg), image::ImageFormat::Jpeg)
            .unwrap();
        let error = decoder.decode(&jpeg[..jpeg.len() - 10], &mut numbers).unwrap_err();
        assert!(error.0.contains("cut short"), "{error:?}");
        assert!(numbers.is_empty());
        jpeg.extend(b"what a camera adds");
        assert!(decoder.decode(&jpeg, &mut numbers).is_ok());
    }
}
