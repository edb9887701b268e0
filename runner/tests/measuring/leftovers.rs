//! Ctrl-C leaves no temporary file or folder behind.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench_folder::{foreglow, images, text};

/// Waits until a folder and what is below it satisfy a condition.
fn wait_for(folder: &Path, what: &str, is_there: impl Fn(&[String]) -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !is_there(&files(folder)) {
        assert!(Instant::now() < patience, "no {what} after 20 s: {:?}", files(folder));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the paths below a folder.
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all = Vec::new();
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        all.push(path.display().to_string());
        all.extend(files(&path));
    }
    all
}

/// Interrupts a command and waits for its end.
fn interrupt(mut command: Child) {
    // Open until the end, because the end of its input would also end the command.
    let _input = command.stdin.take();
    kill_process(Pid::from_raw(command.id() as i32).unwrap(), Signal::INT).unwrap();
    assert_eq!(command.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupted_import_removes_its_copy_of_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let (temporary, output) = (folder.path().join("tmp"), folder.path().join("samples.jsonl"));
    std::fs::create_dir(&temporary).unwrap();
    let mut command = foreglow(&["import", "-", "--output", text(&output)]);
    let mut import = command.env("TMPDIR", &temporary).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    import.stdin.as_mut().unwrap().write_all(b"{\"Event\":\n").unwrap();
    wait_for(&temporary, "copy", |files| files.iter().any(|file| file.ends_with("/log")));
    interrupt(import);
    assert_eq!(files(&temporary), [""; 0]);
}

#[test]
fn an_interrupted_pack_leaves_no_part_of_a_shard() {
    let (folder, out) = (images(1), tempfile::tempdir().unwrap());
    // Enough links to an image with a mebibyte of comments for seconds of work.
    let image = std::fs::read(folder.path().join("0000.jpg")).unwrap();
    let comment = [&[0xFF, 0xFE, 0xFF, 0xFF][..], &vec![b' '; 0xFFFD]].concat();
    let large = [&image[..2], &comment.repeat(16), &image[2..]].concat();
    std::fs::write(folder.path().join("0000.jpg"), large).unwrap();
    for number in 1..3000 {
        std::fs::hard_link(folder.path().join("0000.jpg"), folder.path().join(format!("{number:04}.jpg"))).unwrap();
    }
    let mut command = foreglow(&["pack", text(folder.path()), text(out.path())]);
    let pack = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(out.path(), "part", |files| files.iter().any(|file| file.ends_with(".part")));
    interrupt(pack);
    assert_eq!(files(out.path()), [""; 0]);
}

#[test]
fn an_interrupted_generation_leaves_only_whole_files() {
    let cache = tempfile::tempdir().unwrap();
    let arguments = ["run", "--model", "lenet5", "--images", "200000", "--cache-dir", text(cache.path())];
    let run = foreglow(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(cache.path(), "image", |files| files.iter().filter(|file| file.ends_with(".jpg")).count() > 20);
    interrupt(run);
    let all = files(cache.path());
    assert!(all.iter().all(|file| !file.contains(".part-")), "{all:?}");
}
