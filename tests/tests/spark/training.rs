//! Training on Spark, compared with training on the local engine.

use std::path::Path;

use foreglow_shared::{Outcome, Sample};
use foreglow_tests::{Answer, Cluster, words};

use crate::support::{collect, event_log, only_sample, run, without_executors_words};
use crate::texts;

#[test]
fn executors_on_spark_learn_the_same_as_those_of_the_local_engine() -> anyhow::Result<()> {
    let cluster = Cluster::start(1, 4, "")?;
    let job = "--mode training --model lenet5 --images 96 --sampling-rate 1 --epochs 2 --test-images 24 --seed 5 --memory 600 \
               --executors 2 --cores 2";
    for (average, jobs) in [
        ("--average-every 1", 1),
        ("--average-every 3", 2),
        ("--average-every 2 --average-optimizer-state --optimizer adam", 2),
    ] {
        let home = tempfile::tempdir()?;
        let logs = home.path().join("logs");
        let job = format!("{job} {average}");
        let kept = format!("{job} --event-logs {}", logs.display());
        let on_spark = only_sample(&run(home.path(), &collect(&cluster, home.path(), &kept)));
        assert_eq!(on_spark.outcome, Outcome::Completed, "{:?}", on_spark.reason);
        assert_eq!(learns_as_here(&on_spark, home.path(), &job)?, 3);
        assert_eq!(on_spark.images_processed, Some(192));

        let spark = &on_spark.extra["spark"];
        let log = event_log(&logs.join(spark["application"].as_str().unwrap()));
        let runs = log.runs()?;
        assert_eq!((runs.len(), runs[0].jobs.len()), (1, jobs), "{average}");
        assert_eq!(Some(runs[0].completion_time_secs()), on_spark.completion_time_secs);
        let imported = runs[0].sample(&Default::default(), "another version")?;
        assert_eq!(imported, (without_executors_words(&on_spark), Vec::new()));
        if jobs > 1 {
            every_second_is_accounted_for(&on_spark);
        }
    }
    texts::a_folder_of_texts_is_read_and_learned(&cluster)
}

/// Compares a run on Spark with the same run on the local engine: workload, CPU, and each loss.
/// Returns the number of losses.
pub fn learns_as_here(on_spark: &Sample, home: &Path, job: &str) -> anyhow::Result<usize> {
    let output = home.join("local.jsonl");
    let local = ["collect", "--device", "cpu", "--format", "json", "--output", output.to_str().unwrap()];
    let job = words(job);
    let job: Vec<&str> = job.iter().map(String::as_str).collect();
    let local = only_sample(&Answer::of(home, &[&local[..], &job].concat())?);
    assert_eq!((local.outcome, &local.workload), (Outcome::Completed, &on_spark.workload));
    assert_eq!(local.host.cpu, on_spark.host.cpu, "the executors say on what they ran");
    assert!(on_spark.peak_memory_mib > Some(1), "{:?}", on_spark.extra);

    let (ours, theirs) = (losses(on_spark), losses(&local));
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!((ours - theirs).abs() < 1e-4, "{job:?}: {ours} on Spark, {theirs} here");
    }
    Ok(ours.len())
}

/// The loss of each epoch, then that of the held-out images.
fn losses(sample: &Sample) -> Vec<f64> {
    let training = &sample.extra["training"];
    let epochs = training["epochs"].as_array().unwrap().iter().chain(training.get("held_out"));
    epochs.map(|score| score["loss"].as_f64().unwrap()).collect()
}

/// Checks that the phases of a training run in rounds, including waiting and averaging, add up to
/// its completion time.
fn every_second_is_accounted_for(sample: &Sample) {
    let phases = sample.extra["phases"].as_object().unwrap();
    let secs: f64 = phases.values().map(|secs| secs.as_f64().unwrap()).sum();
    let configuration = &sample.configuration;
    let threads = f64::from(configuration.executors * configuration.cores_per_executor);
    let share = secs / (sample.completion_time_secs.unwrap() * threads);
    assert!(phases["average_secs"].as_f64() > Some(0.0) && share > 0.8 && share < 1.01, "{share}: {phases:?}");
}
