//! Known forms of data that are not read, such as archives, for messages that name what was found.

use std::io::Read;
use std::path::Path;

use foreglow_exit::open_data;

use flate2::read::MultiGzDecoder;

use crate::left_out::is_hidden;
use crate::signature::{CIFAR10_RECORD, GZIP, tfrecord_length};

const UNPACK: &str = "unpack it and give the folder";
const CONVERT: &str = "convert it to JPEG or PNG";
const EXTRACT: &str = "write its images as JPEG or PNG files, one sub-folder per class";
const PICKLE: &str = "for CIFAR-10, take the binary version; otherwise write the images as JPEG or PNG files, one \
    sub-folder per class";

/// A form: the place and the bytes of its signature, what it is, and what to do.
type Form = (usize, &'static [u8], &'static str, &'static str);

const FORMS: &[Form] = &[
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (0, b"Rar!", "a RAR archive", UNPACK),
    (0, b"\xfd7zXZ\0", "compressed with xz", UNPACK),
    (0, b"BZh", "compressed with bzip2", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with Zstandard", UNPACK),
    (0, b"PAR1", "a Parquet file", EXTRACT),
    (0, b"ARROW1", "an Arrow file", EXTRACT),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", EXTRACT),
    (512, b"\x89HDF\r\n\x1a\n", "an HDF5 file of MATLAB", EXTRACT),
    (0, b"MATLAB 5.0", "a MATLAB file", EXTRACT),
    (0, b"\x93NUMPY", "a NumPy array", EXTRACT),
    (0, b"SQLite format 3\0", "an SQLite database", EXTRACT),
    (16, b"\xde\xc0\xef\xbe", "an LMDB database", EXTRACT),
    (0, b"\x0a\x23\xd7\xce", "a RecordIO file of MXNet", EXTRACT),
    (0, b"GIF8", "a GIF image", CONVERT),
    (8, b"WEBP", "a WebP image", CONVERT),
    (0, b"II*\0", "a TIFF image", CONVERT),
    (0, b"MM\0*", "a TIFF image", CONVERT),
    (4, b"ftypheic", "a HEIC image", CONVERT),
    (4, b"ftypmif1", "a HEIC image", CONVERT),
    (4, b"ftypavif", "an AVIF image", CONVERT),
    (0, b"BM", "a BMP image", CONVERT),
    (0, b"%PDF", "a PDF document", EXTRACT),
    (0, b"\xff\xd8\xff", "one image", "give the folder that holds the images"),
    (0, b"\x89PNG", "one image", "give the folder that holds the images"),
];

/// Forms without a signature, by the extension of the file.
const NAMED: &[(&[&str], &str, &str)] = &[
    (
        &["csv", "tsv", "json", "jsonl", "xml", "yaml", "yml", "txt"],
        "a text file",
        "give the folder that holds the images",
    ),
    (&["arrow"], "an Arrow file", EXTRACT),
    (&["h5", "hdf5"], "an HDF5 file", EXTRACT),
    (&["mat"], "a MATLAB file", EXTRACT),
    (&["rec"], "a RecordIO file of MXNet", EXTRACT),
    (&["beton"], "a file of FFCV", EXTRACT),
    (&["tar"], "a tar archive", UNPACK),
    (&["pkl", "pickle"], "a Python pickle", PICKLE),
];

/// Bytes at the start of a file that hold every signature.
const START: u64 = 1024;

/// Returns what a file is and what to do, worded to follow its name: "is a Parquet file, which is
/// not read; …". `None` for an unknown form.
pub fn description(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    open_data(path).ok()?.take(START).read_to_end(&mut start).ok()?;
    let (what, advice) = of_gzip(path, &start).or_else(|| form(path, &start))?;
    Some(format!("is {what}, which is not read; {advice}"))
}

/// Returns the description of the first file of a known form in a folder or below it.
fn description_in(folder: &Path) -> Option<String> {
    let of = |file: &Path| Some(format!("{} {}", file.strip_prefix(folder).ok()?.display(), description(file)?));
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let shown = walk.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name()));
    shown.flatten().filter(|entry| entry.file_type().is_file()).find_map(|entry| of(entry.path()))
}

/// Returns a suffix of an error about data that are not in the expected format.
pub fn hint(path: &Path) -> String {
    let found = if path.is_dir() { description_in(path) } else { description(path).map(|what| format!("it {what}")) };
    found.map_or_else(String::new, |found| format!("; {found}"))
}

type Found = (String, &'static str);

/// Describes a gzip file by its content.
fn of_gzip(path: &Path, start: &[u8]) -> Option<Found> {
    if !start.starts_with(&GZIP) {
        return None;
    }
    let mut inner = Vec::new();
    // A damaged end leaves what was decompressed before.
    let _ = MultiGzDecoder::new(open_data(path).ok()?).take(START).read_to_end(&mut inner);
    let is_tfrecord = inner.first_chunk().is_some_and(|header| tfrecord_length(*header).is_some());
    let (what, advice) = match form(&path.with_extension(""), &inner) {
        _ if is_tfrecord => ("a TFRecord file".to_owned(), "decompress it with gunzip"),
        Some((what, UNPACK)) => (what, UNPACK),
        Some((what, advice)) => (what, advice),
        None => ("a file".to_owned(), "decompress it with gunzip"),
    };
    Some((format!("{what} compressed with gzip"), advice))
}

fn form(path: &Path, start: &[u8]) -> Option<Found> {
    let found = |what: &str, advice| Some((what.to_owned(), advice));
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let has = |at: usize, signature: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(signature));
    if has(0, b"PK\x03\x04") {
        let contains = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
        return match ending.as_str() {
            "npz" => found("a file of NumPy arrays", EXTRACT),
            "pt" | "pth" | "ckpt" => found("a file of PyTorch tensors", EXTRACT),
            _ if contains(b".npy") => found("a file of NumPy arrays", EXTRACT),
            _ => found("a zip archive", UNPACK),
        };
    }
    if let Some((_, _, what, advice)) = FORMS.iter().find(|(at, signature, ..)| has(*at, signature)) {
        return found(what, advice);
    }
    match *start {
        [0x80, 2..=5, ..] => return found("a Python pickle", PICKLE),
        [0, 0, 8 | 9 | 11..=14, dims @ 1..=8, ..] => {
            let advice = "give the file of images: bytes in three dimensions (images, rows, columns)";
            return Some((format!("an IDX file of another type or of {dims} dimensions"), advice));
        }
        _ => {}
    }
    if ending == "bin" {
        let bytes = path.metadata().ok()?.len();
        let is_cifar100 = bytes > 0 && bytes.is_multiple_of(CIFAR10_RECORD + 1);
        return match is_cifar100 {
            true => found("a file of CIFAR-100, with 3074 bytes per image", "take CIFAR-10, with 3073 bytes per image"),
            false => Some((format!("a binary file of {bytes} bytes"), "CIFAR-10's have 3073 bytes per image")),
        };
    }
    let (_, what, advice) = NAMED.iter().find(|(endings, ..)| endings.contains(&ending.as_str()))?;
    found(what, advice)
}
