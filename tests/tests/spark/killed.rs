//! Processes that are killed during a run.

use std::path::Path;
use std::time::Duration;

use foreglow_shared::{Outcome, parse_line};
use foreglow_tests::{Cluster, Program, free_port};

use crate::support::{LARGE, SMALL, arguments_of, at_work, failed_sample, kill, no_executor_is_left, start};

#[test]
fn killed_processes_are_reported() -> anyhow::Result<()> {
    // Spark retries for a minute before it gives up on a master, so this runs in parallel.
    let nobody = tempfile::tempdir()?;
    let waiting = a_master_that_is_asked_in_vain(nobody.path())?;
    let mut cluster = Cluster::start(2, 2, "")?;
    let home = tempfile::tempdir()?;
    a_killed_executor_is_retried_and_the_sample_says_so(&cluster, home.path())?;
    for average_every in ["1", "40"] {
        training_ends_with_an_executor_and_the_sample_says_why(&cluster, home.path(), average_every)?;
    }
    a_lost_worker_fails_the_run(&mut cluster, home.path())?;
    drop(cluster);
    let mut cluster = Cluster::start(1, 2, "")?;
    a_master_that_goes_in_the_middle_of_a_run_changes_nothing(&mut cluster, home.path())?;
    let reason = failed_sample(&waiting)?.reason.unwrap();
    assert!(reason.contains("the Spark master is gone"), "{reason}");
    Ok(())
}

fn a_killed_executor_is_retried_and_the_sample_says_so(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let (program, executors) = at_work(cluster, home, LARGE)?;
    kill(executors[0]);
    let sample = failed_sample(&program)?;
    let reason = sample.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (signal: 9)"), "{reason}");
    assert_eq!(sample.images_processed, Some(400), "the partition ran again");
    assert_eq!(sample.extra["spark"]["failed_tasks"], 1);
    no_executor_is_left(cluster)
}

fn a_lost_worker_fails_the_run(cluster: &mut Cluster, home: &Path) -> anyhow::Result<()> {
    let (program, executors) = at_work(cluster, home, LARGE)?;
    cluster.kill_worker_of(executors[0])?;
    let reason = failed_sample(&program)?.reason.unwrap();
    assert!(reason.contains("was lost during the run: worker lost"), "{reason}");
    no_executor_is_left(cluster)
}

/// Spark's executors and its driver continue without a master.
fn a_master_that_goes_in_the_middle_of_a_run_changes_nothing(cluster: &mut Cluster, home: &Path) -> anyhow::Result<()> {
    let (program, _) = at_work(cluster, home, LARGE)?;
    cluster.kill_master()?;
    let sample = parse_line(&program.wait_for_line("\"outcome\"", Duration::from_secs(300))?)?;
    assert_eq!((sample.outcome, sample.reason), (Outcome::Completed, None));
    no_executor_is_left(cluster)
}

/// Without the master's web UI, the message is Spark's own.
fn a_master_that_is_asked_in_vain(home: &Path) -> anyhow::Result<Program> {
    start(home, &arguments_of(&format!("spark://127.0.0.1:{}", free_port()?), "none", home, SMALL))
}

/// A training executor holds unique state, so its end fails the run.
fn training_ends_with_an_executor_and_the_sample_says_why(
    cluster: &Cluster,
    home: &Path,
    average_every: &str,
) -> anyhow::Result<()> {
    let job = "--mode training --model lenet5 --images 96 --sampling-rate 1 --epochs 100000 --memory 600 --executors 2 --cores 1";
    let (program, executors) = at_work(cluster, home, &format!("{job} --average-every {average_every}"))?;
    kill(executors[0]);
    let reason = failed_sample(&program)?.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (signal: 9)"), "every {average_every}: {reason}");
    no_executor_is_left(cluster)
}
