//! Draws photographs of nothing: JPEG files with gradients, soft shapes and noise, whose class decides shapes and colours,
//! so that decoding them is real work and they need no download.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io};

use anyhow::Context as _;
use image::codecs::jpeg::JpegEncoder;
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};

use super::ImageError;
use super::folder::{expect_file, read_file};
use super::set::{Image, ImageSet};

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Drawing {
    /// Photographs of nothing, 128 px, in colour
    #[default]
    Photographs,
    /// Digits, 32 px, in grey, whose classes a CNN can learn
    Digits,
}

impl Drawing {
    /// Name of the folder in the cache. Another drawing or another encoder gets another name: a cached file is never wrong.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Photographs => "drawn-128px-1",
            Self::Digits => "digits-32px-1",
        }
    }

    /// The JPEG file of an image: a function of its number alone.
    fn file(self, index: u64) -> Vec<u8> {
        match self {
            Self::Photographs => draw(index),
            Self::Digits => super::digits::draw(index),
        }
    }
}

const SIDE_PX: u32 = 128;
const CLASSES: u64 = 10;
const QUALITY: u8 = 90;

/// Told how many images are there, and how many there will be.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Where the image of that number lies.
pub fn path(root: &Path, index: u64) -> PathBuf {
    root.join(format!("class_{}", index % CLASSES)).join(format!("{index:08}.jpg"))
}

/// The drawn images: as many as anybody asks for, once they are drawn.
pub struct Drawn {
    root: PathBuf,
}

impl Drawn {
    /// Those in that folder of the cache.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

impl ImageSet for Drawn {
    fn len(&self) -> u64 {
        u64::MAX
    }

    fn classes(&self) -> Option<u32> {
        Some(CLASSES as u32)
    }

    fn class(&self, label: u32) -> Option<String> {
        Some(format!("class_{label}"))
    }

    fn name(&self, number: u64) -> String {
        path(&self.root, number).display().to_string()
    }

    fn read(&self, number: u64) -> Result<Image, ImageError> {
        read_file(&path(&self.root, number), Some((number % CLASSES) as u32))
    }

    fn expect(&self, number: u64) {
        expect_file(&path(&self.root, number));
    }

    fn files(&self, numbers: &[u64]) -> Vec<PathBuf> {
        numbers.iter().map(|number| path(&self.root, *number)).collect()
    }
}

/// Draws those of the first `images` images that are not there yet, on all processors.
///
/// # Errors
/// The cache cannot be written; the sentence names the full disk where it is one.
pub fn generate(drawing: Drawing, root: &Path, images: u64, progress: Progress<'_>) -> anyhow::Result<()> {
    let missing: Vec<u64> = (0..images).filter(|index| !is_there(&path(root, *index))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for class in 0..CLASSES {
        let folder = root.join(format!("class_{class}"));
        fs::create_dir_all(&folder).with_context(|| {
            format!("the image cache {} cannot be made; name another one with --cache-dir", folder.display())
        })?;
    }
    let there = images - missing.len() as u64;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(missing.len());
    let (drawn, failed, error) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (missing, drawn, failed, error) = (&missing, &drawn, &failed, &error);
            scope.spawn(move || {
                for index in missing.iter().skip(thread).step_by(threads) {
                    if failed.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Err(cause) = write(drawing, root, *index) {
                        failed.store(true, Ordering::Relaxed);
                        *error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(cause);
                        return;
                    }
                    drawn.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while drawn.load(Ordering::Relaxed) < missing.len() as u64 && !failed.load(Ordering::Relaxed) {
            progress(there + drawn.load(Ordering::Relaxed), images);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    match error.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(cause) => Err(explain(root, cause)),
        None => {
            progress(images, images);
            Ok(())
        }
    }
}

fn explain(root: &Path, cause: io::Error) -> anyhow::Error {
    let shown = root.display();
    let sentence = if cause.kind() == io::ErrorKind::StorageFull {
        format!("the disk of the image cache {shown} is full; free some space or name another disk with --cache-dir")
    } else {
        format!("an image could not be written to the cache {shown}; name another one with --cache-dir")
    };
    anyhow::Error::new(cause).context(sentence)
}

/// A file under its final name is complete: it gets that name only once all of it is written. A crash of the machine can
/// leave an empty file, which is drawn again.
fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

fn write(drawing: Drawing, root: &Path, index: u64) -> io::Result<()> {
    let path = path(root, index);
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let done = fs::write(&part, drawing.file(index)).and_then(|()| fs::rename(&part, &path));
    if done.is_err() {
        // The part is worth nothing, and on a full disk its room is.
        let _ = fs::remove_file(&part);
    }
    done
}

/// The bytes of one photograph.
fn draw(index: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(index);
    let mut unit = || random.random::<f32>();
    let class = (index % CLASSES) as f32 / CLASSES as f32;
    let side = SIDE_PX as f32;
    let sky: [f32; 3] = std::array::from_fn(|channel| 0.3 + 0.4 * wave(class + channel as f32 / 3.0 + 0.1 * unit()));
    let tilt = [unit() - 0.5, unit() - 0.5];
    let shapes: Vec<Shape> = (0..3 + index % CLASSES).map(|_| Shape::draw(class, &mut unit)).collect();
    let mut pixels = Vec::with_capacity((SIDE_PX * SIDE_PX * 3) as usize);
    for y in 0..SIDE_PX {
        for x in 0..SIDE_PX {
            let (u, v) = (x as f32 / side, y as f32 / side);
            let light = tilt[0] * (u - 0.5) + tilt[1] * (v - 0.5);
            let mut colour = sky.map(|channel| channel + light);
            for shape in &shapes {
                let cover = shape.cover(u, v);
                for (channel, paint) in colour.iter_mut().zip(shape.colour) {
                    *channel += (paint - *channel) * cover;
                }
            }
            let grain = 0.06 * (unit() - 0.5);
            pixels.extend(colour.map(|channel| ((channel + grain).clamp(0.0, 1.0) * 255.0) as u8));
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode(&pixels, SIDE_PX, SIDE_PX, image::ExtendedColorType::Rgb8)
        .expect("a picture of fixed size in memory is encoded into memory");
    jpeg
}

/// An ellipse or a bar with a soft edge.
struct Shape {
    centre: [f32; 2],
    radius: [f32; 2],
    turn: [f32; 2],
    power: f32,
    colour: [f32; 3],
}

impl Shape {
    fn draw(class: f32, unit: &mut impl FnMut() -> f32) -> Self {
        let angle = (class + 0.2 * unit()) * std::f32::consts::TAU;
        Self {
            centre: [unit(), unit()],
            radius: [0.05 + 0.2 * unit(), 0.03 + 0.1 * unit()],
            turn: [angle.cos(), angle.sin()],
            power: if class < 0.5 { 2.0 } else { 8.0 },
            colour: std::array::from_fn(|channel| wave(class * 2.0 + channel as f32 * 0.27 + 0.3 * unit())),
        }
    }

    fn cover(&self, u: f32, v: f32) -> f32 {
        let (x, y) = (u - self.centre[0], v - self.centre[1]);
        let along = (x * self.turn[0] + y * self.turn[1]) / self.radius[0];
        let across = (y * self.turn[0] - x * self.turn[1]) / self.radius[1];
        if along.abs().max(across.abs()) > 1.5 {
            return 0.0;
        }
        1.0 / (1.0 + (along.abs().powf(self.power) + across.abs().powf(self.power)).powi(4))
    }
}

/// From 0 to 1 and back as the phase goes round.
fn wave(phase: f32) -> f32 {
    0.5 + 0.5 * (phase * std::f32::consts::TAU).sin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_a_function_of_its_number() {
        assert_eq!(draw(17), draw(17));
        assert_ne!(draw(17), draw(27), "two images of one class differ");
        let decoded = image::load_from_memory(&draw(17)).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (SIDE_PX, SIDE_PX));
    }

    #[test]
    fn asking_for_more_images_adds_files_and_leaves_the_others_alone() {
        let dir = tempfile::tempdir().unwrap();
        generate(Drawing::Photographs, dir.path(), 12, &mut |_, _| {}).unwrap();
        let first = fs::metadata(path(dir.path(), 0)).unwrap().modified().unwrap();
        let mut told = Vec::new();
        generate(Drawing::Photographs, dir.path(), 20, &mut |there, all| told.push((there, all))).unwrap();
        assert_eq!(told.last(), Some(&(20, 20)));
        assert!((0..20).all(|index| is_there(&path(dir.path(), index))));
        assert_eq!(fs::metadata(path(dir.path(), 0)).unwrap().modified().unwrap(), first);
        assert_eq!(
            walkdir::WalkDir::new(dir.path()).into_iter().filter(|e| e.as_ref().unwrap().path().is_file()).count(),
            20
        );
    }

    #[test]
    fn what_a_killed_generator_left_is_not_taken_for_an_image() {
        let dir = tempfile::tempdir().unwrap();
        generate(Drawing::Photographs, dir.path(), 3, &mut |_, _| {}).unwrap();
        let half = path(dir.path(), 1);
        fs::rename(&half, half.with_extension("part-1")).unwrap();
        fs::write(path(dir.path(), 2), b"").unwrap();
        generate(Drawing::Photographs, dir.path(), 3, &mut |_, _| {}).unwrap();
        for index in 0..3 {
            assert_eq!(fs::read(path(dir.path(), index)).unwrap(), draw(index));
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), b"").unwrap();
        let error = generate(Drawing::Photographs, &dir.path().join("file"), 1, &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains("name another one with --cache-dir"), "{error}");
        let full = explain(dir.path(), io::ErrorKind::StorageFull.into());
        assert!(full.to_string().contains("is full; free some space"), "{full}");
    }
}
