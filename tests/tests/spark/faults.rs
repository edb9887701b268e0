//! Faults other than killed processes.

use std::path::Path;

use foreglow_shared::Outcome;
use foreglow_tests::Cluster;

use crate::support::{LARGE, SMALL, at_work, collect, no_executor_is_left, only_sample, run, script};

#[test]
fn faults_are_reported() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2, 2, "")?;
    let home = tempfile::tempdir()?;
    too_small_a_cluster_is_refused_before_anything_is_submitted(&cluster, home.path());
    a_runner_that_exits_non_zero_fails_the_run(&cluster, home.path());
    images_that_nobody_worked_on_are_noticed(&cluster, home.path());
    an_executor_beyond_its_memory_is_told(&cluster, home.path());
    no_executor_is_left(&cluster)?;
    nothing_is_left_of_a_killed_collection(&cluster, home.path())?;
    a_master_that_does_not_answer_is_named(&mut cluster, home.path())
}

fn too_small_a_cluster_is_refused_before_anything_is_submitted(cluster: &Cluster, home: &Path) {
    let answer = run(home, &collect(cluster, home, "--executors 2 --cores 3 --memory 600"));
    assert_eq!(answer.code, Some(2));
    let sentence = "too small for 2 executors of 3 cores and 600 MiB: its 2 workers have room for 0";
    assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    let state = cluster.state().unwrap();
    assert_eq!(
        (state["activeapps"].as_array().map(Vec::len), state["completedapps"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
}

fn a_runner_that_exits_non_zero_fails_the_run(cluster: &Cluster, home: &Path) {
    let program = script(home, "echo 'no such thing' >&2; exit 3");
    let answer = run(home, &collect(cluster, home, &format!("{SMALL} --worker-program {}", program.display())));
    assert_eq!(answer.code, Some(1));
    let sample = only_sample(&answer);
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Failed, None));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (exit status: 3): no such thing"), "{reason}");
}

/// A real executor, except that it reports one image too few per partition.
fn images_that_nobody_worked_on_are_noticed(cluster: &Cluster, home: &Path) {
    let foreglow = foreglow_tests::foreglow().unwrap();
    let program =
        script(home, &format!("'{}' \"$@\" | sed -u 's/\"images\":8,\"read/\"images\":7,\"read/'", foreglow.display()));
    let answer = run(home, &collect(cluster, home, &format!("{SMALL} --worker-program {}", program.display())));
    let sample = only_sample(&answer);
    assert_eq!(sample.outcome, Outcome::Failed);
    assert_eq!(sample.reason.as_deref(), Some("the executors worked on 56 images, and the sample has 64"));
}

fn an_executor_beyond_its_memory_is_told(cluster: &Cluster, home: &Path) {
    let job = "--model vgg16 --image-px 32 --memory 480 --images 8 --sampling-rate 1 --executors 1 --cores 1";
    let answer = run(home, &collect(cluster, home, job));
    let sample = only_sample(&answer);
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::OutOfMemory, None), "{:?}", sample.reason);
}

fn nothing_is_left_of_a_killed_collection(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let (program, _) = at_work(cluster, home, LARGE)?;
    drop(program);
    cluster.wait_until("nothing to be left", |cluster| {
        let is_free = cluster.state()?["activeapps"].as_array().is_some_and(Vec::is_empty);
        Ok(is_free && cluster.executor_processes().is_empty() && cluster.executor_jvms().is_empty())
    })
}

fn a_master_that_does_not_answer_is_named(cluster: &mut Cluster, home: &Path) -> anyhow::Result<()> {
    cluster.kill_master()?;
    let answer = run(home, &collect(cluster, home, SMALL));
    assert_eq!(answer.code, Some(2));
    let sentence = format!("the Spark master does not answer at {}/json/", cluster.ui);
    assert!(answer.stderr.contains(&sentence), "{}", answer.stderr);
    Ok(())
}
