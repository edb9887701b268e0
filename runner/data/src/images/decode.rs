//! Decodes, resizes and normalises a stored image for a CNN.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fast_image_resize::Resizer;
use fast_image_resize::images::Image as Canvas;
use foreglow_architectures::Colour;
use image::{DynamicImage, ImageDecoder, ImageReader};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use foreglow_shared::Resizing;

use super::normalisation::{ChannelOrder, Normalisation, Scale};
use super::resize::{options, pixel_type, resize};
use crate::set::{Item, ItemError, Layout};

/// Limits on the side and the memory of a decoded image. A small file can claim to be 30,000 px
/// wide.
pub const LARGEST_SIDE_PX: u32 = 16_384;
const LARGEST_IMAGE_BYTES: u64 = 512 << 20;

/// Decodes the images of one job and reuses its buffers.
pub struct Decoder {
    colour: Colour,
    px: u32,
    scales: Vec<Scale>,
    order: ChannelOrder,
    resizing: Resizing,
    resizer: Resizer,
    /// The image at its original size, interleaved.
    pixels: Vec<u8>,
    resized: Canvas<'static>,
}

/// Size and channels of the image in [`Decoder::pixels`].
struct Decoded {
    width: u32,
    height: u32,
    colour: Colour,
}

impl Decoder {
    /// Creates a decoder for square images with this side, with the default preprocessing.
    pub fn new(colour: Colour, px: u32) -> Self {
        let normalisation = Normalisation::usual(colour, ChannelOrder::default());
        Self::with(colour, px, &normalisation, Resizing::default())
    }

    /// Creates a decoder for square images with this side. The normalisation has the channels of
    /// the colour.
    pub fn with(colour: Colour, px: u32, normalisation: &Normalisation, resizing: Resizing) -> Self {
        let (scales, order) = (normalisation.scales(), normalisation.channel_order);
        let resized = Canvas::new(px, px, pixel_type(colour));
        Self { colour, px, scales, order, resizing, resizer: Resizer::new(), pixels: Vec::new(), resized }
    }

    /// Returns the numbers per decoded image.
    pub fn numbers(&self) -> usize {
        self.colour.channels() * (self.px as usize).pow(2)
    }

    /// Decodes, crops and resizes an image, and appends it normalised in planar order.
    ///
    /// # Errors
    /// The bytes are not an image, or the image is too large.
    pub fn decode(&mut self, image: &Item, numbers: &mut Vec<f32>) -> Result<(), ItemError> {
        self.resize(image)?;
        self.normalise(numbers);
        Ok(())
    }

    /// Decodes without normalising: appends one byte per value. The device applies the [`Scale`]s
    /// of the normalisation.
    ///
    /// # Errors
    /// As for [`Self::decode`].
    pub fn decode_bytes(&mut self, image: &Item, bytes: &mut Vec<u8>) -> Result<(), ItemError> {
        self.resize(image)?;
        let pixels = self.resized.buffer();
        match self.colour {
            Colour::Grey => bytes.extend(pixels),
            Colour::Rgb => {
                let pixels = pixels.as_chunks::<3>().0;
                let order = if self.order == ChannelOrder::Rgb { [0, 1, 2] } else { [2, 1, 0] };
                order.into_iter().for_each(|channel| bytes.extend(pixels.iter().map(|pixel| pixel[channel])));
            }
        }
        Ok(())
    }

    /// Decodes, crops and resizes an image.
    fn resize(&mut self, image: &Item) -> Result<(), ItemError> {
        let decoded = match image.layout {
            Layout::File => guarded(|| match image.bytes.starts_with(&JPEG) {
                true => self.jpeg(&image.bytes),
                false => self.other_file(&image.bytes),
            })?,
            Layout::Grey { width, height } => self.raw(&image.bytes, width, height, Colour::Grey)?,
            Layout::Planes { width, height } => self.raw(&image.bytes, width, height, Colour::Rgb)?,
            Layout::Text => return Err(is_text()),
        };
        self.convert(decoded.colour);
        let size = [decoded.width, decoded.height];
        let options = options(self.resizing, size, self.px);
        let source = (self.pixels.as_slice(), size);
        resize(&mut self.resizer, self.colour, source, &mut self.resized, &options).map_err(not_decoded)
    }

    /// Uses zune-jpeg directly instead of the image crate: it decodes into an existing buffer, and
    /// directly to greyscale.
    fn jpeg(&mut self, bytes: &[u8]) -> Result<Decoded, ItemError> {
        let (mut decoder, width, height) = open_jpeg(bytes)?;
        let colour = match (decoder.input_colorspace(), self.colour) {
            (Some(ColorSpace::Luma), _) | (Some(ColorSpace::YCbCr), Colour::Grey) => Colour::Grey,
            _ => Colour::Rgb,
        };
        let wanted = if colour == Colour::Grey { ColorSpace::Luma } else { ColorSpace::RGB };
        decoder.set_options(jpeg_options().jpeg_set_out_colorspace(wanted));
        let size = width as usize * height as usize * colour.channels();
        if decoder.output_buffer_size() != Some(size) {
            return Err(ItemError("the JPEG file has colours that cannot be converted".into()));
        }
        // The decoder leaves out the pixels after some kinds of damage, so that those of the image
        // before would stay.
        self.pixels.clear();
        self.pixels.resize(size, 0);
        decoder.decode_into(&mut self.pixels).map_err(not_decoded)?;
        Ok(Decoded { width, height, colour })
    }

    fn other_file(&mut self, bytes: &[u8]) -> Result<Decoded, ItemError> {
        let mut decoder = open_other(bytes)?;
        let (width, height) = decoder.dimensions();
        let mut limits = image::Limits::default();
        limits.max_alloc = Some(LARGEST_IMAGE_BYTES);
        decoder.set_limits(limits).map_err(not_decoded)?;
        let image = DynamicImage::from_decoder(decoder).map_err(not_decoded)?;
        let colour = if image.color().has_color() { Colour::Rgb } else { Colour::Grey };
        self.pixels = match colour {
            Colour::Grey => image.into_luma8().into_raw(),
            Colour::Rgb => image.into_rgb8().into_raw(),
        };
        Ok(Decoded { width, height, colour })
    }

    fn raw(&mut self, bytes: &[u8], width: u32, height: u32, colour: Colour) -> Result<Decoded, ItemError> {
        check_size(width, height)?;
        let plane = width as usize * height as usize;
        if bytes.len() != plane * colour.channels() {
            return Err(ItemError(format!("it has {} bytes and not those of {width} × {height} px", bytes.len())));
        }
        self.pixels.clear();
        match colour {
            Colour::Grey => self.pixels.extend(bytes),
            Colour::Rgb => self.pixels = interleaved(bytes),
        }
        Ok(Decoded { width, height, colour })
    }

    /// Converts the pixels to the channels of the CNN. Greyscale is the luma of ITU-R BT.601 in
    /// Pillow's integer arithmetic, which is also the first channel of a JPEG file.
    fn convert(&mut self, from: Colour) {
        match (from, self.colour) {
            (Colour::Rgb, Colour::Grey) => {
                let luma = |&[red, green, blue]: &[u8; 3]| {
                    let [red, green, blue] = [red, green, blue].map(u32::from);
                    ((red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16) as u8
                };
                self.pixels = self.pixels.as_chunks::<3>().0.iter().map(luma).collect();
            }
            (Colour::Grey, Colour::Rgb) => self.pixels = self.pixels.iter().flat_map(|grey| [*grey; 3]).collect(),
            (Colour::Grey, Colour::Grey) | (Colour::Rgb, Colour::Rgb) => {}
        }
    }

    fn normalise(&self, numbers: &mut Vec<f32>) {
        let start = numbers.len();
        numbers.resize(start + self.numbers(), 0.0);
        let planes = &mut numbers[start..];
        let pixels = self.resized.buffer();
        match (self.scales.as_slice(), self.order) {
            ([scale], _) => {
                for (number, value) in planes.iter_mut().zip(pixels) {
                    *number = scale.apply(*value);
                }
            }
            ([a, b, c], ChannelOrder::Rgb) => normalise::<0, 2>(pixels, planes, [*a, *b, *c]),
            ([a, b, c], ChannelOrder::Bgr) => normalise::<2, 0>(pixels, planes, [*a, *b, *c]),
            _ => unreachable!("a normalisation has one or three channels"),
        }
    }
}

/// Splits colour pixels into three planes, of which the first and the last have these channels.
fn normalise<const FIRST: usize, const LAST: usize>(pixels: &[u8], planes: &mut [f32], scales: [Scale; 3]) {
    let (firsts, rest) = planes.split_at_mut(planes.len() / 3);
    let (middles, lasts) = rest.split_at_mut(rest.len() / 2);
    for (((pixel, first), middle), last) in pixels.as_chunks::<3>().0.iter().zip(firsts).zip(middles).zip(lasts) {
        *first = scales[0].apply(pixel[FIRST]);
        *middle = scales[1].apply(pixel[1]);
        *last = scales[2].apply(pixel[LAST]);
    }
}

/// Converts planar to interleaved RGB.
pub fn interleaved(planes: &[u8]) -> Vec<u8> {
    let (red, rest) = planes.split_at(planes.len() / 3);
    let (green, blue) = rest.split_at(rest.len() / 2);
    red.iter().zip(green).zip(blue).flat_map(|((red, green), blue)| [*red, *green, *blue]).collect()
}

/// Returns the width and height of a stored image from its header, without decoding it.
///
/// # Errors
/// The bytes are not an image, truncated, or the image is too large.
pub fn size(image: &Item) -> Result<(u32, u32), ItemError> {
    match image.layout {
        Layout::File => guarded(|| match image.bytes.starts_with(&JPEG) {
            true => open_jpeg(&image.bytes).map(|(_, width, height)| (width, height)),
            false => open_other(&image.bytes).map(|decoder| decoder.dimensions()),
        }),
        Layout::Grey { width, height } | Layout::Planes { width, height } => {
            check_size(width, height).map(|()| (width, height))
        }
        Layout::Text => Err(is_text()),
    }
}

/// Returns the error for a text where an image is expected.
pub fn is_text() -> ItemError {
    ItemError("it is a text, not an image".into())
}

/// Runs a library's decoder, which may panic on a damaged file.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ItemError>) -> Result<T, ItemError> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(ItemError("it cannot be decoded: the file is damaged".into())))
}

type Jpeg<'a> = JpegDecoder<ZCursor<&'a [u8]>>;

fn open_jpeg(bytes: &[u8]) -> Result<(Jpeg<'_>, u32, u32), ItemError> {
    if is_cut_short(bytes) {
        return Err(ItemError("the JPEG file is cut short: its end is missing".into()));
    }
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), jpeg_options());
    decoder.decode_headers().map_err(not_decoded)?;
    let info = decoder.info().ok_or_else(|| ItemError("the JPEG file has no header".into()))?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    check_size(width, height)?;
    Ok((decoder, width, height))
}

/// Disables the decoder's own size limit; [`check_size`] has a clearer message.
fn jpeg_options() -> DecoderOptions {
    let any = usize::from(u16::MAX);
    DecoderOptions::default().set_max_width(any).set_max_height(any)
}

fn open_other(bytes: &[u8]) -> Result<impl ImageDecoder, ItemError> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(not_decoded)?;
    let decoder = reader.into_decoder().map_err(not_decoded)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height)?;
    Ok(decoder)
}

fn not_decoded(error: impl std::fmt::Display) -> ItemError {
    ItemError(format!("it cannot be decoded: {error}"))
}

/// Rejects an image that is too large before its pixels are allocated.
fn check_size(width: u32, height: u32) -> Result<(), ItemError> {
    let bytes = u64::from(width) * u64::from(height) * 3;
    if width == 0 || height == 0 {
        return Err(ItemError(format!("it has {width} × {height} px")));
    }
    if width.max(height) > LARGEST_SIDE_PX || bytes > LARGEST_IMAGE_BYTES {
        return Err(ItemError(format!(
            "it has {width} × {height} px; at most {LARGEST_SIDE_PX} px per side and {} MiB are supported",
            LARGEST_IMAGE_BYTES >> 20
        )));
    }
    Ok(())
}

/// Start-of-image marker of a JPEG file.
const JPEG: [u8; 2] = [0xFF, 0xD8];

/// Returns whether a JPEG file lacks its end-of-image marker, in which case the decoder would fill
/// the rest with grey. The marker of an embedded thumbnail is in the first half, and some cameras
/// append data after their own marker.
fn is_cut_short(bytes: &[u8]) -> bool {
    !bytes[bytes.len() / 2..].windows(2).any(|marker| marker == [0xFF, 0xD9])
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Fit, Interpolation};
    use proptest::prelude::*;

    use super::super::PixelRange;
    use super::*;

    fn file(bytes: Vec<u8>) -> Item {
        Item { bytes, layout: Layout::File, label: None }
    }

    fn encoded(width: u32, height: u32, format: image::ImageFormat, colour: impl Fn(u32, u32) -> [u8; 3]) -> Item {
        let image = image::RgbImage::from_fn(width, height, |x, y| image::Rgb(colour(x, y)));
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        file(bytes)
    }

    fn png(width: u32, height: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Item {
        encoded(width, height, image::ImageFormat::Png, colour)
    }

    fn jpeg(width: u32, height: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Item {
        encoded(width, height, image::ImageFormat::Jpeg, colour)
    }

    fn numbers(colour: Colour, px: u32, image: &Item) -> Result<Vec<f32>, String> {
        let mut numbers = Vec::new();
        Decoder::new(colour, px).decode(image, &mut numbers).map_err(|error| error.0)?;
        Ok(numbers)
    }

    #[test]
    fn a_file_on_which_the_library_panics_is_a_broken_image() {
        let damaged = file(include_bytes!("damaged.jpeg").to_vec());
        assert!(numbers(Colour::Grey, 8, &damaged).unwrap_err().ends_with("the file is damaged"));
    }

    #[test]
    fn an_image_becomes_normalised_planes() {
        let numbers = numbers(Colour::Rgb, 4, &png(10, 10, |_, _| [255, 0, 124])).unwrap();
        assert_eq!(numbers.len(), Decoder::new(Colour::Rgb, 4).numbers());
        let expected = [(1.0 - 0.485) / 0.229, -0.456 / 0.224, (124.0 / 255.0 - 0.406) / 0.225];
        for (channel, expected) in expected.into_iter().enumerate() {
            for value in &numbers[channel * 16..(channel + 1) * 16] {
                assert!((value - expected).abs() < 1e-5, "{value} is not {expected}");
            }
        }
    }

    #[test]
    fn channels_in_the_order_blue_green_red_have_their_means() {
        let image = png(6, 6, |_, _| [255, 51, 0]);
        let normalisation = Normalisation {
            mean: vec![1.0, 2.0, 3.0],
            std: vec![1.0, 2.0, 4.0],
            pixel_range: PixelRange::Bytes,
            channel_order: ChannelOrder::Bgr,
        };
        let mut decoder = Decoder::with(Colour::Rgb, 2, &normalisation, Resizing::default());
        let (mut numbers, mut bytes) = (Vec::new(), Vec::new());
        decoder.decode(&image, &mut numbers).unwrap();
        decoder.decode_bytes(&image, &mut bytes).unwrap();
        let planes = |values: [f32; 3]| values.iter().flat_map(|value| [*value; 4]).collect::<Vec<_>>();
        assert_eq!(numbers, planes([-1.0, 24.5, 63.0]));
        assert_eq!(bytes, planes([0.0, 51.0, 255.0]).iter().map(|value| *value as u8).collect::<Vec<_>>());
    }

    #[test]
    fn a_wide_image_is_cropped_or_stretched_by_the_interpolation() {
        // Black, with a white square in the middle.
        let image = png(48, 16, |x, _| [if (16..32).contains(&x) { 255 } else { 0 }; 3]);
        let of = |fit, interpolation| {
            let mut bytes = Vec::new();
            let normalisation = Normalisation::usual(Colour::Grey, ChannelOrder::Rgb);
            let resizing = Resizing { fit, resize_px: None, interpolation };
            let mut decoder = Decoder::with(Colour::Grey, 6, &normalisation, resizing);
            decoder.decode_bytes(&image, &mut bytes).unwrap();
            bytes[..6].to_vec()
        };
        for interpolation in Interpolation::ALL {
            // Filters reach over the edge of the centre.
            assert!(of(Fit::Crop, interpolation).iter().all(|value| *value > 180), "{interpolation}");
        }
        assert_eq!(of(Fit::Stretch, Interpolation::Nearest), [0, 0, 255, 255, 0, 0]);
        let [bilinear, bicubic] =
            [Interpolation::Bilinear, Interpolation::Bicubic].map(|interpolation| of(Fit::Stretch, interpolation));
        assert!(bilinear[1] > 0 && bilinear[1] < 128 && bilinear != bicubic, "{bilinear:?} {bicubic:?}");
    }

    #[test]
    fn bytes_become_the_same_numbers_by_the_scales_of_their_channels() {
        for colour in [Colour::Grey, Colour::Rgb] {
            let image = png(9, 9, |x, y| [(x * 28) as u8, (y * 28) as u8, (x * y) as u8]);
            let mut bytes = vec![7];
            Decoder::new(colour, 5).decode_bytes(&image, &mut bytes).unwrap();
            let scales = Normalisation::usual(colour, ChannelOrder::Rgb).scales();
            let numbers = numbers(colour, 5, &image).unwrap();
            assert_eq!((bytes.len(), scales.len()), (1 + numbers.len(), colour.channels()));
            for (place, (byte, number)) in bytes[1..].iter().zip(&numbers).enumerate() {
                assert_eq!(scales[place / 25].apply(*byte), *number, "{colour:?}, value {place}");
            }
        }
    }

    #[test]
    fn a_wide_image_is_cropped_to_its_centre() {
        // White between two black bars: the centre crop is white.
        let image = png(30, 10, |x, _| if (10..20).contains(&x) { [255; 3] } else { [0; 3] });
        let numbers = numbers(Colour::Grey, 8, &image).unwrap();
        // The filter reaches beyond the crop, so that the outer columns are slightly darker.
        let white = (1.0 - 0.1307) / 0.3081;
        assert!(numbers.iter().all(|value| (value - white).abs() < 0.3), "{numbers:?}");
    }

    #[test]
    fn raw_planes_decode_like_a_file() {
        let colour = |x: u32, y: u32| [x as u8 * 20, y as u8 * 25, (x * y) as u8];
        let mut bytes = Vec::new();
        for channel in 0..3 {
            bytes.extend((0..100).map(|place| colour(place % 10, place / 10)[channel]));
        }
        let raw = Item { bytes, layout: Layout::Planes { width: 10, height: 10 }, label: None };
        for wanted in [Colour::Rgb, Colour::Grey] {
            let of_file = numbers(wanted, 7, &png(10, 10, colour)).unwrap();
            assert_eq!(numbers(wanted, 7, &raw).unwrap(), of_file, "{wanted:?}");
        }
    }

    #[test]
    fn greyscale_bytes_decode_for_a_colour_cnn() {
        let bytes: Vec<u8> = (0..100).map(|place| place as u8 * 2).collect();
        let raw = Item { bytes, layout: Layout::Grey { width: 10, height: 10 }, label: None };
        let of_file = png(10, 10, |x, y| [(x + 10 * y) as u8 * 2; 3]);
        for wanted in [Colour::Rgb, Colour::Grey] {
            assert_eq!(numbers(wanted, 6, &raw).unwrap(), numbers(wanted, 6, &of_file).unwrap(), "{wanted:?}");
        }
    }

    #[test]
    fn a_jpeg_file_decodes_close_to_its_pixels() {
        let colour = |x: u32, y: u32| [x as u8 * 3, y as u8 * 3, 90];
        for wanted in [Colour::Rgb, Colour::Grey] {
            let exact = numbers(wanted, 32, &png(64, 64, colour)).unwrap();
            let lossy = numbers(wanted, 32, &jpeg(64, 64, colour)).unwrap();
            let worst = exact.iter().zip(&lossy).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 0.25, "{wanted:?}: {worst}");
        }
    }

    #[test]
    fn invalid_and_truncated_images_are_rejected() {
        assert!(numbers(Colour::Rgb, 4, &file(b"not an image".into())).is_err());
        let whole = png(10, 10, |x, y| [x as u8, y as u8, 0]).bytes;
        assert!(numbers(Colour::Rgb, 4, &file(whole[..whole.len() / 2].into())).is_err());
        let mut jpeg = jpeg(10, 10, |x, y| [x as u8, y as u8, 0]).bytes;
        let error = numbers(Colour::Rgb, 4, &file(jpeg[..jpeg.len() - 10].into())).unwrap_err();
        assert!(error.contains("cut short"), "{error}");
        jpeg.extend(b"what a camera adds");
        assert!(numbers(Colour::Rgb, 4, &file(jpeg)).is_ok());
        let raw = Item { bytes: vec![0; 99], layout: Layout::Grey { width: 10, height: 10 }, label: None };
        assert!(numbers(Colour::Rgb, 4, &raw).unwrap_err().contains("has 99 bytes"));
    }

    #[test]
    fn a_damaged_image_has_no_pixels_of_the_image_before() {
        // The library accepts the file in colour, and decodes no pixel of it.
        let damaged = file(include_bytes!("partial.jpeg").to_vec());
        let mut decoder = Decoder::new(Colour::Rgb, 4);
        let mut after = Vec::new();
        decoder.decode(&jpeg(16, 16, |_, _| [100; 3]), &mut after).unwrap();
        after.clear();
        decoder.decode(&damaged, &mut after).unwrap();
        assert_eq!(after, numbers(Colour::Rgb, 4, &damaged).unwrap());
    }

    /// The header holds the size and the pixels are missing: allocating before checking would fail
    /// as well, but with another message.
    #[test]
    fn a_huge_image_is_rejected_by_its_header() {
        let mut header = jpeg(16, 16, |_, _| [0; 3]).bytes;
        let frame = header.windows(2).position(|marker| marker == [0xFF, 0xC0]).unwrap();
        header[frame + 5..frame + 9].copy_from_slice(&[0x75, 0x30, 0x75, 0x30]);
        let error = numbers(Colour::Rgb, 4, &file(header)).unwrap_err();
        assert!(error.contains("it has 30000 × 30000 px; at most 16384"), "{error}");
        let error = numbers(Colour::Rgb, 4, &png(20_000, 1, |_, _| [0; 3])).unwrap_err();
        assert!(error.contains("it has 20000 × 1 px"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_damaged_file_does_not_panic(is_jpeg: bool, place: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let colour = |x: u32, y: u32| [x as u8 * 9, y as u8 * 7, 50];
            let mut image = if is_jpeg { jpeg(24, 20, colour) } else { png(24, 20, colour) };
            let place = place.index(image.bytes.len());
            image.bytes[place] = byte;
            let _ = numbers(Colour::Rgb, 8, &image);
            let _ = numbers(Colour::Grey, 8, &image);
            image.bytes.truncate(cut.index(image.bytes.len()));
            let _ = numbers(Colour::Rgb, 8, &image);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), is_jpeg: bool) {
            if is_jpeg {
                bytes.splice(0..0, [0xFF, 0xD8, 0xFF]);
                bytes.extend([0xFF, 0xD9]);
            }
            let _ = numbers(Colour::Rgb, 8, &file(bytes));
        }
    }
}
