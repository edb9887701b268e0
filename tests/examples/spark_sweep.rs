//! A sweep on a real Spark cluster, from the runs to the scenario table: `make sweep-spark`.
//!
//! One to three executors of one and two cores, on 1 %, 10 % and all of the images, on a standalone
//! cluster on this machine. The event logs of these runs are then imported, compared with the
//! samples, and evaluated. The files stay in `target/bench/spark-sweep`.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use foreglow_shared::{Outcome, Sample, parse_line};
use foreglow_tests::{Cluster, foreglow, spark_home, workspace_dir};

/// The job: half a minute on one core.
const JOB: &str =
    "--model resnet18 --image-px 64 --images 3200 --batch-size 8 --partition-size 8 --memory 700 --device cpu";
const GRID: &str = "--executors 1,2,3 --cores 1,2 --sampling-rate 0.01,0.1,1";
const RUNS: usize = 18;

fn main() -> anyhow::Result<()> {
    let folder = workspace_dir().join("target/bench/spark-sweep");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (sampled, imported, logs) = (path("samples.jsonl"), path("imported.jsonl"), path("event-logs"));

    let spark = spark_home()?;
    let cluster = Cluster::start(3, 2, "")?;
    let on_cluster = ["collect", "--engine", "spark", "--master", &cluster.master, "--master-ui", &cluster.ui];
    let spark_home = ["--spark-home", spark.to_str().context("Spark's folder has a plain name")?];
    let kept = ["--event-logs", &logs, "--output", &sampled];
    let job: Vec<&str> = JOB.split(' ').chain(GRID.split(' ')).collect();
    run(&[&on_cluster[..], &spark_home, &kept, &job].concat())?;
    drop(cluster);

    run(&["import", &logs, "--output", &imported])?;
    compare(&samples(&sampled)?, &samples(&imported)?)?;
    eprintln!("\nAll {RUNS} runs: what the event logs say is what the runner measured.\n");
    run(&["evaluate", &imported])
}

fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(foreglow()?).args(arguments).status()?;
    anyhow::ensure!(status.success(), "foreglow {}: {status}", arguments.join(" "));
    Ok(())
}

/// Reads samples, sorted by id, without the fields that event logs do not have.
fn samples(file: &str) -> anyhow::Result<Vec<Sample>> {
    let mut samples: Vec<Sample> =
        std::fs::read_to_string(Path::new(file))?.lines().map(parse_line).collect::<Result<_, _>>()?;
    samples.sort_by_key(|sample| sample.id);
    for sample in &mut samples {
        (sample.images_processed, sample.peak_memory_mib) = (None, None);
        sample.extra.remove("phases");
    }
    Ok(samples)
}

fn compare(sampled: &[Sample], imported: &[Sample]) -> anyhow::Result<()> {
    anyhow::ensure!(sampled.len() == RUNS, "there are {} samples of {RUNS} runs", sampled.len());
    for sample in sampled {
        anyhow::ensure!(sample.outcome == Outcome::Completed, "{}: {:?}", sample.id, sample.reason);
    }
    anyhow::ensure!(sampled == imported, "the event logs say something else than the runner measured");
    Ok(())
}
