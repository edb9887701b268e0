//! Output that real programs printed (`output/record.py` recorded it, with the time of each chunk).

#![allow(clippy::disallowed_methods, reason = "a test reads its fixtures")]

use std::fs;

use foreglow_progress::Reader;
use foreglow_shared::Curve;

/// Reads a recorded output.
fn curve(name: &str) -> Curve {
    let path = format!("{}/tests/output/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut reader = Reader::new();
    for line in fs::read_to_string(&path).expect("the output was recorded").lines() {
        let (at, text): (f64, String) = serde_json::from_str(line).expect("a line has a time and a text");
        reader.push(text.as_bytes(), at);
    }
    reader.finish();
    reader.curve().expect("the program prints its progress")
}

#[test]
fn the_progress_of_each_program_is_that_of_its_training() {
    // Name, unit, units of the job and of an epoch, and the units done at the end. The nested
    // bar is removed before its last step, and timm counts from 0.
    let expected = [
        ("tqdm_nested", "steps", Some(120.0), Some(40.0), 119.0),
        ("tqdm_images", "images", Some(20_000.0), None, 20_000.0),
        ("keras_terminal", "steps", Some(204.0), Some(68.0), 204.0),
        ("keras_lines", "steps", Some(204.0), Some(68.0), 204.0),
        ("lightning", "steps", Some(180.0), Some(60.0), 180.0),
        ("ultralytics", "steps", Some(30.0), Some(10.0), 30.0),
        ("timm", "steps", None, Some(15.0), 29.0),
        ("nanogpt", "steps", None, None, 60.0),
        ("trainer", "steps", Some(120.0), None, 120.0),
        ("pytorch_mnist", "images", None, Some(600.0), 6_920.0),
        ("pytorch_imagenet", "steps", None, Some(5.0), 60.0),
        // The counter of a few batches, although lines about ends of epochs go on all the time.
        ("pytorch_words", "steps", None, Some(26.0), 358.0),
        ("torchvision", "steps", None, Some(21.0), 41.0),
        // Two ranks print into one stream.
        ("torchrun", "steps", None, Some(12.0), 35.0),
        ("pytorch_dcgan", "steps", Some(32.0), Some(16.0), 31.0),
        ("timm_benchmark", "steps", Some(40.0), None, 40.0),
        ("megatron", "steps", Some(60.0), None, 60.0),
        ("deepspeed", "steps", None, None, 100.0),
        ("mlperf", "samples", None, None, 480.0),
    ];
    for (name, unit, of, per_epoch, done) in expected {
        let curve = curve(name);
        let found = (curve.unit.as_str(), curve.of, curve.per_epoch, curve.last().map(|last| last.1));
        assert_eq!(found, (unit, of, per_epoch, Some(done)), "{name}: {curve:?}");
        assert!(curve.is_valid(), "{name}");
    }
}

#[test]
fn evaluations_and_start_up_are_in_the_curve() {
    let trainer = curve("trainer");
    // The program imports its libraries for minutes, and trains for seconds.
    assert!(trainer.startup_secs().is_some_and(|secs| (632.0..633.0).contains(&secs)), "{:?}", trainer.startup_secs());
    let slowest = trainer.points.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    assert!((0.3..10.0).contains(&slowest), "{slowest}");
}
