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
        // The decoder leaves out pixels after some kinds of damage. Those of the previous image
        // must not stay.
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
mod tests;
