//! The Spark engine on real standalone clusters.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use foreglow_shared::event_log::{Application, EventLogReader};
use foreglow_shared::{Outcome, Sample, parse_line};
use foreglow_tests::{Answer, Cluster, HistoryServer, Program, free_port, spark_home};

/// The arguments that every collection here has.
fn collect(cluster: &Cluster, home: &Path, more: &[&str]) -> Vec<String> {
    arguments_of(&cluster.master, &cluster.ui, home, more)
}

fn arguments_of(master: &str, ui: &str, home: &Path, more: &[&str]) -> Vec<String> {
    let spark = spark_home().unwrap();
    let mut arguments: Vec<String> = [
        "collect",
        "--engine",
        "spark",
        "--master",
        master,
        "--master-ui",
        ui,
        "--spark-home",
        spark.to_str().unwrap(),
        "--spark-conf",
        "spark.ui.enabled=false",
        "--format",
        "json",
        "--output",
        home.join("samples.jsonl").to_str().unwrap(),
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    arguments
}

fn run(home: &Path, arguments: &[String]) -> Answer {
    Answer::of(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

fn samples(answer: &Answer) -> Vec<Sample> {
    answer.stdout.lines().map(|line| parse_line(line).unwrap()).collect()
}

fn only_sample(answer: &Answer) -> Sample {
    let mut samples = samples(answer);
    assert_eq!(samples.len(), 1, "{answer:?}");
    samples.remove(0)
}

fn event_log(file: &Path) -> Application {
    let mut reader = EventLogReader::new();
    reader.push(&std::fs::read(file).unwrap());
    reader.finish().unwrap()
}

/// What an event log can know of a sample: the executors' own words are not in it.
fn without_executors_words(sample: &Sample) -> Sample {
    let mut sample = sample.clone();
    for name in ["images_processed", "phases", "training"] {
        sample.extra.remove(name);
    }
    sample
}

fn script(folder: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = folder.join("program.sh");
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn a_sweep_gives_the_samples_that_the_event_logs_confirm() -> anyhow::Result<()> {
    let cluster = Cluster::start(2, 4, "")?;
    let home = tempfile::tempdir()?;
    let logs = home.path().join("logs");
    let grid = ["--executors", "1,2", "--cores", "1,2", "--sampling-rate", "0.05,0.5,1", "--images", "400"];
    let job = ["--model", "lenet5", "--memory", "600", "--event-logs", logs.to_str().unwrap()];
    let job = [&job[..], &["--spark-conf", "spark.foreglow.cpu=Two believers"]].concat();
    let arguments = collect(&cluster, home.path(), &[&grid[..], &job].concat());
    let answer = run(home.path(), &arguments);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);

    let samples = samples(&answer);
    assert_eq!(samples.len(), 12);
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
        let spark = &sample.extra["spark"];
        let log = event_log(&logs.join(spark["application"].as_str().unwrap()));
        let is_this =
            |run: &foreglow_shared::event_log::Run<'_>| run.labels().get("run") == Some(&sample.id.to_string());
        let runs = log.runs()?;
        let run = runs.iter().find(|run| is_this(run)).unwrap();
        assert_eq!(Some(run.completion_time_secs()), sample.completion_time_secs);
        let cores: Vec<u32> = log.executors_at(run.submitted_ms).map(|executor| executor.cores).collect();
        let configuration = &sample.configuration;
        assert_eq!(cores, vec![configuration.cores_per_executor; configuration.executors as usize]);
        assert_eq!(log.executor_memory_mib(), Some(600));
        // Imported, the log says the same of the run.
        let imported = run.sample(&Default::default(), "another version")?;
        assert_eq!(imported, (without_executors_words(sample), Vec::new()));
        assert_eq!(
            (sample.host.cpu.as_deref(), &sample.extra["spark"]["machines"]),
            (Some("Two believers"), &1.into())
        );
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
    assert!(one.stderr.contains("3 samples, 0 of them new"), "{}", one.stderr);
    let none = Answer::of(home, &import)?;
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("has 4 applications; choose with --application ID"), "{}", none.stderr);
    assert!(none.stderr.contains(application), "{}", none.stderr);
    Ok(())
}

const SMALL: &[&str] = &[
    "--model",
    "lenet5",
    "--memory",
    "600",
    "--images",
    "64",
    "--sampling-rate",
    "1",
    "--executors",
    "1",
    "--cores",
    "1",
];
const LARGE: &[&str] = &[
    "--model",
    "resnet18",
    "--memory",
    "1024",
    "--images",
    "400",
    "--sampling-rate",
    "1",
    "--executors",
    "2",
    "--cores",
    "1",
    "--partition-size",
    "100",
    "--image-px",
    "128",
];

#[test]
fn what_goes_wrong_is_told() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2, 2, "")?;
    let home = tempfile::tempdir()?;
    too_small_a_cluster_is_refused_before_anything_is_submitted(&cluster, home.path());
    a_runner_that_exits_non_zero_fails_the_run(&cluster, home.path(), SMALL);
    images_that_nobody_worked_on_are_noticed(&cluster, home.path(), SMALL);
    an_executor_beyond_its_memory_is_told(&cluster, home.path());
    nothing_is_left_of_a_killed_collection(&cluster, home.path(), LARGE)?;
    a_master_that_does_not_answer_is_named(&mut cluster, home.path(), SMALL)
}

#[test]
fn what_is_killed_is_told() -> anyhow::Result<()> {
    // Spark asks for a minute before it gives a master up; it does so beside the others.
    let nobody = tempfile::tempdir()?;
    let waiting = a_master_that_is_asked_in_vain(nobody.path(), SMALL)?;
    let mut cluster = Cluster::start(2, 2, "")?;
    let home = tempfile::tempdir()?;
    a_killed_executor_is_retried_and_the_sample_says_so(&cluster, home.path(), LARGE)?;
    for average_every in ["1", "40"] {
        training_ends_with_an_executor_and_the_sample_says_why(&cluster, home.path(), average_every)?;
    }
    a_lost_worker_fails_the_run(&mut cluster, home.path(), LARGE)?;
    let reason = failed_sample(&waiting)?.reason.unwrap();
    assert!(reason.contains("the Spark master is gone"), "{reason}");
    Ok(())
}

fn too_small_a_cluster_is_refused_before_anything_is_submitted(cluster: &Cluster, home: &Path) {
    let answer = run(home, &collect(cluster, home, &["--executors", "2", "--cores", "3", "--memory", "600"]));
    assert_eq!(answer.code, Some(2));
    let sentence = "too small for 2 executors of 3 cores and 600 MiB: its 2 workers hold 0 of them";
    assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    let state = cluster.state().unwrap();
    assert_eq!(
        (state["activeapps"].as_array().map(Vec::len), state["completedapps"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
}

fn a_runner_that_exits_non_zero_fails_the_run(cluster: &Cluster, home: &Path, small: &[&str]) {
    let program = script(home, "echo 'no such thing' >&2; exit 3");
    let answer =
        run(home, &collect(cluster, home, &[small, &["--worker-program", program.to_str().unwrap()]].concat()));
    assert_eq!(answer.code, Some(1));
    let sample = only_sample(&answer);
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Failed, None));
    let reason = sample.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (exit status: 3): no such thing"), "{reason}");
}

/// The runner is real but for one image a partition, of which it says nothing.
fn images_that_nobody_worked_on_are_noticed(cluster: &Cluster, home: &Path, small: &[&str]) {
    let foreglow = foreglow_tests::foreglow().unwrap();
    let program =
        script(home, &format!("'{}' \"$@\" | sed -u 's/\"images\":8,\"read/\"images\":7,\"read/'", foreglow.display()));
    let answer =
        run(home, &collect(cluster, home, &[small, &["--worker-program", program.to_str().unwrap()]].concat()));
    let sample = only_sample(&answer);
    assert_eq!(sample.outcome, Outcome::Failed);
    assert_eq!(sample.reason.as_deref(), Some("the executors worked on 56 images, and the sample has 64"));
}

fn an_executor_beyond_its_memory_is_told(cluster: &Cluster, home: &Path) {
    let job = ["--model", "vgg16", "--image-px", "32", "--memory", "480", "--images", "8", "--sampling-rate", "1"];
    let answer = run(home, &collect(cluster, home, &[&job[..], &["--executors", "1", "--cores", "1"]].concat()));
    let sample = only_sample(&answer);
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::OutOfMemory, None), "{:?}", sample.reason);
}

/// Starts a collection, and waits until every executor works on the timed job.
fn at_work(cluster: &Cluster, home: &Path, job: &[&str]) -> anyhow::Result<(Program, Vec<u32>)> {
    let logs = tempfile::tempdir_in(home)?.keep();
    let arguments = collect(cluster, home, &[job, &["--event-logs", logs.to_str().unwrap()]].concat());
    let program = Program::start(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
    cluster.wait_until("the timed job", |_| {
        let log = std::fs::read_dir(&logs)?.flatten().next().map(|entry| entry.path());
        let text = log.map(std::fs::read_to_string).transpose()?.unwrap_or_default();
        Ok(text.contains("\"foreglow measured\""))
    })?;
    let executors = cluster.executor_processes();
    assert_eq!(executors.len(), 2);
    Ok((program, executors))
}

fn kill(process: u32) {
    assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}

fn failed_sample(program: &Program) -> anyhow::Result<Sample> {
    let line = program.wait_for_line("\"outcome\"", Duration::from_secs(300))?;
    let sample = parse_line(&line)?;
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Failed, None));
    Ok(sample)
}

fn a_killed_executor_is_retried_and_the_sample_says_so(
    cluster: &Cluster,
    home: &Path,
    large: &[&str],
) -> anyhow::Result<()> {
    let (program, executors) = at_work(cluster, home, large)?;
    kill(executors[0]);
    let sample = failed_sample(&program)?;
    let reason = sample.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (signal: 9)"), "{reason}");
    assert_eq!(sample.extra["images_processed"], 400, "the partition ran again");
    assert_eq!(sample.extra["spark"]["failed_tasks"], 1);
    cluster.wait_until("no executor to be left", |cluster| Ok(cluster.executor_processes().is_empty()))
}

fn nothing_is_left_of_a_killed_collection(cluster: &Cluster, home: &Path, large: &[&str]) -> anyhow::Result<()> {
    let (program, _) = at_work(cluster, home, large)?;
    drop(program);
    cluster.wait_until("nothing to be left", |cluster| {
        let is_free = cluster.state()?["activeapps"].as_array().is_some_and(Vec::is_empty);
        Ok(is_free && cluster.executor_processes().is_empty() && cluster.executor_jvms().is_empty())
    })
}

fn a_lost_worker_fails_the_run(cluster: &mut Cluster, home: &Path, large: &[&str]) -> anyhow::Result<()> {
    let (program, executors) = at_work(cluster, home, large)?;
    cluster.kill_worker_of(executors[0])?;
    let reason = failed_sample(&program)?.reason.unwrap();
    assert!(reason.contains("went while it ran: worker lost"), "{reason}");
    cluster.wait_until("no executor to be left", |cluster| Ok(cluster.executor_processes().is_empty()))
}

fn a_master_that_does_not_answer_is_named(cluster: &mut Cluster, home: &Path, small: &[&str]) -> anyhow::Result<()> {
    cluster.kill_master()?;
    let answer = run(home, &collect(cluster, home, small));
    assert_eq!(answer.code, Some(2));
    let sentence = format!("the Spark master does not answer at {}/json/", cluster.ui);
    assert!(answer.stderr.contains(&sentence), "{}", answer.stderr);
    Ok(())
}

/// Where its page is not asked, Spark's own answer is told.
fn a_master_that_is_asked_in_vain(home: &Path, small: &[&str]) -> anyhow::Result<Program> {
    let arguments = arguments_of(&format!("spark://127.0.0.1:{}", free_port()?), "none", home, small);
    Program::start(home, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A training executor has learned what no other one has: its end is the run's.
fn training_ends_with_an_executor_and_the_sample_says_why(
    cluster: &Cluster,
    home: &Path,
    average_every: &str,
) -> anyhow::Result<()> {
    let job =
        ["--mode", "training", "--model", "lenet5", "--images", "96", "--sampling-rate", "1", "--epochs", "100000"];
    let more = ["--average-every", average_every, "--memory", "600", "--executors", "2", "--cores", "1"];
    let (program, executors) = at_work(cluster, home, &[&job[..], &more].concat())?;
    kill(executors[0]);
    let reason = failed_sample(&program)?.reason.unwrap();
    assert!(reason.contains("the executor's process ended early (signal: 9)"), "every {average_every}: {reason}");
    cluster.wait_until("no executor to be left", |cluster| Ok(cluster.executor_processes().is_empty()))
}

/// The accelerators are a script's claim: the runner is told which of them is its own, and computes on the processor.
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
    let job = [
        "--model",
        "lenet5",
        "--device",
        "gpu",
        "--memory",
        "600",
        "--images",
        "64",
        "--sampling-rate",
        "1",
        "--cores",
        "2",
    ];
    let on_two = [&job[..], &["--executors", "2", "--worker-program", program.to_str().unwrap()]].concat();
    let answer = run(home.path(), &collect(&cluster, home.path(), &on_two));
    let sample = only_sample(&answer);
    assert_eq!(sample.outcome, Outcome::Completed, "{:?}", sample.reason);
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("gpu"));
    let told = std::fs::read_to_string(told)?;
    let mut told: Vec<&str> = told.lines().collect();
    told.sort_unstable();
    assert_eq!(told, ["executor --accelerator 0", "executor --accelerator 1"]);

    let answer = run(home.path(), &collect(&cluster, home.path(), &[&job[..], &["--executors", "3"]].concat()));
    assert_eq!(answer.code, Some(2));
    assert!(answer.stderr.contains("too small for 3 executors of 2 cores, a GPU and 600 MiB"), "{}", answer.stderr);
    Ok(())
}

#[test]
fn what_is_missing_is_told_before_anything_starts() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let spark = spark_home()?;
    let spark = spark.to_str().unwrap();
    let collect = |more: &[&str], clear: &[&str]| {
        let master = ["collect", "--engine", "spark", "--master", "spark://127.0.0.1:1", "--format", "json"];
        let mut command = Command::new(foreglow_tests::foreglow().unwrap());
        command.args([&master[..], more].concat()).current_dir(home.path());
        for name in clear {
            command.env(name, "/nowhere");
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let expected: [(&[&str], &[&str], &str); 5] = [
        (&["--spark-home", spark], &["PATH", "JAVA_HOME"], "Java is missing (/nowhere/bin/java does not run)"),
        (&[], &["PATH", "SPARK_HOME"], "Apache Spark is not on this machine: pip install pyspark"),
        (&["--spark-home", "/nowhere"], &[], "/nowhere has no bin/spark-submit and no jars"),
        (
            &["--spark-home", spark, "--master-ui", "http://127.0.0.1:1"],
            &[],
            "the Spark master does not answer at http://127.0.0.1:1/json/",
        ),
        (
            &["--spark-home", spark, "--spark-conf", "spark.cores.max=1", "--master-ui", "none"],
            &[],
            "spark.cores.max is Foreglow's to set",
        ),
    ];
    for (arguments, clear, sentence) in expected {
        let (code, stderr) = collect(arguments, clear);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(sentence), "{stderr}");
    }
    for (master, sentence) in [
        ("local[4]", "a local master has no executors of its own"),
        ("spark://10.255.255.1:7077", "the drawn images are on this machine only"),
    ] {
        let answer = Answer::of(home.path(), &["collect", "--engine", "spark", "--master", master])?;
        assert_eq!(answer.code, Some(2));
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
    Ok(())
}

#[test]
fn executors_of_spark_learn_what_those_of_the_local_engine_learn() -> anyhow::Result<()> {
    let cluster = Cluster::start(1, 4, "")?;
    let averaging: [(&[&str], usize); 3] = [
        (&["--average-every", "1"], 1),
        (&["--average-every", "3"], 2),
        (&["--average-every", "2", "--average-optimizer-state", "--optimizer", "adam"], 2),
    ];
    for (average, jobs) in averaging {
        let home = tempfile::tempdir()?;
        let logs = home.path().join("logs");
        let job = [
            "--mode",
            "training",
            "--model",
            "lenet5",
            "--images",
            "96",
            "--sampling-rate",
            "1",
            "--epochs",
            "2",
            "--test-images",
            "24",
            "--seed",
            "5",
            "--memory",
            "600",
            "--executors",
            "2",
            "--cores",
            "2",
        ];
        let job = [&job[..], average].concat();
        let kept = [&job[..], &["--event-logs", logs.to_str().unwrap()]].concat();
        let on_spark = only_sample(&run(home.path(), &collect(&cluster, home.path(), &kept)));
        assert_eq!(on_spark.outcome, Outcome::Completed, "{:?}", on_spark.reason);
        let output = home.path().join("local.jsonl");
        let local = ["collect", "--device", "cpu", "--format", "json", "--output", output.to_str().unwrap()];
        let local = only_sample(&Answer::of(home.path(), &[&local[..], &job].concat())?);
        assert_eq!((local.outcome, &local.workload), (Outcome::Completed, &on_spark.workload));

        let curve = |sample: &Sample| -> Vec<f64> {
            let training = &sample.extra["training"];
            let epochs = training["epochs"].as_array().unwrap().iter().chain([&training["held_out"]]);
            epochs.map(|score| score["loss"].as_f64().unwrap()).collect()
        };
        let (ours, theirs) = (curve(&on_spark), curve(&local));
        assert_eq!(ours.len(), 3);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() < 1e-4, "{average:?}: {ours} on Spark, {theirs} here");
        }
        assert_eq!(on_spark.extra["images_processed"], 192);

        let spark = &on_spark.extra["spark"];
        let log = event_log(&logs.join(spark["application"].as_str().unwrap()));
        let runs = log.runs()?;
        assert_eq!((runs.len(), runs[0].jobs.len()), (1, jobs), "{average:?}");
        assert_eq!(Some(runs[0].completion_time_secs()), on_spark.completion_time_secs);
        let imported = runs[0].sample(&Default::default(), "another version")?;
        assert_eq!(imported, (without_executors_words(&on_spark), Vec::new()));
        if jobs > 1 {
            every_second_is_accounted_for(&on_spark);
        }
    }
    Ok(())
}

/// Of a training run in rounds: what the threads did, waiting for the others and averaging included, is its time.
fn every_second_is_accounted_for(sample: &Sample) {
    let phases = sample.extra["phases"].as_object().unwrap();
    let secs: f64 = phases.values().map(|secs| secs.as_f64().unwrap()).sum();
    let configuration = &sample.configuration;
    let threads = f64::from(configuration.executors * configuration.cores_per_executor);
    let share = secs / (sample.completion_time_secs.unwrap() * threads);
    assert!(phases["average_secs"].as_f64() > Some(0.0) && share > 0.8 && share < 1.01, "{share}: {phases:?}");
}
