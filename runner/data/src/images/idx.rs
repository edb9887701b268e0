//! MNIST's IDX files (yann.lecun.com/exdb/mnist), plain or gzip-compressed: images
//! `[n, rows, columns]` of bytes, and labels `[n]` in a separate file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use foreglow_exit::{open_data, unusable};

use super::decode::LARGEST_SIDE_PX;
use crate::class_folder::files_in;
use crate::file_part::{expect_part, read_part};
use crate::foreign;
use crate::set::{DataSet, Item, ItemError, Layout, missing};
use crate::signature::GZIP;

/// Magic number of unsigned bytes in three dimensions; [`LABELS`] has one dimension.
pub const IMAGES: [u8; 4] = [0, 0, 8, 3];
const LABELS: [u8; 4] = [0, 0, 8, 1];
/// Limit on the size of a decompressed file, which is kept in memory.
const LARGEST_UNPACKED: u64 = 1 << 30;

/// The images of one or more files, sorted by file name.
pub struct Idx {
    parts: Vec<Part>,
    classes: Option<u32>,
    len: u64,
}

struct Part {
    path: PathBuf,
    bytes: Bytes,
    /// Number of its first image.
    first: u64,
    width: u32,
    height: u32,
    labels: Option<Vec<u8>>,
}

/// Image data of a file, without its header.
enum Bytes {
    InFile { file: File, offset: u64 },
    InMemory(Vec<u8>),
}

impl Idx {
    /// Opens a file of images, or every image file of a folder.
    ///
    /// # Errors
    /// No file was found, a file is damaged, or the number of labels differs from that of the
    /// images.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            files = files_in(path)?;
            files.retain(|file| first_bytes(file) == Some(IMAGES));
        }
        let (mut parts, mut len) = (Vec::new(), 0);
        for file in files {
            let (part, images) = Part::open(&file, len)?;
            parts.push(part);
            len += images;
        }
        if len == 0 {
            return Err(unusable(format!(
                "there is no IDX file with an image in {}{}",
                path.display(),
                foreign::hint(path)
            )));
        }
        let labels = parts.iter().flat_map(|part| part.labels.iter().flatten());
        let classes = labels.max().map(|largest| u32::from(*largest) + 1);
        Ok(Self { parts, classes, len })
    }

    fn place(&self, number: u64) -> Option<(&Part, u64)> {
        let part = &self.parts[self.parts.partition_point(|part| part.first <= number).checked_sub(1)?];
        (number < self.len).then(|| (part, number - part.first))
    }
}

impl Part {
    fn open(path: &Path, first: u64) -> anyhow::Result<(Self, u64)> {
        let shown = path.display();
        let (header, bytes, len) = content(path)?;
        let [magic, images, height, width] = header.map(u32::from_be_bytes);
        if magic != u32::from_be_bytes(IMAGES) {
            return Err(unusable(format!(
                "{shown} is not an IDX file of images (bytes in three dimensions){}",
                foreign::hint(path)
            )));
        }
        if width == 0 || height == 0 || width.max(height) > LARGEST_SIDE_PX {
            return Err(unusable(format!("the images of {shown} are said to be {width} × {height} px: it is damaged")));
        }
        let images = u64::from(images);
        let needed = images.checked_mul(u64::from(width) * u64::from(height));
        if needed.is_none_or(|needed| needed > len) {
            return Err(unusable(format!(
                "{shown} is cut short: its header says {images} images; copy the file again"
            )));
        }
        let labels = labels_of(path, images)?;
        Ok((Self { path: path.to_owned(), bytes, first, width, height, labels }, images))
    }

    fn size(&self) -> usize {
        self.width as usize * self.height as usize
    }
}

impl DataSet for Idx {
    fn len(&self) -> u64 {
        self.len
    }

    fn classes(&self) -> Option<u32> {
        self.classes
    }

    fn name(&self, number: u64) -> String {
        match self.place(number) {
            Some((part, own)) => format!("image {own} of {}", part.path.display()),
            None => format!("image {number}"),
        }
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let (part, own) = self.place(number).ok_or_else(|| missing(number, self.len))?;
        let start = own * part.size() as u64;
        let bytes = match &part.bytes {
            Bytes::InFile { file, offset } => {
                read_part(file, offset + start, part.size()).map_err(|error| ItemError(error.to_string()))?
            }
            Bytes::InMemory(all) => {
                let start = start as usize;
                all.get(start..start + part.size()).ok_or_else(|| missing(number, self.len))?.to_vec()
            }
        };
        let label = part.labels.as_ref().and_then(|labels| labels.get(own as usize)).map(|label| u32::from(*label));
        Ok(Item { bytes, layout: Layout::Grey { width: part.width, height: part.height }, label })
    }

    fn expect(&self, number: u64) {
        if let Some((part, own)) = self.place(number)
            && let Bytes::InFile { file, offset } = &part.bytes
        {
            expect_part(file, offset + own * part.size() as u64, part.size() as u64);
        }
    }

    fn files(&self, _numbers: &[u64]) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.path.clone()).collect()
    }
}

/// Returns the four numbers of the header, the image data and its size in bytes.
fn content(path: &Path) -> anyhow::Result<([[u8; 4]; 4], Bytes, u64)> {
    let shown = path.display();
    let unreadable = |error| unusable(format!("the IDX file {shown} cannot be read: {error}"));
    let header_of = |bytes: &[u8]| {
        let header = bytes.as_chunks::<4>().0.first_chunk::<4>().copied();
        header.ok_or_else(|| unusable(format!("{shown} is cut short: it ends in its header")))
    };
    if let Some(all) = unpacked(path).map_err(unreadable)? {
        let header = header_of(&all)?;
        let images = all[16..].to_vec();
        let len = images.len() as u64;
        return Ok((header, Bytes::InMemory(images), len));
    }
    let file = open_data(path).map_err(unreadable)?;
    let len = file.metadata().map_err(unreadable)?.len();
    let header = header_of(&read_part(&file, 0, len.min(16) as usize).map_err(unreadable)?)?;
    Ok((header, Bytes::InFile { file, offset: 16 }, len - 16))
}

/// Returns the decompressed content of a gzip file, or `None` if the file is not compressed.
fn unpacked(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut start = Vec::new();
    open_data(path)?.take(2).read_to_end(&mut start)?;
    if start != GZIP {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    MultiGzDecoder::new(open_data(path)?).take(LARGEST_UNPACKED + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_UNPACKED {
        return Err(std::io::Error::other("it is larger than 1 GiB when it is unpacked; unpack it first"));
    }
    Ok(Some(bytes))
}

/// Returns the first four bytes of a file, decompressed if necessary.
pub fn first_bytes(path: &Path) -> Option<[u8; 4]> {
    let first = |mut reader: Box<dyn Read>| {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let stored = first(Box::new(open_data(path).ok()?))?;
    if stored.starts_with(&GZIP) { first(Box::new(MultiGzDecoder::new(open_data(path).ok()?))) } else { Some(stored) }
}

/// Reads the labels that belong to a file of images: `train-labels-idx1-ubyte` for
/// `train-images-idx3-ubyte`, plain or compressed.
fn labels_of(images: &Path, expected: u64) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(name) = images.file_name().and_then(|name| name.to_str()).filter(|name| name.contains("images")) else {
        return Ok(None);
    };
    let plain = name.trim_end_matches(".gz").replace("images", "labels").replace("idx3", "idx1");
    let Some(path) = [plain.clone(), format!("{plain}.gz")]
        .into_iter()
        .map(|name| images.with_file_name(name))
        .find(|path| path.is_file())
    else {
        return Ok(None);
    };
    let shown = path.display();
    let unreadable = |error| unusable(format!("the labels {shown} cannot be read: {error}"));
    let bytes = match unpacked(&path).map_err(unreadable)? {
        Some(bytes) => bytes,
        None => std::fs::read(&path).map_err(unreadable)?,
    };
    let (header, labels) = bytes.split_at_checked(8).unwrap_or((&bytes, &[]));
    if !header.starts_with(&LABELS) || labels.len() as u64 != expected {
        return Err(unusable(format!("{shown} does not hold one label for each of the {expected} images beside it")));
    }
    Ok(Some(labels.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn images(count: u32, bytes: &[u8]) -> Vec<u8> {
        let mut all = IMAGES.to_vec();
        for number in [count, 2, 3] {
            all.extend(number.to_be_bytes());
        }
        all.extend(bytes);
        all
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn labels(labels: &[u8]) -> Vec<u8> {
        [&LABELS[..], &(labels.len() as u32).to_be_bytes(), labels].concat()
    }

    #[test]
    fn plain_and_compressed_files_form_one_set_with_labels() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        write("t10k-images-idx3-ubyte.gz", &gzip(&images(1, b"abcdef")));
        write("t10k-labels-idx1-ubyte.gz", &gzip(&labels(&[7])));
        write("train-images-idx3-ubyte", &images(2, b"ghijklmnopqr"));
        write("train-labels-idx1-ubyte", &labels(&[1, 2]));
        let set = Idx::open(dir.path()).unwrap();
        let read: Vec<_> = (0..set.len())
            .map(|number| set.read(number).unwrap())
            .map(|image| (String::from_utf8(image.bytes).unwrap(), image.label))
            .collect();
        let expected = [("abcdef", 7), ("ghijkl", 1), ("mnopqr", 2)];
        assert_eq!(read, expected.map(|(bytes, label)| (bytes.to_owned(), Some(label))));
        assert_eq!(set.classes(), Some(8));
        assert_eq!(set.read(0).unwrap().layout, Layout::Grey { width: 3, height: 2 });
        assert!(set.read(3).is_err());
    }

    #[test]
    fn damaged_files_are_rejected_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x-images");
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Idx::open(&path).err().unwrap().to_string()
        };
        assert!(said(&images(3, b"abcdef")).contains("is cut short: its header says 3 images"));
        assert!(said(&images(1, b"")[..9]).contains("ends in its header"));
        assert!(said(&gzip(&images(3, b"abcdef"))).contains("is cut short"));
        assert!(said(&gzip(&images(1, b"abcdef"))[..20]).contains("cannot be read"));
        assert!(said(&labels(&[0; 30])).contains("is not an IDX file of images"));
        std::fs::write(dir.path().join("x-labels"), labels(&[1, 2])).unwrap();
        assert!(said(&images(1, b"abcdef")).contains("does not hold one label for each of the 1 images"));
        let endless = [&IMAGES[..], &[0xff; 12]].concat();
        assert!(said(&endless).contains("it is damaged"));
    }
}
