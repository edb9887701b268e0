//! Errors of the file system below SQLite, by `tests/io-faults/faults.c`: whatever call fails, what
//! was acknowledged is in the store, once and unchanged, and what was not is refused.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the process that meets the errors says what it stored")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use foreglow_shared::{Sample, Uuid, parse_line};
use foreglow_store::{Filter, Location, Store};

const FAULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/io-faults/faults.c");
/// Store of the process that meets the errors.
const CHILD: &str = "FOREGLOW_IO_CHILD";
const BATCHES: u128 = 12;
const OF_BATCH: u128 = 40;
const LINE: &str = r#"{"schema":1,"id":"01890000-0000-7000-8000-000000000001","workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},"configuration":{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8,"accelerator":null},"sampling_rate":0.1,"outcome":"completed","completion_time_secs":2.5,"engine":"local","runner_version":"0.1.0","host":{"cpu":"A","adapter":null},"started_at":"2026-11-21T10:00:00Z"}"#;

fn sample(number: u128) -> Sample {
    let mut sample = parse_line(LINE).unwrap();
    sample.id = Uuid::from_u128((0x0189 << 112) | (7 << 76) | (2 << 62) | number);
    sample.configuration.executors = 1 + number as u32 % 7;
    sample
}

fn batch(number: u128) -> Vec<Sample> {
    (number * OF_BATCH..(number + 1) * OF_BATCH).map(sample).collect()
}

/// Stores batches, and says of each whether it was acknowledged. A refused batch is sent once more.
fn store_batches(path: &Path) {
    let mut store = match Store::open(Some(&Location::File(path.to_owned()))) {
        Ok(store) => store,
        Err(error) => return println!("refused: {error:#}"),
    };
    for number in 0..BATCHES {
        for _ in 0..2 {
            match store.insert(&batch(number)) {
                Ok(_) => {
                    println!("kept: {number}");
                    break;
                }
                Err(error) => println!("refused: {error:#}"),
            }
        }
    }
    // Without the end of the connection, as a kill.
    std::process::abort();
}

fn library(folder: &Path) -> PathBuf {
    let library = folder.join("libfaults.so");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o"])
        .arg(&library)
        .args([FAULTS, "-ldl"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

fn run(library: &Path, fault: &str, store: &Path) -> Output {
    let test = "errors_of_the_file_system_lose_nothing_that_was_acknowledged";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, store)
        .env("LD_PRELOAD", library)
        .env("FOREGLOW_IO_FAULT", fault)
        .output()
        .unwrap()
}

#[test]
fn errors_of_the_file_system_lose_nothing_that_was_acknowledged() {
    if let Some(path) = std::env::var_os(CHILD) {
        return store_batches(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path());
    for kind in ["write", "full", "short", "sync", "read", "cut"] {
        let mut refused = 0;
        for (first, count) in (0..20).map(|step: u32| (1 + step * step, if step % 3 == 2 { 1_000_000 } else { 1 })) {
            let fault = format!("{kind}:{first}:{count}");
            let path = folder.path().join(format!("{kind}-{first}.sqlite"));
            let said = String::from_utf8(run(&library, &fault, &path).stdout).unwrap();
            let of_lines = |start: &str| said.lines().filter_map(|line| line.split_once(start)).collect::<Vec<_>>();
            refused += of_lines("refused: ").len();
            let acknowledged: Vec<u128> =
                of_lines("kept: ").iter().map(|(_, number)| number.parse().unwrap()).collect();
            let store = match Store::open(Some(&Location::File(path.clone()))) {
                Ok(store) => store,
                Err(error) => panic!("{fault}: {error:#}\n{said}"),
            };
            let findings = store.check().unwrap();
            assert!(findings.is_sound(), "{fault}: {findings:?}\n{said}");
            let stored = store.samples(&Filter::default()).unwrap();
            let of_batch = |number: u128| -> Vec<&Sample> {
                let ids: Vec<Uuid> = batch(number).iter().map(|sample| sample.id).collect();
                stored.iter().filter(|sample| ids.contains(&sample.id)).collect()
            };
            for number in 0..BATCHES {
                let (found, sent) = (of_batch(number), batch(number));
                let is_whole = found == sent.iter().collect::<Vec<_>>();
                assert!(is_whole || found.is_empty(), "{fault}: a part of batch {number}\n{said}");
                assert!(is_whole || !acknowledged.contains(&number), "{fault}: batch {number} is lost\n{said}");
            }
        }
        // A store that is small makes no checkpoint, and so never truncates a file.
        assert!(refused > 0 || kind == "cut", "no call of the kind {kind} failed");
    }
}
