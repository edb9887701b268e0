//! TFRecord files of `tf.train.Example`, in one or many shards.

pub mod example;
pub mod record;

use std::fs::File;
use std::path::{Path, PathBuf};

use foreglow_exit::{open_data, unusable};

use self::example::{Feature, features};
use self::record::{FOOTER, RecordRange};
use crate::class_folder::files_in;
use crate::file_part::{expect_part, read_part};
use crate::set::{DataSet, Item, ItemError, Layout, missing};

/// Feature names that writers use for the JPEG or PNG file, in order of preference: TF-slim and the
/// object detection API, TensorFlow Datasets, TensorFlow's guide.
const IMAGE: [&str; 3] = ["image/encoded", "image", "image_raw"];
/// Feature names for the class number.
const LABEL: [&str; 2] = ["image/class/label", "label"];
/// File beside the shards with one class name per line.
pub const CLASSES: &str = "labels.txt";

/// The records of the files, sorted by file name.
pub struct TfRecords {
    shards: Vec<Shard>,
    classes: Vec<String>,
    len: u64,
}

struct Shard {
    path: PathBuf,
    file: File,
    /// Number of its first image.
    first: u64,
    places: Vec<RecordRange>,
}

impl TfRecords {
    /// Finds the records of a file, or of every TFRecord file in a folder.
    ///
    /// # Errors
    /// No file was found, a file cannot be read or is damaged, or there is no record.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let (mut shards, mut len) = (Vec::new(), 0);
        for path in shard_files(path)? {
            let places = record::index(&path)?;
            let file = open_data(&path)
                .map_err(|error| unusable(format!("the TFRecord file {} cannot be read: {error}", path.display())))?;
            let records = places.len() as u64;
            shards.push(Shard { path, file, first: len, places });
            len += records;
        }
        if len == 0 {
            return Err(unusable(format!("there is no TFRecord with an image in {}", path.display())));
        }
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let classes = std::fs::read_to_string(folder.join(CLASSES)).unwrap_or_default();
        Ok(Self { shards, classes: classes.lines().map(str::to_owned).collect(), len })
    }

    fn place(&self, number: u64) -> Option<(&Shard, RecordRange)> {
        let shard = &self.shards[self.shards.partition_point(|shard| shard.first <= number).checked_sub(1)?];
        let place = usize::try_from(number - shard.first).ok()?;
        Some((shard, *shard.places.get(place)?))
    }
}

impl DataSet for TfRecords {
    fn len(&self) -> u64 {
        self.len
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }

    fn name(&self, number: u64) -> String {
        match self.place(number) {
            Some((shard, _)) => format!("record {} of {}", number - shard.first, shard.path.display()),
            None => format!("record {number}"),
        }
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let (shard, place) = self.place(number).ok_or_else(|| missing(number, self.len))?;
        let whole = usize::try_from(place.len).ok().and_then(|len| len.checked_add(FOOTER));
        let whole = whole.ok_or_else(|| ItemError("it does not fit into memory".into()))?;
        let data = read_part(&shard.file, place.offset, whole).map_err(|error| ItemError(error.to_string()))?;
        image(record::checked(data)?)
    }

    fn expect(&self, number: u64) {
        if let Some((shard, place)) = self.place(number) {
            expect_part(&shard.file, place.offset, place.len);
        }
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            numbers.iter().filter_map(|number| Some(self.place(*number)?.0.path.clone())).collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

/// Extracts the image of a record.
fn image(mut message: Vec<u8>) -> Result<Item, ItemError> {
    let (mut best, mut label) = (None, None);
    features(&message, |name, feature| match feature {
        Feature::Bytes(place) => {
            if let Some(rank) = IMAGE.iter().position(|known| known.as_bytes() == name)
                && best.as_ref().is_none_or(|(best, _)| rank < *best)
            {
                best = Some((rank, place));
            }
        }
        Feature::Int(int) => {
            if LABEL.iter().any(|known| known.as_bytes() == name) {
                label = u32::try_from(int).ok();
            }
        }
    })
    .map_err(|_malformed| ItemError("it is not a tf.train.Example".into()))?;
    let Some((_, place)) = best else {
        return Err(ItemError(format!("it has no image under any of the names {}", IMAGE.join(", "))));
    };
    message.truncate(place.end);
    message.drain(..place.start);
    Ok(Item { bytes: message, layout: Layout::File, label })
}

/// Returns the files of a data set: the file itself, or in a folder those with a TFRecord name, or
/// else all files.
fn shard_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = files_in(path)?;
    let named: Vec<PathBuf> = files.iter().filter(|file| is_named_so(file)).cloned().collect();
    Ok(if named.is_empty() { files } else { named })
}

/// Returns whether a file name is that of a TFRecord shard, such as `a.tfrecord`,
/// `a.tfrecord-00000-of-00004` or `train-00000-of-01024`.
pub fn is_named_so(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains(".tfrec")
        || name.rsplit_once("-of-").is_some_and(|(_, of)| of.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::example::{Given, write};
    use super::*;

    #[test]
    fn the_preferred_of_several_image_features_is_used() {
        let message = write(&[("image", Given::Bytes(b"thumb")), ("image/encoded", Given::Bytes(b"jpeg"))]);
        assert_eq!(image(message).unwrap(), Item { bytes: b"jpeg".into(), layout: Layout::File, label: None });
        let message = write(&[("label", Given::Int(3)), ("image", Given::Bytes(b"png"))]);
        assert_eq!(image(message).unwrap(), Item { bytes: b"png".into(), layout: Layout::File, label: Some(3) });
        let error = image(write(&[("text", Given::Bytes(b"no"))])).unwrap_err();
        assert!(error.0.contains("no image under any of the names image/encoded"), "{error:?}");
        assert!(image(b"\xff\xff".to_vec()).unwrap_err().0.contains("not a tf.train.Example"));
    }

    #[test]
    fn shards_are_recognised_by_name() {
        for name in ["a.tfrecord", "b.tfrecords", "train-00000-of-01024", "c.tfrecord-00001-of-00002"] {
            assert!(is_named_so(Path::new(name)), "{name}");
        }
        assert!(!is_named_so(Path::new("labels.txt")) && !is_named_so(Path::new("best-of-all.txt")));
    }

    #[test]
    fn a_damaged_record_does_not_affect_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tfrecord");
        let mut bytes = Vec::new();
        for label in 0..3 {
            let message = write(&[("image/encoded", Given::Bytes(b"jpeg")), ("label", Given::Int(label))]);
            record::write(&mut bytes, &message).unwrap();
        }
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let set = TfRecords::open(dir.path()).unwrap();
        assert_eq!(set.read(2).unwrap().label, Some(2));
        assert!(set.read(1).unwrap_err().0.contains("checksum"));
        assert_eq!(set.name(1), format!("record 1 of {}", path.display()));
    }
}
