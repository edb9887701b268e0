//! Images in data-set formats, and the throughput of reading them.

use std::path::{Path, PathBuf};

use foreglow_shared::Outcome;

use crate::bench_folder::{answer, images, path, sample, text};

/// A folder of images packed into two shards.
fn packed(count: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = images(count);
    let out = folder.path().join("packed");
    let (code, _, err) = answer(&["pack", text(folder.path()), text(&out), "--shards", "2", "--name", "train"]);
    assert_eq!(code, 0, "{err}");
    (folder, out)
}

fn run(data: &Path, more: &[&str]) -> (i32, foreglow_shared::Sample) {
    let arguments = ["run", "--model", "lenet5", "--data", text(data), "--sampling-rate", "1", "--device", "cpu"];
    sample(&[&arguments[..], more, &["--format", "json"]].concat())
}

#[test]
fn a_packed_folder_gives_the_results_of_the_folder() {
    let (folder, out) = packed(6);
    let mut names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord"]);
    for data in [folder.path(), &out, &out.join("train-00001-of-00002.tfrecord")] {
        let (code, sample) = run(data, &[]);
        assert_eq!((code, sample.outcome), (0, Outcome::Completed), "{sample:?}");
        let images = if data.is_dir() { 6 } else { 3 };
        assert_eq!((sample.workload.images, sample.images_processed), (images, Some(images)));
    }
}

#[test]
fn packing_is_deterministic() {
    let (folder, out) = packed(5);
    let again = folder.path().join("again");
    let arguments = ["pack", text(folder.path()), text(&again), "--shards", "2", "--name", "train", "--format", "json"];
    // The shards of the first packing are inside the folder, and are not images.
    let (code, answered, err) = answer(&arguments);
    assert_eq!(code, 0, "{err}");
    let answered: serde_json::Value = serde_json::from_str(&answered).unwrap();
    assert_eq!((&answered["schema"], &answered["images"]), (&1.into(), &5.into()));
    for shard in answered["shards"].as_array().unwrap() {
        let shard = Path::new(shard.as_str().unwrap());
        let first = out.join(shard.file_name().unwrap());
        assert_eq!(std::fs::read(shard).unwrap(), std::fs::read(first).unwrap());
    }
    let (code, _, err) = answer(&arguments);
    assert_eq!(code, 2);
    assert!(err.contains("already exists; name an empty folder"), "{err}");
}

#[test]
fn a_damaged_record_is_reported_with_its_file() {
    let (_folder, out) = packed(4);
    let shard = out.join("train-00000-of-00002.tfrecord");
    let whole = std::fs::read(&shard).unwrap();
    let mut bytes = whole.clone();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(&shard, &bytes).unwrap();
    let (code, sample) = run(&out, &[]);
    assert_eq!((code, sample.outcome), (2, Outcome::Failed));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("record 1 of ") && reason.contains("train-00000-of-00002.tfrecord"), "{reason}");
    assert!(reason.contains("checksum (CRC-32C) is wrong"), "{reason}");
    let (code, sample) = run(&out, &["--max-broken", "1"]);
    assert_eq!((code, sample.images_processed), (0, Some(3)));
    assert_eq!((sample.sampling_rate, sample.workload.images), (1.0, 4), "the whole job, of which one is broken");

    // A wrong length hides all later records, so the run is rejected.
    bytes = whole;
    bytes[0] ^= 1;
    std::fs::write(&shard, &bytes).unwrap();
    let (code, out, err) = answer(&["run", "--data", text(&out), "--format", "json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("record 0 of ") && err.contains("wrong checksum"), "{err}");
}

#[test]
fn an_image_of_30000_px_is_rejected_by_its_header() {
    let folder = images(2);
    let mut bytes = std::fs::read(path(&folder, 1)).unwrap();
    let frame = bytes.windows(2).position(|marker| marker == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0x75, 0x30, 0x75, 0x30]);
    std::fs::write(path(&folder, 1), bytes).unwrap();
    let (code, sample) = run(folder.path(), &["--memory", "300"]);
    assert_eq!((code, sample.outcome), (2, Outcome::Failed), "not out of memory");
    let reason = sample.reason.unwrap();
    assert!(reason.contains("0001.jpg (it has 30000 × 30000 px; at most 16384"), "{reason}");
}

#[test]
fn packing_rejects_invalid_arguments() {
    let folder = images(3);
    let (data, out) = (text(folder.path()).to_owned(), folder.path().join("out"));
    let cases: &[(&[&str], &str)] = &[
        (&["--shards", "0"], "'0' for '--shards <N>': write a whole number, 1 or more"),
        (&["--shards", "4"], "4 shards are more than the 3 images; give --shards 3 or less"),
        (&["--shard-mib", "0"], "'0' for '--shard-mib <MIB>': write a whole number, 1 or more"),
        (&["--name", "a/b"], "--name is \"a/b\""),
    ];
    for (arguments, sentence) in cases {
        let (code, answered, err) = answer(&[&["pack", &data, text(&out)], *arguments].concat());
        assert_eq!((code, answered.as_str()), (2, ""), "{err}");
        assert!(err.contains(sentence), "{err}");
    }
}

#[test]
fn the_read_test_compares_every_combination_with_the_cnn() {
    let (folder, out) = packed(12);
    let arguments = ["read-test", text(folder.path()), text(&out), "--model", "lenet5", "--device", "cpu"];
    let sizes = ["--batch-size", "2,3", "--batches", "1,4", "--repeat", "2", "--cache", "on"];
    let (code, answered, err) = answer(&[&arguments[..], &sizes, &["--format", "json"]].concat());
    assert_eq!(code, 0, "{err}");
    let answered: serde_json::Value = serde_json::from_str(&answered).unwrap();
    let tests = answered["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2 * 2 * 2 * 2);
    for test in tests {
        let size = |name: &str| test[name].as_u64().unwrap();
        assert_eq!(size("images"), size("batch_size") * size("batches"));
        assert!(test["images_per_sec"].as_f64().unwrap() > 0.0);
    }
    let inputs = answered["inputs"].as_array().unwrap();
    assert_eq!((&inputs[0]["format"], &inputs[1]["format"]), (&"folder".into(), &"tfrecord".into()));
    let cnn = answered["cnn"]["images_per_sec"].as_f64().unwrap();
    for input in inputs {
        let (pace, share) = (input["images_per_sec"].as_f64().unwrap(), input["input_percent"].as_f64().unwrap());
        assert!((share - 100.0 / pace / (1.0 / pace + 1.0 / cnn)).abs() < 1e-6);
        assert_eq!(input["regressions"].as_array().unwrap().len(), 4);
    }
    let (code, _, err) = answer(&["read-test", text(folder.path()), "--without-cnn"]);
    assert_eq!(code, 2);
    assert!(err.contains("the largest test reads 128 images and ") && err.contains("holds 12"), "{err}");
}
