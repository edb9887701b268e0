//! BSON in the layout of Cdiscount (kaggle.com/c/cdiscount-image-classification-challenge): a file
//! of product documents, `{ _id: int, category_id: int, imgs: [{ picture: binary }, …] }`. Each
//! picture is one image, and its product's category is its class.
//!
//! The documents are scanned, not loaded (bsonspec.org/spec.html): the scan skips over the
//! pictures, which are read individually later. A BSON library would read the whole file of 58 GB
//! to find them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use foreglow_exit::{open_data, unusable};

use crate::class_folder::files_in;
use crate::file_part::{expect_part, read_part};
use crate::foreign;
use crate::set::{DataSet, Item, ItemError, Layout, missing};

/// The pictures of a BSON file.
pub struct Bson {
    path: PathBuf,
    file: File,
    pictures: Vec<Picture>,
    /// Sorted category numbers; a label is an index into this list.
    categories: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Picture {
    offset: u64,
    len: u32,
    /// Index of the category; `u32::MAX` if the product has none.
    label: u32,
}

impl Bson {
    /// Scans a file for its pictures.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or holds no picture.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let path = match files_in(path) {
            Ok(files) if path.is_dir() => {
                files.into_iter().find(|file| file.extension().is_some_and(|ending| ending == "bson")).ok_or_else(
                    || unusable(format!("there is no .bson file in {}{}", path.display(), foreign::hint(path))),
                )?
            }
            _ => path.to_owned(),
        };
        let shown = path.display();
        let unreadable = |error| unusable(format!("the BSON file {shown} cannot be read: {error}"));
        let file = open_data(&path).map_err(unreadable)?;
        let end = file.metadata().map_err(unreadable)?.len();
        let mut walk = Walk { reader: BufReader::new(&file), offset: 0 };
        let (mut pictures, mut of_products) = (Vec::new(), Vec::new());
        let mut product = 0_u64;
        while walk.offset < end {
            let first = pictures.len();
            let category = walk.product(end, &mut pictures).map_err(|Damaged(what)| {
                unusable(format!("product {product} of {shown} cannot be read: {what}; copy the file again"))
            })?;
            of_products.push((first, category));
            product += 1;
        }
        if pictures.is_empty() {
            return Err(unusable(format!("there is no picture in {shown}")));
        }
        let mut categories: Vec<i64> = of_products.iter().filter_map(|(_, category)| *category).collect();
        categories.sort_unstable();
        categories.dedup();
        let ends = of_products.iter().skip(1).map(|(first, _)| *first).chain([pictures.len()]);
        for ((first, category), end) in of_products.iter().zip(ends) {
            let label = category.and_then(|category| categories.binary_search(&category).ok());
            for picture in &mut pictures[*first..end] {
                picture.label = label.and_then(|label| u32::try_from(label).ok()).unwrap_or(u32::MAX);
            }
        }
        Ok(Self { path, file, pictures, categories })
    }

    fn picture(&self, number: u64) -> Option<&Picture> {
        self.pictures.get(usize::try_from(number).ok()?)
    }
}

impl DataSet for Bson {
    fn len(&self) -> u64 {
        self.pictures.len() as u64
    }

    fn classes(&self) -> Option<u32> {
        u32::try_from(self.categories.len()).ok().filter(|classes| *classes > 0)
    }

    fn class(&self, label: u32) -> Option<String> {
        self.categories.get(label as usize).map(i64::to_string)
    }

    fn name(&self, number: u64) -> String {
        format!("picture {number} of {}", self.path.display())
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let picture = self.picture(number).ok_or_else(|| missing(number, self.len()))?;
        let bytes = read_part(&self.file, picture.offset, picture.len as usize)
            .map_err(|error| ItemError(error.to_string()))?;
        let label = Some(picture.label).filter(|label| *label != u32::MAX);
        Ok(Item { bytes, layout: Layout::File, label })
    }

    fn expect(&self, number: u64) {
        if let Some(picture) = self.picture(number) {
            expect_part(&self.file, picture.offset, u64::from(picture.len));
        }
    }

    fn files(&self, _numbers: &[u64]) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

/// Why a document cannot be read.
struct Damaged(String);

impl From<std::io::Error> for Damaged {
    fn from(error: std::io::Error) -> Self {
        Self(if error.kind() == ErrorKind::UnexpectedEof { "it is cut short".into() } else { error.to_string() })
    }
}

/// A scan through the documents of a file.
struct Walk<'a> {
    reader: BufReader<&'a File>,
    offset: u64,
}

/// Longest field name that is read.
const LONGEST_NAME: u64 = 256;

impl Walk<'_> {
    /// Scans one product, adds its pictures and returns its category.
    fn product(&mut self, end: u64, pictures: &mut Vec<Picture>) -> Result<Option<i64>, Damaged> {
        let mut category = None;
        let document = self.document(end)?;
        while let Some((kind, name)) = self.element(document)? {
            match (&name[..], kind) {
                (b"category_id", 0x10) => category = Some(i64::from(i32::from_le_bytes(self.take()?))),
                (b"category_id", 0x12) => category = Some(i64::from_le_bytes(self.take()?)),
                (b"imgs", 0x04) => {
                    let list = self.document(document)?;
                    while let Some((kind, _index)) = self.element(list)? {
                        if kind == 0x03 { self.image(list, pictures)? } else { self.pass(kind, list)? }
                    }
                }
                _ => self.pass(kind, document)?,
            }
        }
        Ok(category)
    }

    fn image(&mut self, end: u64, pictures: &mut Vec<Picture>) -> Result<(), Damaged> {
        let document = self.document(end)?;
        while let Some((kind, name)) = self.element(document)? {
            if name == b"picture" && kind == 0x05 {
                let len = u32::from_le_bytes(self.take()?);
                let [_subtype] = self.take()?;
                pictures.push(Picture { offset: self.offset, len, label: u32::MAX });
                self.skip(u64::from(len), document)?;
            } else {
                self.pass(kind, document)?;
            }
        }
        Ok(())
    }

    /// Enters a document and returns the offset of its end.
    fn document(&mut self, end: u64) -> Result<u64, Damaged> {
        let start = self.offset;
        let len = u64::from(u32::from_le_bytes(self.take()?));
        if len < 5 {
            return Err(Damaged(format!("a document is said to have {len} bytes")));
        }
        Some(start + len).filter(|own| *own <= end).ok_or_else(|| Damaged("it is cut short".into()))
    }

    /// Returns the type and the name of the next element, or `None` at the end of the document.
    fn element(&mut self, end: u64) -> Result<Option<(u8, Vec<u8>)>, Damaged> {
        if self.offset >= end {
            return Err(Damaged("a document has no end".into()));
        }
        let [kind] = self.take()?;
        if kind == 0 {
            return if self.offset == end { Ok(None) } else { Err(Damaged("a document ends too early".into())) };
        }
        let mut name = Vec::new();
        self.offset += (&mut self.reader).take(LONGEST_NAME).read_until(0, &mut name)? as u64;
        match name.pop() {
            Some(0) => Ok(Some((kind, name))),
            _ => Err(Damaged("the name of a field has no end".into())),
        }
    }

    /// Skips a value.
    fn pass(&mut self, kind: u8, end: u64) -> Result<(), Damaged> {
        let len = match kind {
            0x06 | 0x0A | 0x7F | 0xFF => 0,
            0x08 => 1,
            0x10 => 4,
            0x01 | 0x09 | 0x11 | 0x12 => 8,
            0x07 => 12,
            0x13 => 16,
            0x02 | 0x0D | 0x0E => u64::from(u32::from_le_bytes(self.take()?)),
            0x05 => u64::from(u32::from_le_bytes(self.take()?)) + 1,
            0x03 | 0x04 => u64::from(u32::from_le_bytes(self.take()?)).saturating_sub(4),
            other => return Err(Damaged(format!("a field is of the unknown type {other:#04x}"))),
        };
        self.skip(len, end)
    }

    fn skip(&mut self, len: u64, end: u64) -> Result<(), Damaged> {
        if len > end.saturating_sub(self.offset) {
            return Err(Damaged("a field is longer than its document".into()));
        }
        self.reader.seek_relative(len.cast_signed())?;
        self.offset += len;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.offset += N as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn document(elements: &[(u8, &str, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, name, value) in elements {
            body.push(*kind);
            body.extend(name.as_bytes());
            body.push(0);
            body.extend(value);
        }
        let len = body.len() as u32 + 5;
        [&len.to_le_bytes()[..], &body, &[0]].concat()
    }

    fn binary(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_le_bytes()[..], &[0], bytes].concat()
    }

    fn product(category: i32, pictures: &[&[u8]]) -> Vec<u8> {
        let image = |picture: &&[u8]| {
            let text = [&4_u32.to_le_bytes()[..], b"abc\0"].concat();
            document(&[(0x02, "note", text), (0x05, "picture", binary(picture)), (0x08, "is_new", vec![1])])
        };
        let images: Vec<_> = pictures.iter().map(|picture| (0x03, "0", image(picture))).collect();
        document(&[
            (0x10, "_id", vec![1, 0, 0, 0]),
            (0x07, "object", vec![0; 12]),
            (0x04, "imgs", document(&images)),
            (0x10, "category_id", category.to_le_bytes().into()),
        ])
    }

    fn open(bytes: &[u8]) -> Result<Bson, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        Bson::open(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_picture_has_the_category_of_its_product() {
        let file =
            [product(1_000_010_653, &[b"one", b"two"]), product(7, &[]), product(1_000_004_079, &[b"3"])].concat();
        let set = open(&file).unwrap();
        let read: Vec<_> = (0..set.len())
            .map(|number| set.read(number).unwrap())
            .map(|image| (String::from_utf8(image.bytes).unwrap(), image.label))
            .collect();
        assert_eq!(read, [("one", 2), ("two", 2), ("3", 1)].map(|(bytes, label)| (bytes.to_owned(), Some(label))));
        assert_eq!((set.classes(), set.class(2).as_deref()), (Some(3), Some("1000010653")));
    }

    #[test]
    fn a_damaged_file_is_rejected_with_the_product_number() {
        let file = [product(1, &[b"one"]), product(2, &[b"two"])].concat();
        let said = open(&file[..file.len() - 3]).err().unwrap();
        assert!(said.contains("product 1 of ") && said.contains("it is cut short"), "{said}");
        assert!(open(b"").err().unwrap().contains("there is no picture"));
        assert!(open(b"\x02\0\0\0hello").err().unwrap().contains("a document is said to have 2 bytes"));
        assert!(open(&document(&[(0x55, "x", vec![])])).err().unwrap().contains("unknown type 0x55"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = open(&bytes);
        }

        #[test]
        fn a_damaged_file_does_not_panic(place: prop::sample::Index, byte: u8) {
            let mut file = [product(1, &[b"one"]), product(2, &[b"two"])].concat();
            let place = place.index(file.len());
            file[place] = byte;
            if let Ok(set) = open(&file) {
                for number in 0..set.len() {
                    let _ = set.read(number);
                }
            }
        }
    }
}
