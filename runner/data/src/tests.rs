//! Tests of every format: the same pictures, stored in each format, are read with their labels,
//! decoded to the same numbers, sampled in the same order, and survive packing.

use std::fs;
use std::path::Path;

use foreglow_architectures::Colour;
use proptest::prelude::*;

use super::*;
use crate::{Item, Kind, Layout, Source, draw};

const IMAGES: u64 = 6;
/// The size of CIFAR-10, so that every format can hold the pictures.
const SIDE: u32 = 32;

fn pixel(number: u64, channel: u64, place: u64) -> u8 {
    ((number * 41 + channel * 17 + place * (number + 3)) % 256) as u8
}

fn label(number: u64) -> u64 {
    number % 3
}

fn png(number: u64, is_grey: bool) -> Vec<u8> {
    let image = image::RgbImage::from_fn(SIDE, SIDE, |x, y| {
        let place = u64::from(y * SIDE + x);
        image::Rgb([0, 1, 2].map(|channel| pixel(number, if is_grey { 0 } else { channel }, place)))
    });
    let mut bytes = Vec::new();
    image.write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    bytes
}

fn planes(number: u64, channels: u64) -> Vec<u8> {
    let plane = u64::from(SIDE * SIDE);
    (0..channels).flat_map(|channel| (0..plane).map(move |place| pixel(number, channel, place))).collect()
}

/// Returns the pictures in the order of a format with class folders.
fn by_class() -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..IMAGES).collect();
    numbers.sort_by_key(|number| label(*number));
    numbers
}

fn write_folder(root: &Path) {
    for number in 0..IMAGES {
        let class = root.join(format!("class_{}", label(number)));
        fs::create_dir_all(&class).unwrap();
        fs::write(class.join(format!("{number}.png")), png(number, false)).unwrap();
    }
}

fn bson_document(elements: &[(u8, &str, Vec<u8>)]) -> Vec<u8> {
    let body: Vec<u8> =
        elements.iter().flat_map(|(kind, name, value)| [&[*kind], name.as_bytes(), &[0], value].concat()).collect();
    [&(body.len() as u32 + 5).to_le_bytes()[..], &body, &[0]].concat()
}

/// Writes the pictures in every format; returns for each the source, the pictures in its order, and
/// whether they are greyscale.
fn every_format(dir: &Path) -> Vec<(Source, Vec<u64>, bool)> {
    let all: Vec<u64> = (0..IMAGES).collect();
    write_folder(&dir.join("folder"));

    let mut records = Vec::new();
    for number in 0..IMAGES {
        use crate::images::tfrecord::example::{Given, write};
        let (file, label) = (png(number, false), label(number) as i64);
        let message = write(&[("image/encoded", Given::Bytes(&file)), ("image/class/label", Given::Int(label))]);
        images::tfrecord::record::write(&mut records, &message).unwrap();
    }
    fs::write(dir.join("a.tfrecord"), records).unwrap();

    let cifar: Vec<u8> =
        all.iter().flat_map(|number| [vec![label(*number) as u8], planes(*number, 3)].concat()).collect();
    fs::write(dir.join("data_batch_1.bin"), cifar).unwrap();

    let header = [&[0, 0, 8, 3][..], &[0, 0, 0, IMAGES as u8], &[0, 0, 0, 32], &[0, 0, 0, 32]].concat();
    let idx = [header, all.iter().flat_map(|number| planes(*number, 1)).collect()].concat();
    fs::write(dir.join("images-idx3-ubyte"), idx).unwrap();
    let labels = all.iter().map(|number| label(*number) as u8).collect();
    fs::write(dir.join("labels-idx1-ubyte"), [vec![0, 0, 8, 1, 0, 0, 0, IMAGES as u8], labels].concat()).unwrap();

    let product = |number: &u64| {
        let file = png(*number, false);
        let binary = [&(file.len() as u32).to_le_bytes()[..], &[0], &file].concat();
        let image = bson_document(&[(5, "picture", binary)]);
        let images = bson_document(&[(3, "0", image)]);
        bson_document(&[(0x10, "category_id", (label(*number) as i32).to_le_bytes().into()), (4, "imgs", images)])
    };
    fs::write(dir.join("train.bson"), all.iter().flat_map(product).collect::<Vec<u8>>()).unwrap();

    let source = |name: &str| Format::Auto.source(&dir.join(name)).unwrap();
    vec![
        (source("folder"), by_class(), false),
        (source("a.tfrecord"), all.clone(), false),
        (source("data_batch_1.bin"), all.clone(), false),
        (source("images-idx3-ubyte"), all.clone(), true),
        (source("train.bson"), all, false),
    ]
}

fn numbers(image: &Item) -> Vec<f32> {
    let mut numbers = Vec::new();
    images::Decoder::new(Colour::Rgb, 20).decode(image, &mut numbers).unwrap();
    numbers
}

/// Returns the decoded picture.
fn expected(number: u64, is_grey: bool) -> Vec<f32> {
    numbers(&Item { bytes: png(number, is_grey), layout: Layout::File, label: None })
}

#[test]
fn every_format_is_detected_and_gives_the_same_images_and_labels() {
    let dir = tempfile::tempdir().unwrap();
    let formats = every_format(dir.path());
    let names: Vec<_> = formats.iter().map(|(source, ..)| source.format()).collect();
    assert_eq!(names, ["folder", "tfrecord", "cifar10", "idx", "bson"]);
    for (source, order, is_grey) in formats {
        let format = source.format();
        let set = source.open().unwrap();
        assert_eq!(set.len(), IMAGES, "{format}");
        for (place, number) in order.into_iter().enumerate() {
            let image = set.read(place as u64).unwrap();
            assert_eq!(image.label.map(u64::from), Some(label(number)), "{format}");
            assert_eq!(numbers(&image), expected(number, is_grey), "{format}");
            set.expect(place as u64);
            assert!(!set.files(&[place as u64]).is_empty(), "{format}");
        }
        assert!(set.read(IMAGES).is_err() && set.read(u64::MAX).is_err(), "{format}");
        assert!(set.name(0).contains(source.path.to_str().unwrap()), "{format}: {}", set.name(0));
    }
}

#[test]
fn a_seed_draws_the_same_sample_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for (source, order, is_grey) in every_format(dir.path()) {
        let sample = source.sample(IMAGES, 0.5, 7).unwrap();
        let drawn = draw(IMAGES, 0.5, 7);
        assert_eq!(sample.len(), drawn.len() as u64);
        for (place, number) in drawn.iter().enumerate() {
            let read = sample.read(place as u64).unwrap();
            assert_eq!(numbers(&read), expected(order[*number as usize], is_grey), "{}", source.format());
        }
        let error = source.sample(IMAGES + 1, 1.0, 0).err().unwrap().to_string();
        assert!(error.contains("holds 6 images and the job has 7; ask for --images 6 or less"), "{error}");
    }
}

fn packing(split: Split) -> Packing {
    Packing { name: "images".into(), split, seed: 3, broken_limit: 0 }
}

#[test]
fn every_format_is_packed_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    for (source, order, is_grey) in every_format(dir.path()) {
        let format = source.format();
        let out = dir.path().join(format!("packed-{format}"));
        let set = source.open().unwrap();
        let packed = pack(set.as_ref(), IMAGES, &out, &packing(Split::Shards(4)), &mut |_, _| {}).unwrap();
        assert_eq!((packed.images, packed.shards.len()), (IMAGES, 4), "{format}");
        assert!(packed.shards[3].ends_with("images-00003-of-00004.tfrecord"));
        let again = Format::Auto.source(&out).unwrap();
        assert_eq!(again.format(), "tfrecord");
        let again = again.open().unwrap();
        for (place, number) in draw(IMAGES, 1.0, 3).into_iter().enumerate() {
            let (image, number) = (again.read(place as u64).unwrap(), order[number as usize]);
            assert_eq!(image.label.map(u64::from), Some(label(number)), "{format}");
            assert_eq!(numbers(&image), expected(number, is_grey), "{format}");
        }
        if format == "folder" {
            assert_eq!((again.classes(), again.class(1).as_deref()), (Some(3), Some("class_1")));
        }
    }
}

#[test]
fn packing_depends_only_on_images_seed_and_split() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(&dir.path().join("folder"));
    let set = Kind::Folder.at(dir.path().join("folder")).open().unwrap();
    let bytes = |name: &str, packing: &Packing| {
        let packed = pack(set.as_ref(), IMAGES, &dir.path().join(name), packing, &mut |_, _| {}).unwrap();
        let files: Vec<_> = packed.shards.iter().map(|shard| fs::read(shard).unwrap()).collect();
        assert_eq!(packed.bytes, files.iter().map(|file| file.len() as u64).sum::<u64>());
        files
    };
    let all = bytes("a", &packing(Split::Shards(1)));
    assert_eq!(all, bytes("b", &packing(Split::Shards(1))));
    assert_ne!(all, bytes("c", &Packing { seed: 4, ..packing(Split::Shards(1)) }));
    let by_size = bytes("d", &packing(Split::Bytes(all[0].len() as u64 / 3)));
    assert!(by_size.len() == 3 || by_size.len() == 2, "{}", by_size.len());
    assert_eq!(by_size.concat(), all[0], "shards are cut out of the same order");
    let error = pack(set.as_ref(), IMAGES, &dir.path().join("a"), &packing(Split::Shards(1)), &mut |_, _| {});
    assert!(error.unwrap_err().to_string().contains("already exists"));
}

#[test]
fn broken_images_are_skipped_up_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("folder");
    write_folder(&folder);
    fs::write(folder.join("class_1/broken.jpg"), b"no image").unwrap();
    let set = Kind::Folder.at(folder).open().unwrap();
    let out = dir.path().join("out");
    let error = pack(set.as_ref(), set.len(), &out, &packing(Split::Shards(2)), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("broken.jpg"), "{error}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "a failed packing leaves no files");
    let tolerant = Packing { broken_limit: 1, ..packing(Split::Shards(2)) };
    let packed = pack(set.as_ref(), set.len(), &out, &tolerant, &mut |_, _| {}).unwrap();
    assert_eq!((packed.images, packed.broken.len()), (IMAGES, 1));
}

#[test]
fn an_unknown_data_set_is_rejected_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).unwrap();
        dir.path().join(name)
    };
    let said = |path: &Path| Format::Auto.source(path).unwrap_err().to_string();
    assert!(said(Path::new("/no/such/place")).contains("/no/such/place does not exist; give an existing folder"));
    assert!(said(&write("one.jpg", b"x")).contains("is one image; give the folder"));
    assert!(said(&write("notes", b"hello")).contains("give its format with --data-format"));
    assert!(said(&write("empty", b"")).contains("give its format with --data-format"));
    let damaged = Format::Auto.source(&write("damaged.tfrecord", &[7; 100])).unwrap();
    assert!(
        damaged.open().err().unwrap().to_string().contains("wrong checksum"),
        "a name speaks where the content does not"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn tar() -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..9].copy_from_slice(b"cat/1.jpg");
    header[257..262].copy_from_slice(b"ustar");
    header
}

#[test]
fn data_in_a_form_that_is_not_read_are_named_with_what_to_do() {
    let mut record = Vec::new();
    images::tfrecord::record::write(&mut record, b"example").unwrap();
    let cases: [(&str, Vec<u8>, &str); 18] = [
        (
            "data_batch_1",
            b"\x80\x02}q\x01(U\x0bbatch_label".to_vec(),
            "is a Python pickle, which is not read; for CIFAR-10, take",
        ),
        ("train.bin", vec![0; 2 * 3074], "is a file of CIFAR-100, with 3074 bytes per image"),
        ("train_X.bin", vec![0; 1000], "is a binary file of 1000 bytes"),
        ("images.tar.gz", gzip(&tar()), "is a tar archive compressed with gzip, which is not read; unpack it"),
        ("images.tgz", gzip(&tar()), "is a tar archive compressed with gzip"),
        ("shard-000.tar", tar(), "is a tar archive"),
        ("images.zip", b"PK\x03\x04\x14\0\0\0cat/1.jpg".to_vec(), "is a zip archive, which is not read; unpack it"),
        ("pathmnist.npz", b"PK\x03\x04\x14\0\0\0train.npy".to_vec(), "is a file of NumPy arrays"),
        ("x_train.npy", b"\x93NUMPY\x01\0".to_vec(), "is a NumPy array"),
        ("train-00000-of-00005.parquet", b"PAR1\x15\x04".to_vec(), "is a Parquet file"),
        ("images.h5", b"\x89HDF\r\n\x1a\n\0".to_vec(), "is an HDF5 file"),
        ("train.csv", b"label,pixel0,pixel1\n5,0,0\n".to_vec(), "is a text file"),
        ("data.mdb", [&[0; 16][..], b"\xde\xc0\xef\xbe"].concat(), "is an LMDB database"),
        ("images.idx4-ubyte", vec![0, 0, 8, 4, 0, 0, 0, 1], "is an IDX file of another type or of 4 dimensions"),
        (
            "labels-idx1-ubyte.gz",
            gzip(&[0, 0, 8, 1, 0, 0, 0, 1, 7]),
            "is an IDX file of another type or of 1 dimensions compressed with gzip",
        ),
        ("train.tfrecord.gz", gzip(&record), "is a TFRecord file compressed with gzip, which is not read; decompress"),
        ("train-00000-of-00004.gz", gzip(&record), "is a TFRecord file compressed with gzip"),
        ("photo.webp", b"RIFF\x10\0\0\0WEBPVP8 ".to_vec(), "is a WebP image, which is not read; convert it"),
    ];
    for (name, bytes, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("set/data");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(name), bytes).unwrap();
        fs::write(below.join(".hidden.zip"), b"PK\x03\x04").unwrap();
        let said = Format::Auto.source(&below.join(name)).unwrap_err().to_string();
        assert!(said.contains(&format!("{name} {expected}")), "{said}");
        for folder in [&below, &dir.path().join("set")] {
            let said = Format::Auto.source(folder).unwrap().open().err().unwrap().to_string();
            assert!(said.contains("holds no image") && said.contains(&format!("{name} {expected}")), "{said}");
            assert!(!said.contains("put .jpg"), "{said}");
        }
        for format in [Format::Cifar10, Format::Idx, Format::Bson] {
            let error = format.source(&below).unwrap().open().err().unwrap();
            assert!(format!("{error:#}").contains(expected) || name.ends_with(".bin"), "{format:?}: {error:#}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Readers of damaged files return an error or other data; none panics.
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), format in 0_usize..4) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x-images");
        fs::write(&path, bytes).unwrap();
        let format = [Format::Tfrecord, Format::Cifar10, Format::Idx, Format::Bson][format];
        if let Ok(set) = format.source(&path).unwrap().open() {
            for number in 0..set.len().min(8) {
                let _ = set.read(number);
            }
        }
        let _ = Format::Auto.source(&path);
    }

    #[test]
    fn no_damage_makes_a_reader_panic(format in 0_usize..5, place: prop::sample::Index, byte: u8) {
        let dir = tempfile::tempdir().unwrap();
        let (source, ..) = every_format(dir.path()).swap_remove(format);
        let file = source.open().unwrap().files(&[0])[0].clone();
        let mut bytes = fs::read(&file).unwrap();
        // The headers are at the front, where damage has most effect.
        let place = place.index(bytes.len().min(200));
        bytes[place] = byte;
        fs::write(&file, bytes).unwrap();
        if let Ok(set) = source.open() {
            for number in 0..set.len().min(8) {
                if let Ok(image) = set.read(number) {
                    let _ = images::Decoder::new(Colour::Rgb, 8).decode(&image, &mut Vec::new());
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_or_an_endless_device_is_refused_as_data() {
    use crate::Format;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("data-images");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (ended, ends) = std::sync::mpsc::channel();
    let root = folder.path().to_owned();
    // A thread of its own, because a failure waits for ever.
    std::thread::spawn(move || {
        let formats = [Format::Auto, Format::Folder, Format::Tfrecord, Format::Cifar10, Format::Idx, Format::Bson];
        for format in formats {
            for path in [&pipe, Path::new("/dev/zero")] {
                let error = format.source(path).and_then(|source| source.open().map(drop)).unwrap_err().to_string();
                assert!(error.contains("is a pipe or a device; save the data in a file"), "{error}");
            }
        }
        // A pipe beside the data.
        write_folder(&root);
        fs::write(root.join("data_batch_1.bin"), [7; 3_073]).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(root.join("batches.meta.txt")).status().unwrap().success());
        assert!(Format::Cifar10.source(&root).unwrap().open().is_ok());
        assert_eq!(Format::Folder.source(&root).unwrap().open().unwrap().len(), IMAGES);
        ended.send(()).unwrap();
    });
    ends.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
}
