//! A network from an ONNX file on Spark, compared with the local engine.

use foreglow_shared::{Mode, Outcome};
use foreglow_tests::{Cluster, workspace_dir};

use crate::support::{collect, event_log, only_sample, run, without_executors_words};
use crate::training::learns_as_here;

#[test]
fn executors_on_spark_run_and_train_a_network_from_an_onnx_file() -> anyhow::Result<()> {
    let (cluster, home) = (Cluster::start(1, 4, "")?, tempfile::tempdir()?);
    let (file, logs) = (workspace_dir().join("shared/onnx/tests/exports/shufflenet_v2.onnx"), home.path().join("logs"));
    let network =
        format!("--model \"{}\" --image-px 32 --sampling-rate 1 --memory 600 --executors 2 --cores 2", file.display());
    let asked = format!("{network} --images 48 --event-logs \"{}\"", logs.display());
    let asked = only_sample(&run(home.path(), &collect(&cluster, home.path(), &asked)));
    assert_eq!((asked.outcome, asked.workload.mode), (Outcome::Completed, Mode::Inference), "{:?}", asked.reason);
    assert_eq!((asked.workload.model.as_str(), asked.images_processed), ("shufflenet_v2.onnx", Some(48)));
    let from = asked.workload.network_file().unwrap();
    assert_eq!((from.path.as_str(), from.fingerprint.len()), (file.to_str().unwrap(), 16));
    // The event log names the network with its fingerprint.
    let log = event_log(&logs.join(asked.extra["spark"]["application"].as_str().unwrap()));
    let imported = log.runs()?[0].sample(&Default::default(), "another version")?;
    assert_eq!(imported, (without_executors_words(&asked), Vec::new()));

    let job =
        format!("{network} --mode training --images 96 --draw digits --epochs 2 --batch-size 16 --average-every 1");
    let learned = only_sample(&run(home.path(), &collect(&cluster, home.path(), &job)));
    assert_eq!((learned.outcome, learned.workload.network_file()), (Outcome::Completed, Some(from)));
    assert_eq!(learns_as_here(&learned, home.path(), &job)?, 2);
    Ok(())
}
