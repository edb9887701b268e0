//! Resizes an image, or the part of it inside the crop.

use fast_image_resize::images::{Image as Canvas, TypedImageRef};
use fast_image_resize::pixels::{InnerPixel, U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, PixelType, ResizeAlg, ResizeOptions, Resizer};
use foreglow_architectures::Colour;
use foreglow_shared::{Fit, Interpolation, Resizing};

/// Returns the type of the pixels of a colour.
pub fn pixel_type(colour: Colour) -> PixelType {
    match colour {
        Colour::Grey => PixelType::U8,
        Colour::Rgb => PixelType::U8x3,
    }
}

/// Resizes interleaved pixels with their width and height to the size of `resized`, whose pixels
/// have the type of the colour.
///
/// # Errors
/// There are fewer bytes than pixels, or the crop is outside the image.
pub fn resize(
    resizer: &mut Resizer,
    colour: Colour,
    source: (&[u8], [u32; 2]),
    resized: &mut Canvas<'_>,
    options: &ResizeOptions,
) -> Result<(), String> {
    match colour {
        Colour::Grey => resize_typed::<U8>(resizer, source, resized, options),
        Colour::Rgb => resize_typed::<U8x3>(resizer, source, resized, options),
    }
}

/// Typed, because [`Resizer::resize`] would be compiled for all 15 pixel types.
fn resize_typed<P: PixelTrait + InnerPixel>(
    resizer: &mut Resizer,
    (pixels, [width, height]): (&[u8], [u32; 2]),
    resized: &mut Canvas<'_>,
    options: &ResizeOptions,
) -> Result<(), String> {
    let source = TypedImageRef::<P>::from_buffer(width, height, pixels).map_err(|error| error.to_string())?;
    let mut resized = resized.typed_image_mut().expect("its pixels have the type of the colour");
    resizer.resize_typed(&source, &mut resized, options).map_err(|error| error.to_string())
}

/// Returns the options for resizing an image of this width and height to a square of `px`. Resizing
/// the visible part of the image equals cropping the resized image.
pub fn options(Resizing { fit, resize_px, interpolation }: Resizing, size: [u32; 2], px: u32) -> ResizeOptions {
    let options = ResizeOptions::new().resize_alg(match interpolation {
        Interpolation::Nearest => ResizeAlg::Nearest,
        Interpolation::Bilinear => ResizeAlg::Convolution(FilterType::Bilinear),
        // The same filter as Pillow's.
        Interpolation::Bicubic => ResizeAlg::Convolution(FilterType::CatmullRom),
        Interpolation::Lanczos => ResizeAlg::Convolution(FilterType::Lanczos3),
    });
    let Some(side) = resize_px else {
        return match fit {
            Fit::Crop => options.fit_into_destination(Some((0.5, 0.5))),
            Fit::Stretch => options,
        };
    };
    let [(left, width), (top, height)] = size.map(|length| {
        let (side, shorter) = (u64::from(side.max(px)), u64::from(size[0].min(size[1])));
        let resized = match fit {
            Fit::Crop => side * u64::from(length) / shorter,
            Fit::Stretch => side,
        };
        shown(length, resized, px)
    });
    options.crop(left, top, width, height)
}

/// Returns the start and the length of the part of a side that is visible in the centre crop of the
/// resized image. The crop starts at a whole pixel; a half is rounded to even, as in torchvision.
fn shown(length: u32, resized: u64, px: u32) -> (f64, f64) {
    // Exact: lengths are far below 2⁵³.
    let (scale, margin) = (f64::from(length) / resized as f64, resized.saturating_sub(u64::from(px)));
    let start = (margin as f64 / 2.0).round_ties_even() * scale;
    (start, (f64::from(px) * scale).min(f64::from(length) - start))
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelOrder, Decoder, Normalisation};
    use super::*;
    use crate::set::{Item, Layout};

    /// The numbers are Pillow's, version 13.0, of an image `im` with these pixels:
    /// `r = im.resize((20, 13), Image.BILINEAR)`, or BICUBIC, or to 13 × 13 pixels; then the crop
    /// of 8 pixels at `int(round((r.width - 8) / 2.0))`, as in torchvision's `CenterCrop`.
    #[test]
    fn the_centre_of_a_resized_image_has_pillows_pixels() {
        let bytes = (0..31 * 20).map(|i| (i % 31, i / 31)).map(|(x, y)| ((x * 37 + y * 59 + x * y * 3) % 256) as u8);
        let image = Item { bytes: bytes.collect(), layout: Layout::Grey { width: 31, height: 20 }, label: None };
        let of = |fit, interpolation| {
            let mut bytes = Vec::new();
            let normalisation = Normalisation::usual(Colour::Grey, ChannelOrder::Rgb);
            let resizing = Resizing { fit, resize_px: Some(13), interpolation };
            let mut decoder = Decoder::with(Colour::Grey, 8, &normalisation, resizing);
            decoder.decode_bytes(&image, &mut bytes).unwrap();
            bytes
        };
        for (fit, interpolation, pillow) in [
            (
                Fit::Crop,
                Interpolation::Bilinear,
                [
                    138, 121, 96, 114, 162, 147, 115, 149, 146, 107, 152, 165, 136, 127, 93, 131, 148, 139, 130, 123,
                    111, 93, 143, 136, 152, 119, 157, 114, 120, 137, 125, 132, 159, 123, 115, 167, 104, 108, 113, 111,
                    157, 142, 112, 125, 146, 115, 116, 89, 163, 143, 139, 108, 109, 114, 131, 151, 99, 165, 142, 148,
                    121, 132, 108, 138,
                ],
            ),
            (
                Fit::Crop,
                Interpolation::Bicubic,
                [
                    137, 120, 89, 107, 169, 152, 114, 150, 149, 96, 159, 175, 137, 126, 83, 135, 148, 145, 131, 117,
                    108, 88, 148, 135, 154, 108, 165, 105, 116, 146, 125, 129, 164, 120, 108, 180, 102, 105, 109, 110,
                    158, 143, 109, 123, 152, 118, 113, 83, 171, 140, 142, 99, 105, 112, 136, 154, 90, 178, 145, 155,
                    125, 134, 100, 140,
                ],
            ),
            (
                Fit::Stretch,
                Interpolation::Bilinear,
                [
                    147, 120, 129, 101, 139, 144, 131, 129, 119, 149, 125, 149, 144, 123, 111, 127, 157, 119, 143, 132,
                    112, 110, 136, 120, 109, 147, 134, 143, 116, 133, 126, 113, 131, 110, 143, 123, 135, 108, 109, 113,
                    139, 138, 147, 123, 131, 125, 99, 112, 122, 100, 154, 135, 104, 118, 142, 111, 108, 98, 130, 148,
                    138, 121, 124, 102,
                ],
            ),
        ] {
            // Pillow filters the rows first, the resizer the columns; the intermediate bytes are
            // rounded differently.
            let ours = of(fit, interpolation);
            let worst = ours.iter().zip(pillow).map(|(ours, pillow)| ours.abs_diff(pillow)).max();
            assert!(worst <= Some(1), "{fit} {interpolation}: {ours:?}");
        }
    }

    #[test]
    fn the_centre_starts_at_the_whole_pixel_of_torchvision() {
        // 500 × 375 px become 341 × 256, and 224 px of 341 start at 58 (of 58.5).
        assert_eq!(shown(500, 341, 224), (58.0 * (500.0 / 341.0), 224.0 * (500.0 / 341.0)));
        assert_eq!(shown(375, 256, 224), (16.0 * (375.0 / 256.0), 224.0 * (375.0 / 256.0)));
    }

    #[test]
    fn the_part_that_is_shown_is_inside_of_the_image() {
        for (length, resized) in (1..200).flat_map(|length| (32..90).map(move |resized| (length, resized))) {
            let (start, width) = shown(length, resized, 32);
            assert!(start >= 0.0 && width > 0.0 && start + width <= f64::from(length), "{length} {resized}");
        }
    }
}
