//! Shared by the tests: a folder of images, and the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use foreglow_shared::{Sample, parse_line};

/// The binary with a separate cache and without the user's environment.
pub fn foreglow(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foreglow"));
    command
        .args(arguments)
        .env("FOREGLOW_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .env("FOREGLOW_DATA", Path::new(env!("CARGO_TARGET_TMPDIR")).join("data"))
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn output(arguments: &[&str]) -> Output {
    foreglow(arguments).output().unwrap()
}

/// Returns exit code, standard output and standard error.
pub fn answer(arguments: &[&str]) -> (i32, String, String) {
    let output = output(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Returns the exit code and the only sample on standard output.
pub fn sample(arguments: &[&str]) -> (i32, Sample) {
    let (code, out, err) = answer(arguments);
    assert_eq!(out.lines().count(), 1, "one line: {out}\n{err}");
    (code, parse_line(out.trim()).unwrap())
}

/// Creates a folder with `count` small JPEG files.
pub fn images(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..count {
        let shade = (index * 37 % 256) as u8;
        let image = image::RgbImage::from_fn(40, 40, |x, y| image::Rgb([x as u8 * 6, y as u8 * 6, shade]));
        image.save(path(&folder, index)).unwrap();
    }
    folder
}

/// Returns the path of an image.
pub fn path(folder: &tempfile::TempDir, index: usize) -> PathBuf {
    folder.path().join(format!("{index:04}.jpg"))
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates images of one class.
pub fn classed_images() -> tempfile::TempDir {
    let folder = images(100);
    let class = folder.path().join("class");
    std::fs::create_dir(&class).unwrap();
    for index in 0..100 {
        let file = path(&folder, index);
        std::fs::rename(&file, class.join(file.file_name().unwrap())).unwrap();
    }
    folder
}
