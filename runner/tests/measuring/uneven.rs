//! `--total-cores`: a total number of cores that the executors do not divide.

use foreglow_shared::CoreSplit;

use crate::bench_folder::{answer, sample};

const JOB: [&str; 10] =
    ["--model", "lenet5", "--images", "60", "--partition-size", "1", "--device", "cpu", "--format", "json"];

#[test]
fn each_executor_of_an_uneven_split_has_its_own_number_of_slots() {
    let (code, sample) =
        sample(&[&["run", "--executors", "3", "--total-cores", "4", "--sampling-rate", "1"], &JOB[..]].concat());
    assert_eq!(code, 0, "{sample:?}");
    assert_eq!(sample.configuration.split(), CoreSplit::of_total(3, 4).unwrap());
    assert_eq!(sample.images_processed, Some(60));
    assert_eq!(sample.extra["executors"].as_array().unwrap().len(), 3);
}

#[test]
fn executors_work_as_much_as_they_have_cores() {
    // Slow cores, because threads that share processors do not get equal shares.
    let job = ["run", "--executors", "3", "--total-cores", "4", "--sampling-rate", "1", "--core-share", "10%"];
    let arguments = [&job[..], &JOB[..2], &["--images", "1600", "--partition-size", "4"], &JOB[6..]].concat();
    if answer(&arguments).2.contains("--core-share needs CPU quotas") {
        return;
    }
    let (code, sample) = sample(&arguments);
    assert_eq!(code, 0, "{sample:?}");
    let executors = sample.extra["executors"].as_array().unwrap();
    let images: Vec<f64> = executors.iter().map(|executor| executor["images"].as_f64().unwrap()).collect();
    assert!((0.4..0.6).contains(&(images[0] / 1600.0)), "two of four cores: {images:?}");
    assert!((0.8..1.25).contains(&(images[1] / images[2])), "one core each: {images:?}");
}

#[test]
fn a_grid_of_totals_is_listed_and_collected_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.jsonl");
    let grid =
        ["--executors", "1-3", "--total-cores", "2,3", "--sampling-rate", "0.5", "--output", file.to_str().unwrap()];
    let collect = |more: &[&str]| answer(&[&["collect"], &grid[..], &JOB[..8], more].concat());
    let (code, listed, error) = collect(&["--dry-run", "--format", "csv"]);
    assert_eq!(code, 0, "{error}");
    assert!(listed.starts_with("executors,cores_per_executor,") && listed.contains(",total_cores\n"), "{listed}");
    assert_eq!(listed.lines().count(), 6, "three executors do not divide two cores: {listed}");
    let (code, table, error) = collect(&[]);
    assert_eq!(code, 0, "{error}");
    let is_uneven = |line: &str| line.split_whitespace().take(2).eq(["2", "2+1"]);
    assert!(table.lines().any(is_uneven), "{table}");
    let (_, again, _) = collect(&["--dry-run", "--format", "csv"]);
    assert_eq!(again.lines().count(), 1, "every run has its sample: {again}");
}

#[test]
fn uneven_splits_are_refused_where_they_do_not_exist() {
    let uneven = ["--executors", "3", "--total-cores", "8"];
    let spark = ["--engine", "spark", "--master", "spark://127.0.0.1:7077"];
    let (code, _, error) = answer(&[&["collect"], &uneven[..], &JOB[..8], &spark].concat());
    let has_spark = !error.contains("--spark-home") && !error.contains("without its Spark driver");
    assert!(code == 2 && (!has_spark || error.contains("equally many cores")), "{error}");
    let (code, _, error) = answer(&[&["run", "--mode", "training"], &uneven[..], &JOB[..8]].concat());
    assert!(code == 2 && error.contains("give --cores 2"), "{error}");
}
