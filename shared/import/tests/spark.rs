//! Event logs of Spark: which runs count as completed, and what the user says about them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Error, Read};

use foreglow_import::{Given, Import, Input, Part, import};
use foreglow_shared::{Engine, Outcome};
use serde_json::{Value, json};
use support::{given, read};

/// Returns the lines of the log of an application on 2 executors of 1 core, with jobs of 20, 20 and
/// 100 s.
fn lines() -> Vec<Value> {
    let mut lines = vec![
        json!({"Event": "SparkListenerLogStart", "Spark Version": "3.5.3"}),
        json!({"Event": "SparkListenerApplicationStart", "App Name": "a", "App ID": "app-1", "Timestamp": 1_000}),
        json!({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.executor.memory": "7g"}}),
    ];
    let executor = |id: &str| {
        let info = json!({"Host": "h", "Total Cores": 1});
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": 2_000, "Executor ID": id, "Executor Info": info})
    };
    lines.extend(["0", "1"].map(executor));
    for (job, (from, to)) in (0..).zip([(10_000, 30_000), (30_000, 50_000), (50_000, 150_000)]) {
        lines.push(json!({"Event": "SparkListenerJobStart", "Job ID": job, "Submission Time": from, "Properties": {}}));
        let result = json!({"Result": "JobSucceeded"});
        lines.push(json!({"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": to, "Job Result": result}));
    }
    lines.push(json!({"Event": "SparkListenerApplicationEnd", "Timestamp": 160_000}));
    lines
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the log without the first events whose name contains one of these, one for each.
fn without(names: &[&str]) -> String {
    let mut lines = lines();
    for name in names {
        let place = lines.iter().position(|line| line["Event"].as_str().unwrap().contains(name)).unwrap();
        lines.remove(place);
    }
    text(&lines)
}

fn content(bytes: &[u8]) -> Part<'_> {
    Part::Content { name: "part".to_owned(), bytes: Box::new(bytes) }
}

/// Returns the outcome of the only run and its reason.
fn ending(import: Result<Import, String>) -> (Outcome, String) {
    let import = import.unwrap();
    let [sample] = import.samples.as_slice() else { panic!("{import:?}") };
    (sample.outcome, sample.reason.clone().unwrap_or_default())
}

fn ending_of_parts(parts: Vec<Part<'_>>) -> (Outcome, String) {
    ending(import(Input::new(parts), &given(&[])).map_err(|error| error.to_string()))
}

fn failed(text: &str) -> String {
    let (outcome, reason) = ending(read(text, &given(&[])));
    assert_eq!(outcome, Outcome::Failed, "{reason}");
    reason
}

#[test]
fn a_whole_log_is_a_completed_run() {
    let import = read(text(&lines()), &given(&[])).unwrap();
    let sample = &import.samples[0];
    assert_eq!((sample.outcome, sample.completion_time_secs), (Outcome::Completed, Some(140.0)));
    assert_eq!((import.notes.len(), sample.configuration.memory_per_executor_mib), (0, 7168));
}

#[test]
fn an_unfinished_log_is_not_a_completed_run() {
    // After the first job, at the end of a line and inside of one.
    let first = text(&lines()[..7]);
    let running = "the end of the application is not in the log: it is still running, or was killed";
    assert_eq!(failed(&first), running);
    assert_eq!(read(&first, &given(&[])).unwrap().notes, [format!("failed: {running}")]);
    assert_eq!(failed(&format!("{first}{{\"Event\":\"SparkListenerJobSt")), running);
    let whole = text(&lines());
    assert_eq!(failed(&whole[..whole.len() - 10]), running);
}

#[test]
fn a_log_without_its_start_is_not_a_completed_run() {
    let rest = text(&lines()[3..]);
    let start = "the start of the application is not in the log: its first part is missing";
    assert_eq!(
        ending(read(&rest, &given(&[("memory_per_executor_mib", "1024")]))),
        (Outcome::Failed, start.to_owned())
    );
    // Also if the first line is cut, as by `split`.
    let (outcome, reason) = ending(read(&rest[20..], &given(&[("memory_per_executor_mib", "1024")])));
    assert_eq!(outcome, Outcome::Failed);
    assert!(reason.contains("the first is line 1"), "{reason}");
}

#[test]
fn a_log_with_damage_or_a_gap_is_not_a_completed_run() {
    let whole = text(&lines());
    let line = failed(&whole.replacen("\"Executor Info\":{", "\"Executor Info\":{{", 1));
    assert!(line.starts_with("events of the run may be missing in the log: lines that are not events: 1"), "{line}");

    struct Cut<'a>(&'a [u8]);
    impl Read for Cut<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() { Err(Error::other("cut")) } else { self.0.read(buffer) }
        }
    }
    let first = text(&lines()[..7]);
    let cut = Part::Content { name: "log.zstd".to_owned(), bytes: Box::new(Cut(first.as_bytes())) };
    let (outcome, reason) = ending_of_parts(vec![cut]);
    assert_eq!(outcome, Outcome::Failed);
    assert!(reason.starts_with("the end of the application is not in the log (log.zstd is damaged or"), "{reason}");

    // A part that is missing, and jobs that Spark's compaction removed.
    let (head, tail) = (text(&lines()[..5]), text(&lines()[9..]));
    let gap = || Part::Gap("events_2 is missing, with the events in it".to_owned());
    for parts in
        [vec![content(head.as_bytes()), gap(), content(tail.as_bytes())], vec![gap(), content(whole.as_bytes())]]
    {
        let (outcome, reason) = ending_of_parts(parts);
        let expected = "events of the run may be missing in the log: events_2 is missing, with the events in it";
        assert_eq!((outcome, reason.as_str()), (Outcome::Failed, expected));
    }
    // What follows the end of the application does not matter.
    let parts = vec![content(whole.as_bytes()), gap()];
    assert_eq!(ending_of_parts(parts).0, Outcome::Completed);
}

#[test]
fn a_log_without_one_of_its_jobs_is_not_a_completed_run() {
    let lost = without(&["JobStart", "JobEnd"]);
    assert_eq!(failed(&lost), "1 of the application's 3 jobs are not in the log");
    // Spark 2 does not record jobs without tasks.
    let older = lost.replace("3.5.3", "2.4.8");
    assert_eq!(ending(read(older, &given(&[]))).0, Outcome::Completed);
    assert!(failed(&without(&["JobEnd"])).starts_with("2 of 3 jobs have an end in the log"));
}

#[test]
fn a_measured_job_is_whole_without_the_end_of_its_application() {
    let mut lines = lines();
    lines[5]["Properties"] = json!({"spark.job.description": "foreglow measured"});
    assert_eq!(ending(read(text(&lines[..8]), &given(&[]))).0, Outcome::Completed);
    lines.insert(5, json!("damage"));
    assert_eq!(ending(read(text(&lines[..9]), &given(&[]))).0, Outcome::Failed);
}

#[test]
fn a_byte_order_mark_does_not_change_a_log() {
    let log = text(&lines());
    let utf16: Vec<u8> = format!("\u{feff}{log}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let plain = read(&log, &given(&[]));
    assert_eq!(read(format!("\u{feff}{log}"), &given(&[])), plain);
    assert_eq!(read(utf16, &given(&[])), plain);
}

#[test]
fn a_log_of_spark_before_1_3_has_no_times() {
    let mut lines = lines();
    for line in &mut lines {
        let fields = line.as_object_mut().unwrap();
        fields.remove("Submission Time");
        fields.remove("Completion Time");
    }
    lines.remove(0);
    let error = read(text(&lines), &given(&[])).unwrap_err();
    assert_eq!(error, "its 3 jobs have no times, which Spark before 1.3 did not record; run it on a newer Spark");
}

#[test]
fn the_logs_of_several_applications_in_one_file_are_refused() {
    let twice = text(&lines()).repeat(2);
    let error = read(twice, &given(&[])).unwrap_err();
    assert_eq!(error, "it has the starts of 2 applications or attempts; import the log of each separately");
}

#[test]
fn what_the_user_says_must_agree_with_the_log() {
    let log = text(&lines());
    let error = read(&log, &given(&[("memory_per_executor_mib", "1024")])).unwrap_err();
    let sentence = "spark.executor.memory is \"7168 MiB\" in the log, but --memory says \"1024 MiB\"; omit --memory, or \
                    import this log separately";
    assert_eq!(error, sentence);
    assert!(read(&log, &given(&[("memory_per_executor_mib", "7168")])).is_ok());
    let error = read(&log, &Given { engine: Some(Engine::Local), ..given(&[]) }).unwrap_err();
    assert_eq!(error, "it is the log of a run on Spark, but --engine says local; omit --engine");
    assert!(read(&log, &Given { engine: Some(Engine::Spark), ..given(&[]) }).is_ok());
    let import = read(&log, &given(&[("accelerator", "NVIDIA A10G")])).unwrap();
    assert!(import.notes[0].contains("the log records no GPU of the executors"), "{:?}", import.notes);
}

#[test]
fn one_sampling_rate_for_several_runs_of_a_log_is_refused_and_each_may_have_its_own() {
    let mut lines = lines();
    for place in [5, 7] {
        lines[place]["Properties"] = json!({"spark.job.description": "foreglow measured"});
    }
    let log = text(&lines);
    let with = |rates: &[f64]| read(&log, &Given { sampling_rates: rates.to_vec(), ..given(&[]) });
    let error = with(&[0.1]).unwrap_err();
    assert!(error.starts_with("--sampling-rate gives one rate for 2 runs, whose work differs or is not"), "{error}");
    assert_eq!(read(&log, &given(&[("sampling_rate", "0.1")])).unwrap_err(), error, "also as a label of the page");
    let rates: Vec<f64> = with(&[0.1, 1.0]).unwrap().samples.iter().map(|sample| sample.sampling_rate).collect();
    assert_eq!(rates, [0.1, 1.0]);
    let error = with(&[0.1, 0.2, 0.3]).unwrap_err();
    assert_eq!(error, "--sampling-rate gives 3 rates, and the file has 2 runs; give one rate per run, in their order");
    // A run that has its rate in the log needs none, and contradicts another one.
    lines[5]["Properties"]["spark.foreglow.sampling_rate"] = "0.5".into();
    let import = read(text(&lines), &given(&[])).unwrap();
    assert_eq!((import.samples.len(), import.problems.len()), (1, 1), "{import:?}");
    assert!(import.problems[0].starts_with("run 1: sampling_rate is \"0.5\" in the log"), "{import:?}");
}

#[test]
fn one_sampling_rate_is_for_logs_of_equal_work() {
    let log = |id: &str, bytes: u64| {
        let mut lines = with_tasks(&json!({"Input Metrics": {"Bytes Read": bytes, "Records Read": 9}}));
        lines[1]["App ID"] = id.into();
        read(text(&lines), &given(&[])).unwrap().rated
    };
    let both = |one: u64, other: u64| {
        let rated = log("a", one).into_iter().chain(log("b", other)).collect();
        given(&[]).check_rate(&rated).map_err(|error| error.to_string())
    };
    assert_eq!(both(1000, 1020), Ok(()), "random shares of the same images");
    let error = both(1000, 4000).unwrap_err();
    assert!(error.ends_with("and import files with different rates separately"), "{error}");
    let rated = log("a", 1000).into_iter().chain(log("a", 1000)).collect();
    assert_eq!(given(&[]).check_rate(&rated), Ok(()), "one log twice");
}

/// Returns a log whose first job has a stage of two tasks, with metrics of each.
fn with_tasks(metrics: &Value) -> Vec<Value> {
    let mut lines = lines();
    let info = json!({"Stage ID": 0, "Stage Name": "count", "Number of Tasks": 2, "Submission Time": 10_000, "Completion Time": 29_000});
    lines[5]["Stage IDs"] = json!([0]);
    let task = |index: u32| {
        json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Task End Reason": {"Reason": "Success"}, "Task Metrics": metrics,
               "Task Info": {"Index": index, "Launch Time": 11_000, "Executor ID": index.to_string(), "Finish Time": 19_000 + 10_000 * index}})
    };
    lines.splice(6..6, [task(0), task(1), json!({"Event": "SparkListenerStageCompleted", "Stage Info": info})]);
    lines
}

fn unlabelled(lines: &[Value], more: &[(&str, &str)]) -> Result<Import, String> {
    let mut given = Given::default();
    more.iter().for_each(|(name, value)| given.labels.set(name, *value));
    read(text(lines), &given)
}

#[test]
fn a_log_without_labels_is_a_run_of_its_application_with_what_it_read_as_the_amount() {
    let amount = |metrics: Value| {
        let import = unlabelled(&with_tasks(&metrics), &[]).unwrap();
        let [sample] = import.samples.as_slice() else { panic!("{import:?}") };
        assert_eq!(
            (sample.workload.model.as_str(), sample.sampling_rate, sample.outcome),
            ("a", 1.0, Outcome::Completed)
        );
        assert_eq!((sample.workload.describe_job(), sample.completion_time_secs), ("a".to_owned(), Some(140.0)));
        (sample.workload.images, sample.workload.unit.clone().unwrap())
    };
    let input = |bytes: u64, rows: u64| json!({"Input Metrics": {"Bytes Read": bytes, "Records Read": rows}});
    assert_eq!(amount(input(500, 7)), (1000, "bytes".to_owned()));
    assert_eq!(amount(input(0, 7)), (14, "rows".to_owned()));
    assert_eq!(amount(json!({})), (2, "tasks".to_owned()));
}

#[test]
fn an_application_without_labels_can_be_named_and_has_sparks_default_memory() {
    let mut lines = with_tasks(&json!({}));
    let import = unlabelled(&lines, &[("model", "nightly")]).unwrap();
    assert_eq!((import.samples[0].workload.model.as_str(), import.notes.len()), ("nightly", 1), "{:?}", import.notes);
    lines[2]["Spark Properties"] = json!({});
    let import = unlabelled(&lines, &[]).unwrap();
    assert_eq!(import.samples[0].configuration.memory_per_executor_mib, 1024);
    assert!(
        import.notes.iter().any(|note| note.contains("Spark's default of 1024 MiB is assumed")),
        "{:?}",
        import.notes
    );
    let given = unlabelled(&lines, &[("memory_per_executor_mib", "2048")]).unwrap();
    assert_eq!(given.samples[0].configuration.memory_per_executor_mib, 2048);
    lines[1]["App Name"] = " ".into();
    assert_eq!(unlabelled(&lines, &[]).unwrap().samples[0].workload.model, "app-1");
}

#[test]
fn a_run_of_an_application_whose_executors_were_lost_is_complete_and_has_their_average_number() {
    let mut lines = with_tasks(&json!({}));
    let removed = json!({"Event": "SparkListenerExecutorRemoved", "Timestamp": 60_000, "Executor ID": "1",
        "Removed Reason": "Container killed"});
    lines.insert(lines.len() - 1, removed);
    let import = unlabelled(&lines, &[]).unwrap();
    let [sample] = import.samples.as_slice() else { panic!("{import:?}") };
    assert_eq!((sample.outcome, &sample.reason), (Outcome::Completed, &None));
    assert!(import.notes.iter().any(|note| note.contains("executor 1 was lost during the run")), "{:?}", import.notes);
    let mean = sample.simulated.as_ref().unwrap().mean_executors.unwrap();
    assert!(mean > 1.0 && mean < 2.0, "{mean}");
    // Its tasks are of a CNN with labels: the run is a measurement of one configuration.
    let labels = [
        ("model", "a"),
        ("mode", "inference"),
        ("image_px", "8"),
        ("images", "8"),
        ("batch_size", "1"),
        ("partition_size", "1"),
        ("sampling_rate", "1"),
    ];
    let labelled = unlabelled(&lines, &labels).unwrap();
    assert_eq!((labelled.samples[0].outcome, &labelled.samples[0].simulated), (Outcome::Failed, &None));
}

#[test]
fn a_log_with_some_labels_of_a_cnn_is_refused_with_the_missing_ones() {
    let error = unlabelled(&with_tasks(&json!({})), &[("image_px", "64")]).unwrap_err();
    assert!(
        error.starts_with("the log lacks model, mode, images, batch_size, partition_size and sampling_rate"),
        "{error}"
    );
}

#[test]
fn an_unlabelled_log_of_a_stream_or_without_tasks_is_refused() {
    let error = unlabelled(&lines(), &[]).unwrap_err();
    assert!(error.starts_with("the log has no tasks, so the work of the application is unknown"), "{error}");
    for property in ["sql.streaming.queryId", "spark.streaming.internal.batchTime"] {
        let mut lines = with_tasks(&json!({}));
        lines[5]["Properties"] = json!({property: "1"});
        let error = unlabelled(&lines, &[]).unwrap_err();
        assert!(error.starts_with("it is of a streaming application"), "{error}");
    }
}
