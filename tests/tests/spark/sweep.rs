//! A sweep, compared with its event logs and with a history server.

use std::path::Path;

use foreglow_shared::{Outcome, Sample};
use foreglow_tests::{Answer, Cluster, HistoryServer};

use crate::exported::spark_submit_takes_what_is_exported;
use crate::support::{collect, event_log, run, samples, without_executors_words};

#[test]
fn a_sweep_gives_the_samples_that_the_event_logs_confirm() -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 4, "")?;
    let home = tempfile::tempdir()?;
    let logs = home.path().join("logs");
    let job = "--model lenet5 --images 400 --memory 600 --executors 1,2 --cores 1,2 --sampling-rate 0.05,0.5,1";
    let mut arguments = collect(&cluster, home.path(), &format!("{job} --event-logs {}", logs.display()));
    arguments.extend(["--spark-conf", "spark.foreglow.cpu=Two believers"].map(str::to_owned));
    let answer = run(home.path(), &arguments);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);

    let samples = samples(&answer);
    assert_eq!(samples.len(), 12);
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
        let spark = &sample.extra["spark"];
        let log = event_log(&logs.join(spark["application"].as_str().unwrap()));
        let is_this = |run: &foreglow_spark_log::Run<'_>| run.labels().get("run") == Some(&sample.id.to_string());
        let runs = log.runs()?;
        let run = runs.iter().find(|run| is_this(run)).unwrap();
        assert_eq!(Some(run.completion_time_secs()), sample.completion_time_secs);
        let cores: Vec<u32> = log.executors_at(run.submitted_ms).map(|executor| executor.cores).collect();
        let configuration = &sample.configuration;
        assert_eq!(cores, vec![configuration.cores_per_executor; configuration.executors as usize]);
        assert_eq!(log.executor_memory_mib(), Some(600));
        // Importing the log gives the same sample.
        let imported = run.sample(&Default::default(), "another version")?;
        assert_eq!(imported, (without_executors_words(sample), Vec::new()));
        assert_eq!(
            (sample.host.cpu.as_deref(), &sample.extra["spark"]["machines"]),
            (Some("Two believers"), &1.into())
        );
        let peak = sample.peak_memory_mib.unwrap();
        assert!((1..600).contains(&peak), "{peak} MiB");
    }
    let applications = std::fs::read_dir(&logs)?.count();
    assert_eq!(applications, 4, "an application serves every sampling rate of its configuration");
    assert_eq!(samples.iter().filter(|sample| sample.startup_secs.is_some()).count(), 4, "and starts once");

    a_history_server_gives_the_same_samples(&logs, home.path(), &samples)?;

    let again = run(home.path(), &arguments);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{}", again.stderr);
    assert!(again.stderr.contains("12 of 12 runs"), "{}", again.stderr);

    let file = home.path().join("samples.jsonl");
    let plan = Answer::of(home.path(), &["plan", file.to_str().unwrap(), "--format", "json"])?.json()?;
    let recommended = &plan["recommended"];
    let arguments = plan["spark_submit"].as_str().unwrap();
    let cores = recommended["executors"].as_u64().unwrap() * recommended["cores_per_executor"].as_u64().unwrap();
    assert!(arguments.contains(&format!("--conf spark.cores.max={cores} ")), "{arguments}");
    spark_submit_takes_what_is_exported(&cluster, home.path(), &plan)?;
    let table = Answer::of(home.path(), &["evaluate", file.to_str().unwrap(), "--format", "json"])?.json()?;
    assert!(table.to_string().contains("\"4-2\""), "{table}");
    Ok(())
}

fn a_history_server_gives_the_same_samples(logs: &Path, home: &Path, samples: &[Sample]) -> anyhow::Result<()> {
    let server = HistoryServer::start(logs, 4)?;
    let output = home.join("imported.jsonl");
    let import = ["import", &server.address, "--format", "json", "--output", output.to_str().unwrap()];
    let all = Answer::of(home, &[&import[..], &["--application", "all"]].concat())?;
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    let by_id = |mut samples: Vec<Sample>| {
        samples.sort_by_key(|sample| sample.id);
        samples
    };
    let sampled = samples.iter().map(without_executors_words).collect();
    assert_eq!(by_id(self::samples(&all)), by_id(sampled));

    let application = samples[0].extra["spark"]["application"].as_str().unwrap();
    let one = Answer::of(home, &[&import[..], &["--application", application]].concat())?;
    assert_eq!((one.code, self::samples(&one).len()), (Some(0), 3), "{}", one.stderr);
    assert!(one.stderr.contains("3 samples, 0 new in "), "{}", one.stderr);
    let none = Answer::of(home, &import)?;
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("has 4 applications; choose with --application ID"), "{}", none.stderr);
    assert!(none.stderr.contains(application), "{}", none.stderr);
    Ok(())
}
