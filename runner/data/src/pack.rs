//! Writes any set of images as TFRecord shards of `tf.train.Example`, with the feature names of
//! TF-slim.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{Temporary, create_in_place, unusable};
use image::ImageEncoder as _;
use image::codecs::png::PngEncoder;

use crate::class_folder::files_in;
use crate::images::decode;
use crate::images::tfrecord::{CLASSES, example, is_named_so, record};
use crate::sample::draw;
use crate::set::{DataSet, Item, ItemError, Layout};
use crate::signature::TFRECORD_HEADER;

/// Rule that divides the images into shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// This number of shards with nearly equal numbers of images.
    Shards(u64),
    /// A new shard once the current one has reached this size in bytes.
    Bytes(u64),
}

/// Options for packing a set.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Prefix of the shards' file names.
    pub name: String,
    /// Division into shards.
    pub split: Split,
    /// Seed of the image order.
    pub seed: u64,
    /// Broken images to skip before packing fails.
    pub broken_limit: u64,
}

/// Result of packing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Paths of the shards, in order.
    pub shards: Vec<PathBuf>,
    /// Images written.
    pub images: u64,
    /// Total size of the shards, bytes.
    pub bytes: u64,
    /// Skipped images, each with the reason.
    pub broken: Vec<String>,
}

/// Packs the first `images` images of a set into a folder. The result is a function of the images,
/// the seed and the split. The shards are renamed to their final names at the end, so that every
/// named shard is complete.
///
/// # Errors
/// The folder already holds shards, it cannot be written, or more images are broken than allowed.
pub fn pack(
    set: &dyn DataSet,
    images: u64,
    out: &Path,
    packing: &Packing,
    progress: &mut dyn FnMut(u64, u64),
) -> anyhow::Result<Packed> {
    let shown = out.display();
    std::fs::create_dir_all(out)
        .map_err(|error| unusable(format!("the folder {shown} cannot be created: {error}; name another one")))?;
    if let Some(there) = files_in(out)?.into_iter().find(|file| is_named_so(file)) {
        let there = there.display();
        return Err(unusable(format!("{there} already exists; name an empty folder, or remove it first")));
    }
    let mut parts = Parts { out, packing, written: Vec::new(), open: None };
    let result = write_all(set, images, &mut parts, progress).and_then(|mut packed| {
        write_classes(set, out)
            .with_context(|| format!("the names of the classes could not be written into {shown}"))?;
        (packed.shards, packed.bytes) = parts.name_all()?;
        Ok(packed)
    });
    if result.is_err() {
        parts.remove();
    }
    result
}

fn write_all(
    set: &dyn DataSet,
    images: u64,
    parts: &mut Parts<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> anyhow::Result<Packed> {
    let mut packed = Packed::default();
    for (place, number) in draw(images, 1.0, parts.packing.seed).into_iter().enumerate() {
        let place = place as u64;
        match example_of(set, number) {
            Ok(message) => {
                parts.add(&message, place, images)?;
                packed.images += 1;
            }
            Err(ItemError(why)) => {
                packed.broken.push(format!("{} ({why})", set.name(number)));
                let (broken, limit) = (packed.broken.len(), parts.packing.broken_limit);
                if broken as u64 > limit {
                    let first = &packed.broken[0];
                    return Err(unusable(format!(
                        "broken images: {broken} of the first {}, more than the {limit} that --max-broken allows; the first is {first}",
                        place + 1
                    )));
                }
            }
        }
        progress(place + 1, images);
    }
    if packed.images == 0 {
        return Err(unusable("there is no image to pack"));
    }
    Ok(packed)
}

/// Shards under their temporary names.
struct Parts<'a> {
    out: &'a Path,
    packing: &'a Packing,
    written: Vec<(Temporary, u64)>,
    open: Option<BufWriter<File>>,
}

impl Parts<'_> {
    /// Adds an image; `place` is its position among all images.
    fn add(&mut self, message: &[u8], place: u64, images: u64) -> anyhow::Result<()> {
        let is_new = match (self.packing.split, self.written.last()) {
            (_, None) => true,
            (Split::Bytes(limit), Some((_, bytes))) => *bytes >= limit,
            // Shard k starts at position ⌈k · images ÷ shards⌉.
            (Split::Shards(shards), Some(_)) => place * shards / images >= self.written.len() as u64,
        };
        self.try_add(message, is_new).map_err(|cause| {
            let out = self.out.display();
            let is_full = cause.kind() == io::ErrorKind::StorageFull;
            let sentence =
                if is_full { format!("the disk of {out} is full") } else { format!("{out} could not be written") };
            anyhow::Error::new(cause).context(sentence)
        })
    }

    fn try_add(&mut self, message: &[u8], is_new: bool) -> io::Result<()> {
        if is_new {
            self.close()?;
            let path = self.out.join(format!(".{}-{:05}.part", self.packing.name, self.written.len()));
            let part = Temporary::at(path);
            self.open = Some(BufWriter::with_capacity(1 << 20, create_in_place(part.path())?));
            self.written.push((part, 0));
        }
        if let (Some(file), Some((_, bytes))) = (&mut self.open, self.written.last_mut()) {
            record::write(file, message)?;
            *bytes += (TFRECORD_HEADER + message.len() + record::FOOTER) as u64;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.open.take().map_or(Ok(()), |mut file| file.flush())
    }

    /// Renames the shards to their final names, which contain the number of shards.
    fn name_all(&mut self) -> anyhow::Result<(Vec<PathBuf>, u64)> {
        self.close().with_context(|| format!("{} could not be written", self.out.display()))?;
        let (mut shards, mut bytes) = (Vec::new(), 0);
        let count = self.written.len();
        for (index, (part, size)) in self.written.drain(..).enumerate() {
            let name = format!("{}-{index:05}-of-{count:05}.tfrecord", self.packing.name);
            std::fs::rename(part.path(), self.out.join(&name))
                .with_context(|| format!("{} could not be written", self.out.display()))?;
            part.keep();
            shards.push(self.out.join(name));
            bytes += size;
        }
        Ok((shards, bytes))
    }

    /// Removes the temporary files.
    fn remove(&mut self) {
        self.open = None;
        self.written.clear();
    }
}

/// Returns the `tf.train.Example` message of an image.
fn example_of(set: &dyn DataSet, number: u64) -> Result<Vec<u8>, ItemError> {
    use example::Given;
    let image = set.read(number)?;
    let (width, height) = decode::size(&image)?;
    let (file, format) = as_file(&image, width, height)?;
    let class = image.label.and_then(|label| set.class(label));
    let mut features = vec![
        ("image/encoded", Given::Bytes(&file)),
        ("image/format", Given::Bytes(format)),
        ("image/height", Given::Int(height.into())),
        ("image/width", Given::Int(width.into())),
    ];
    features.extend(image.label.map(|label| ("image/class/label", Given::Int(label.into()))));
    features.extend(class.as_ref().map(|class| ("image/class/text", Given::Bytes(class.as_bytes()))));
    Ok(example::write(&features))
}

/// Returns the encoded file of an image; raw pixels are encoded as PNG.
fn as_file(image: &Item, width: u32, height: u32) -> Result<(Vec<u8>, &'static [u8]), ItemError> {
    let (pixels, colour) = match image.layout {
        Layout::File => {
            let format: &[u8] = if image.bytes.starts_with(&[0xFF, 0xD8]) { b"jpeg" } else { b"png" };
            return Ok((image.bytes.clone(), format));
        }
        Layout::Grey { .. } => (image.bytes.clone(), image::ExtendedColorType::L8),
        Layout::Text => return Err(decode::is_text()),
        Layout::Planes { .. } => (decode::interleaved(&image.bytes), image::ExtendedColorType::Rgb8),
    };
    let mut file = Vec::new();
    PngEncoder::new(&mut file)
        .write_image(&pixels, width, height, colour)
        .map_err(|error| ItemError(format!("it cannot be written as PNG: {error}")))?;
    Ok((file, b"png"))
}

/// Writes the class names if every label has one.
fn write_classes(set: &dyn DataSet, out: &Path) -> io::Result<()> {
    let names: Option<Vec<String>> = (0..set.classes().unwrap_or(0)).map(|label| set.class(label)).collect();
    match names.filter(|names| !names.is_empty()) {
        None => Ok(()),
        Some(names) => std::fs::write(out.join(CLASSES), names.join("\n") + "\n"),
    }
}
