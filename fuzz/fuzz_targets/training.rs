//! Files of training runs and of benchmarks, and the output of training programs: each importer
//! rejects any bytes or reads them into samples that can be written and read back, and the progress
//! does not depend on how the output is cut.
#![no_main]

use foreglow_import::{Given, IMPORTERS, Input};
use foreglow_model::whole_job;
use foreglow_progress::Reader;
use foreglow_shared::{read_samples, write_jsonl};
use libfuzzer_sys::fuzz_target;

const LABELS: [(&str, &str); 7] = [
    ("model", "resnet18"),
    ("mode", "training"),
    ("image_px", "64"),
    ("images", "3200"),
    ("epochs", "3"),
    ("batch_size", "8"),
    ("memory_per_executor_mib", "2048"),
];

fuzz_target!(|bytes: &[u8]| {
    let mut given = Given::default();
    for (name, value) in LABELS {
        given.labels.set(name, value);
    }
    given.sampling_rates = vec![1.0];
    for importer in IMPORTERS {
        let mut input = Input::from_bytes(bytes);
        let Ok(start) = input.start() else { continue };
        let _ = importer.sniff(&start);
        let Ok(import) = importer.read(&mut input, &given) else { continue };
        assert!(!import.samples.is_empty() || !import.problems.is_empty());
        import.samples.iter().for_each(|sample| {
            if let Some(Ok(job)) = whole_job(sample) {
                assert!(job.lower_secs <= job.secs && job.secs <= job.upper_secs, "{job:?}");
            }
        });
        assert_eq!(read_samples(write_jsonl(&import.samples).as_bytes()), Ok(import.samples));
    }
    let (mut whole, mut cut) = (Reader::new(), Reader::new());
    whole.push(bytes, 1.0);
    bytes.chunks(7).for_each(|chunk| cut.push(chunk, 1.0));
    whole.finish();
    cut.finish();
    assert_eq!(whole.curve(), cut.curve());
    assert!(whole.curve().is_none_or(|curve| curve.is_valid()));
});
