//! The binary version of CIFAR-10 (cs.toronto.edu/~kriz/cifar.html): records of one label byte and
//! 3 × 32 × 32 pixels in planar order.

use std::fs::File;
use std::path::{Path, PathBuf};

use foreglow_exit::{open_data, unusable};

use crate::class_folder::files_in;
use crate::file_part::{expect_part, read_part};
use crate::foreign;
use crate::set::{DataSet, Item, ItemError, Layout, missing};
use crate::signature::CIFAR10_RECORD as RECORD;

const SIDE_PX: u32 = 32;
const CLASSES: u32 = 10;
/// File beside the batches with one class name per line.
const NAMES: &str = "batches.meta.txt";

/// The records of one or more files, sorted by file name.
pub struct Cifar10 {
    batches: Vec<Batch>,
    classes: Vec<String>,
    len: u64,
}

struct Batch {
    path: PathBuf,
    file: File,
    /// Number of its first image.
    first: u64,
}

impl Cifar10 {
    /// Opens a file, or every `.bin` file of a folder.
    ///
    /// # Errors
    /// No file was found, or a file is not a whole number of records.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let (mut batches, mut len) = (Vec::new(), 0);
        for path in batch_files(path)? {
            let shown = path.display();
            let unreadable = |error| unusable(format!("the CIFAR-10 file {shown} cannot be read: {error}"));
            let file = open_data(&path).map_err(unreadable)?;
            let bytes = file.metadata().map_err(unreadable)?.len();
            if bytes == 0 || !bytes.is_multiple_of(RECORD) {
                return Err(unusable(format!(
                    "{shown} has {bytes} bytes, and the size of a CIFAR-10 file is a multiple of {RECORD}: it is cut \
                    short, or another format{}",
                    foreign::hint(&path)
                )));
            }
            batches.push(Batch { path, file, first: len });
            len += bytes / RECORD;
        }
        if len == 0 {
            return Err(unusable(format!(
                "there is no CIFAR-10 file (.bin) in {}{}",
                path.display(),
                foreign::hint(path)
            )));
        }
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let names = open_data(&folder.join(NAMES)).and_then(std::io::read_to_string).unwrap_or_default();
        let classes = names.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(Self { batches, classes, len })
    }

    fn place(&self, number: u64) -> Option<(&Batch, u64)> {
        let batch = &self.batches[self.batches.partition_point(|batch| batch.first <= number).checked_sub(1)?];
        (number < self.len).then(|| (batch, (number - batch.first) * RECORD))
    }
}

impl DataSet for Cifar10 {
    fn len(&self) -> u64 {
        self.len
    }

    fn classes(&self) -> Option<u32> {
        Some(CLASSES)
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }

    fn name(&self, number: u64) -> String {
        match self.place(number) {
            Some((batch, _)) => format!("image {} of {}", number - batch.first, batch.path.display()),
            None => format!("image {number}"),
        }
    }

    fn read(&self, number: u64) -> Result<Item, ItemError> {
        let (batch, offset) = self.place(number).ok_or_else(|| missing(number, self.len))?;
        let mut bytes =
            read_part(&batch.file, offset, RECORD as usize).map_err(|error| ItemError(error.to_string()))?;
        let label = u32::from(bytes.remove(0));
        if label >= CLASSES {
            return Err(ItemError(format!("its label is {label}, and CIFAR-10 has {CLASSES} classes")));
        }
        Ok(Item { bytes, layout: Layout::Planes { width: SIDE_PX, height: SIDE_PX }, label: Some(label) })
    }

    fn expect(&self, number: u64) {
        if let Some((batch, offset)) = self.place(number) {
            expect_part(&batch.file, offset, RECORD);
        }
    }

    fn files(&self, _numbers: &[u64]) -> Vec<PathBuf> {
        self.batches.iter().map(|batch| batch.path.clone()).collect()
    }
}

fn batch_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = files_in(path)?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "bin"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(label: u8, fill: u8) -> Vec<u8> {
        [vec![label], vec![fill; RECORD as usize - 1]].concat()
    }

    #[test]
    fn the_batches_of_a_folder_form_one_set() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("data_batch_1.bin"), [record(3, 9), record(4, 8)].concat()).unwrap();
        std::fs::write(dir.path().join("data_batch_2.bin"), record(9, 7)).unwrap();
        std::fs::write(dir.path().join("batches.meta.txt"), "airplane\nautomobile\n\n").unwrap();
        let set = Cifar10::open(dir.path()).unwrap();
        let read: Vec<_> = (0..set.len()).map(|number| set.read(number).unwrap()).collect();
        assert_eq!(
            read.iter().map(|image| (image.label, image.bytes[0])).collect::<Vec<_>>(),
            [(Some(3), 9), (Some(4), 8), (Some(9), 7)]
        );
        assert!(read.iter().all(|image| image.bytes.len() == 3072));
        assert_eq!(set.class(1).as_deref(), Some("automobile"));
        assert!(set.name(2).starts_with("image 0 of ") && set.name(2).ends_with("data_batch_2.bin"));
        assert!(set.read(3).is_err());
    }

    #[test]
    fn an_invalid_label_and_a_truncated_file_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        std::fs::write(&path, record(10, 0)).unwrap();
        assert!(Cifar10::open(&path).unwrap().read(0).unwrap_err().0.contains("its label is 10"));
        std::fs::write(&path, &record(1, 0)[..3000]).unwrap();
        let said = Cifar10::open(&path).err().unwrap().to_string();
        assert!(said.contains("has 3000 bytes, and the size of a CIFAR-10 file is a multiple of 3073"), "{said}");
    }
}
