//! Records of finished jobs from Slurm and Kubernetes: any bytes are rejected or read into samples
//! that can be written and read back.
#![no_main]

use foreglow_launch::finished::{Kind, samples};
use foreglow_shared::{read_samples, write_jsonl};
use foreglow_spark_log::Labels;
use libfuzzer_sys::fuzz_target;

const LABELS: [(&str, &str); 8] = [
    ("model", "resnet18"),
    ("mode", "inference"),
    ("image_px", "64"),
    ("images", "3200"),
    ("batch_size", "8"),
    ("partition_size", "8"),
    ("memory_per_executor_mib", "2048"),
    ("accelerator", "NVIDIA A10G"),
];

fuzz_target!(|bytes: &[u8]| {
    let mut labels = Labels::default();
    for (name, value) in LABELS {
        labels.set(name, value);
    }
    // Every file is tried as both.
    let kind = Kind::of(bytes);
    for kind in [Kind::Slurm, Kind::Kubernetes].into_iter().filter(|it| kind.is_none_or(|kind| kind == *it)) {
        let Ok((samples, _)) = samples(kind, bytes, &labels, "spark") else { continue };
        assert!(!samples.is_empty());
        assert_eq!(read_samples(write_jsonl(&samples).as_bytes()).as_ref(), Ok(&samples));
    }
});
