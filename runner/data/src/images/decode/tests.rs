//! Decoding of valid, damaged and hostile images.

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
