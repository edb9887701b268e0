//! Detection of a data set's format from the content of its files.

use std::io::Read as _;
use std::path::Path;

use foreglow_exit::{open_data, unusable};

use crate::class_folder::files_in;
use crate::foreign;
use crate::images::{folder, idx, tfrecord};
use crate::signature::{CIFAR10_RECORD, GZIP, TFRECORD_HEADER, tfrecord_length};
use crate::source::{Kind, Source};

/// Formats of a data set, by the names that users give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Detect the format from the files
    #[default]
    Auto,
    /// JPEG and PNG files, one sub-folder per class
    Folder,
    /// TFRecord files of tf.train.Example
    Tfrecord,
    /// The binary version of CIFAR-10
    Cifar10,
    /// MNIST's IDX files, plain or gzip-compressed
    Idx,
    /// A BSON file of products, as in the Cdiscount data set
    Bson,
}

impl Format {
    /// Returns the source at this path in this format.
    ///
    /// # Errors
    /// The path does not exist or is in an unknown format.
    pub fn source(self, path: &Path) -> anyhow::Result<Source> {
        if !path.exists() {
            let shown = path.display();
            return Err(unusable(format!("{shown} does not exist; give an existing folder or file of images")));
        }
        // The opening of a pipe would wait for its writer.
        if !path.is_dir() && !path.is_file() {
            return Err(unusable(format!("{} is a pipe or a device; save the data in a file", path.display())));
        }
        Ok(match self {
            Self::Auto => return detect(path),
            Self::Folder => Kind::Folder.at(path),
            Self::Tfrecord => Kind::Tfrecord.at(path),
            Self::Cifar10 => Kind::Cifar10.at(path),
            Self::Idx => Kind::Idx.at(path),
            Self::Bson => Kind::Bson.at(path),
        })
    }
}

/// Detects the format of a file from its content, and of a folder from the first file that is an
/// image or a data file. Other folders count as class folders of images.
fn detect(path: &Path) -> anyhow::Result<Source> {
    if !path.is_dir() {
        let shown = path.display();
        if folder::is_image(path) {
            return Err(unusable(format!("{shown} is one image; give the folder that holds the images")));
        }
        if let Some(format) = sniff(path) {
            return format.source(path);
        }
        return Err(unusable(match foreign::description(path) {
            Some(found) => format!("{shown} {found}"),
            None => format!(
                "{shown} is not a TFRecord, CIFAR-10, IDX or BSON file; if it is damaged, give its format with \
                --data-format"
            ),
        }));
    }
    for file in files_in(path)? {
        if folder::is_image(&file) {
            break;
        }
        if let Some(format) = sniff(&file) {
            return format.source(path);
        }
    }
    Ok(Kind::Folder.at(path))
}

/// Returns the format of a data file from its first bytes or, failing that, from its name and size.
fn sniff(path: &Path) -> Option<Format> {
    let mut start = Vec::new();
    open_data(path).ok()?.take(TFRECORD_HEADER as u64).read_to_end(&mut start).ok()?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if idx::first_bytes(path) == Some(idx::IMAGES) {
        Some(Format::Idx)
    } else if start.first_chunk().is_some_and(|header| tfrecord_length(*header).is_some())
        || tfrecord::is_named_so(path) && !start.starts_with(&GZIP)
    {
        Some(Format::Tfrecord)
    } else if ending == "bson" {
        Some(Format::Bson)
    } else if ending == "bin" && path.metadata().is_ok_and(|file| file.len() > 0 && file.len() % CIFAR10_RECORD == 0) {
        Some(Format::Cifar10)
    } else {
        None
    }
}
