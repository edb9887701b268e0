//! Benchmarks of hyperfine. `hyperfine/scan.json` and `scan.csv` were written by hyperfine 1.15:
//! `hyperfine --runs 3 --parameter-list cores 1,2 --parameter-list rate 0.1,0.5 'sleep $(echo
//! {rate}/{cores} | bc -l)'`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use foreglow_import::Given;
use support::read;

const JSON: &str = include_str!("hyperfine/scan.json");
const CSV: &str = include_str!("hyperfine/scan.csv");

fn given(more: &[(&str, &str)]) -> Given {
    let mut given = Given::default();
    [("memory_per_executor_mib", "1024")].iter().chain(more).for_each(|(name, value)| given.labels.set(name, *value));
    given
}

#[test]
fn each_run_of_a_scan_is_a_sample_with_its_parameters_as_configuration() {
    let machine = Given { machine: Some("c7i.large".to_owned()), ..given(&[]) };
    let samples = read(JSON, &machine).unwrap().samples;
    assert_eq!(samples.len(), 12);
    let of = |cores: u32, rate: f64| {
        let is = |sample: &&foreglow_shared::Sample| {
            sample.configuration.cores_per_executor == cores && sample.sampling_rate == rate
        };
        samples.iter().filter(is).map(|sample| sample.completion_time_secs.unwrap()).collect::<Vec<_>>()
    };
    for (cores, rate) in [(1, 0.1), (1, 0.5), (2, 0.1), (2, 0.5)] {
        let times = of(cores, rate);
        let least = rate / f64::from(cores);
        assert!(times.len() == 3 && times.iter().all(|secs| (least..least + 0.1).contains(secs)), "{times:?}");
    }
    let sample = &samples[0];
    assert_eq!((sample.workload.model.as_str(), sample.workload.unit.as_deref()), ("sleep", Some("%")));
    assert_eq!(sample.host.machine.as_deref(), Some("c7i.large"));
    // The same file gives the same samples.
    assert_eq!(read(JSON, &machine).unwrap().samples, samples);
}

#[test]
fn a_csv_file_has_a_mean_for_each_setting() {
    let import = read(CSV, &given(&[])).unwrap();
    assert_eq!(import.samples.len(), 4);
    assert!(import.notes[0].contains("--export-json has all runs"), "{:?}", import.notes);
}

#[test]
fn gpus_work_and_batches_are_configuration() {
    let file = r#"{"results":[{"command":"python train.py","mean":8.0,"times":[8.0,8.5],"exit_codes":[0,0],
        "parameters":{"gpus":"4","images":"2000","batch":"256"}}]}"#;
    let samples = read(file, &given(&[("images", "20000"), ("accelerator", "A100")])).unwrap().samples;
    let sample = &samples[1];
    assert_eq!((sample.configuration.executors, sample.sampling_rate), (4, 0.1));
    assert_eq!((sample.workload.batch_size, sample.workload.images), (256, 20_000));
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("A100"));
}

#[test]
fn what_a_benchmark_cannot_tell_is_asked_for() {
    let file = |parameters: &str, code: u32| {
        format!(
            r#"{{"results":[{{"command":"./a","mean":1,"times":[1.0],"exit_codes":[{code}],"parameters":{parameters}}}]}}"#
        )
    };
    for (file, expected) in [
        (file("{}", 0), "give --sampling-rate"),
        (file(r#"{"lr":"0.1"}"#, 0), "no configuration has the parameter lr"),
        (file(r#"{"cores":"all","rate":"0.1"}"#, 0), "the parameter cores is \"all\""),
        (file(r#"{"images":"10"}"#, 0), "give that of the whole job with --images"),
    ] {
        let error = read(&file, &given(&[])).unwrap_err();
        assert!(error.contains(expected), "{file}: {error}");
    }
    let import = read(file(r#"{"rate":"0.1"}"#, 1), &given(&[])).unwrap();
    assert!(import.samples.is_empty() && import.problems[0].contains("ended with 1"), "{:?}", import.problems);
}
