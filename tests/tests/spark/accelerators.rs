//! Executors with accelerators.

use foreglow_shared::Outcome;
use foreglow_tests::{Cluster, GpuRig};

use crate::support::{collect, only_sample, run, script};

/// A script provides the accelerators. The executor gets the address of its accelerator, and
/// computes on the processor.
#[test]
fn an_executor_takes_the_accelerator_that_spark_assigned() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let folder = home.path().join("discovery");
    std::fs::create_dir(&folder)?;
    let discovery = script(&folder, r#"echo '{"name":"gpu","addresses":["0","1"]}'"#);
    let options = format!(
        "-Dspark.worker.resource.gpu.amount=2 -Dspark.worker.resource.gpu.discoveryScript={}",
        discovery.display()
    );
    let cluster = Cluster::start(1, 4, &options)?;
    let told = home.path().join("told");
    let foreglow = foreglow_tests::foreglow()?;
    let program = script(
        home.path(),
        &format!(
            "echo \"$@\" >> '{}'; sed -u 's/{{\"discrete_gpu\":0}}/\"cpu\"/' | '{}' executor",
            told.display(),
            foreglow.display()
        ),
    );
    let job = "--model lenet5 --device gpu --memory 600 --images 64 --sampling-rate 1 --cores 2";
    let on_two = format!("{job} --executors 2 --worker-program {}", program.display());
    let answer = run(home.path(), &collect(&cluster, home.path(), &on_two));
    let sample = only_sample(&answer);
    assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("gpu"));
    let told = std::fs::read_to_string(told)?;
    let mut told: Vec<&str> = told.lines().collect();
    told.sort_unstable();
    assert_eq!(told, ["executor --accelerator 0", "executor --accelerator 1"]);

    let answer = run(home.path(), &collect(&cluster, home.path(), &format!("{job} --executors 3")));
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("too small for 3 executors of 2 cores, a GPU and 600 MiB"), "{}", answer.stderr);
    Ok(())
}

/// With the GPUs of the rig, the executors find the assigned ones in the driver's list and report
/// their name.
#[test]
fn executors_report_the_name_of_the_gpu_that_spark_assigned() -> anyhow::Result<()> {
    let Some(rig) = GpuRig::with(2, "NVIDIA A10G")? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let folder = home.path().join("discovery");
    std::fs::create_dir(&folder)?;
    let discovery = script(&folder, r#"echo '{"name":"gpu","addresses":["0","1"]}'"#);
    let options = format!(
        "-Dspark.worker.resource.gpu.amount=2 -Dspark.worker.resource.gpu.discoveryScript={}",
        discovery.display()
    );
    let cluster = Cluster::start(1, 4, &options)?;
    let variables = rig.variables().iter().map(|(name, value)| format!("export {name}='{value}'"));
    let foreglow = foreglow_tests::foreglow()?;
    let run_it = format!("exec '{}' \"$@\"", foreglow.display());
    let program = script(home.path(), &variables.chain([run_it]).collect::<Vec<_>>().join("\n"));
    let job = format!(
        "--model lenet5 --device gpu --memory 600 --images 64 --sampling-rate 1 --cores 1 --executors 2 --worker-program {}",
        program.display()
    );
    let answer = run(home.path(), &collect(&cluster, home.path(), &job));
    let sample = only_sample(&answer);
    assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("NVIDIA A10G"));
    assert_eq!(sample.host.adapter.as_deref(), Some("NVIDIA A10G"));
    let again = run(home.path(), &collect(&cluster, home.path(), &job));
    assert!(again.stderr.contains("1 of 1 runs are already in"), "the run is known by its real GPU: {}", again.stderr);
    Ok(())
}
