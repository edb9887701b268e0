//! Records of finished jobs from Slurm and Kubernetes: any bytes are rejected or read into samples
//! that can be written and read back.
#![no_main]

use foreglow_import::{Given, IMPORTERS, Input};
use foreglow_shared::{read_samples, write_jsonl};
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
    let mut given = Given::default();
    for (name, value) in LABELS {
        given.labels.set(name, value);
    }
    // Every file is tried in all formats, because the first bytes may be those of another one.
    for importer in IMPORTERS {
        let mut input = Input::from_bytes(bytes);
        let Ok(start) = input.start() else { continue };
        let _ = importer.sniff(&start);
        let Ok(import) = importer.read(&mut input, &given) else { continue };
        assert!(!import.samples.is_empty() || !import.problems.is_empty());
        assert_eq!(read_samples(write_jsonl(&import.samples).as_bytes()), Ok(import.samples));
    }
});
