//! Image data sets: a file of any bytes is rejected, or each of its images is decoded or rejected.
//! The first byte selects the format.
#![no_main]

use std::sync::LazyLock;
use std::{fs, panic};

use foreglow_architectures::Colour;
use foreglow_data::images::Decoder;
use foreglow_data::{Item, Kind, Layout};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

const PX: u32 = 8;
/// Limit on the decoded images of a data set.
const IMAGES: u64 = 4;

static FILE: LazyLock<NamedTempFile> =
    LazyLock::new(|| NamedTempFile::new().expect("the folder for temporary files is writable"));

/// A larger image than most of the corpus.
static NOISE: LazyLock<Item> = LazyLock::new(|| {
    let layout = Layout::Planes { width: NOISE_PX, height: NOISE_PX };
    let bytes = (0..3 * NOISE_PX * NOISE_PX).map(|place| (place.wrapping_mul(0x9E37_79B1) >> 24) as u8);
    Item { bytes: bytes.collect(), layout, label: None }
});
const NOISE_PX: u32 = 64;

/// A decoder that panics on some damaged files, which the data set then counts as broken.
const PANICKING: &str = "/zune-jpeg-";

fuzz_target!(init: exempt(), |bytes: &[u8]| {
    let Some((format, content)) = bytes.split_first() else { return };
    match format % 6 {
        0 => decode(&Item { bytes: content.to_vec(), layout: Layout::File, label: None }),
        1 => decode_all(Kind::Tfrecord, content),
        // With correct checksums, which random changes would not produce.
        2 => decode_all(Kind::Tfrecord, &record(content)),
        3 => decode_all(Kind::Cifar10, content),
        4 => decode_all(Kind::Idx, content),
        _ => decode_all(Kind::Bson, content),
    }
});

/// Exempts the panics of that decoder, which are caught, from the hook that ends the process.
fn exempt() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|place| place.file().contains(PANICKING)) {
            hook(info);
        }
    }));
}

fn decode_all(kind: Kind, content: &[u8]) {
    fs::write(FILE.path(), content).expect("the temporary file is writable");
    let Ok(set) = kind.at(FILE.path()).open() else { return };
    let numbers: Vec<u64> = (0..set.len().min(IMAGES)).collect();
    assert!(!numbers.is_empty(), "an empty data set is rejected");
    set.files(&numbers);
    for number in numbers {
        let Ok(item) = set.read(number) else { continue };
        if let Some(label) = item.label {
            set.class(label);
        }
        decode(&item);
    }
    assert!(set.read(set.len()).is_err());
}

/// Decodes an image for CNNs in colour and in grey. The result does not depend on the image that
/// the decoder had before.
fn decode(item: &Item) {
    for colour in [Colour::Rgb, Colour::Grey] {
        let (mut fresh, mut used) = (Decoder::new(colour, PX), Decoder::new(colour, PX));
        used.decode(&NOISE, &mut Vec::new()).expect("noise is an image");
        let (mut numbers, mut again) = (Vec::new(), Vec::new());
        let is_image = fresh.decode(item, &mut numbers).is_ok();
        assert_eq!(numbers.len(), if is_image { fresh.numbers() } else { 0 });
        assert!(numbers.iter().all(|number| number.is_finite()));
        assert_eq!(used.decode(item, &mut again).is_ok(), is_image);
        assert_eq!(again, numbers);
    }
}

/// A TFRecord with this data.
fn record(data: &[u8]) -> Vec<u8> {
    let masked_crc = |bytes: &[u8]| crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked_crc(&length), data, &masked_crc(data)].concat()
}
