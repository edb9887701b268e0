//! Event logs: content, arbitrary chunks, truncation and damage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

use foreglow_shared::{LabelError, Labels, Outcome};
use foreglow_spark_log::{Application, Damage, EventLogError, EventLogReader, NoRun, NoSample, Stage};
use proptest::prelude::*;

/// A real log: two executors of two cores, a warm-up and two measured jobs, made by
/// `tests/event-logs/make.sh`.
const REAL: &[u8] = include_bytes!("event-logs/3.5-measured");

const LOG: &str = concat!(
    r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.9"}"#,
    "\n",
    r#"{"Event":"SparkListenerResourceProfileAdded","Resource Profile Id":0,"Executor Resource Requests":{"memory":{"Resource Name":"memory","Amount":512,"Discovery Script":"","Vendor":""}},"Task Resource Requests":{"cpus":{"Resource Name":"cpus","Amount":1.0}}}"#,
    "\n",
    r#"{"Event":"SparkListenerEnvironmentUpdate","JVM Information":{},"Spark Properties":{"spark.foreglow.model":"resnet18","spark.executor.cores":"2"}}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1000,"User":"u"}"#,
    "\n",
    r#"{"Event":"SparkListenerExecutorAdded","Timestamp":2000,"Executor ID":"0","Executor Info":{"Host":"h","Total Cores":2,"Log Urls":{},"Attributes":{},"Resources":{"gpu":{"name":"gpu","addresses":["0"]}},"Resource Profile Id":0}}"#,
    "\n",
    r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":3000,"Stage Infos":[{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count","Number of Tasks":2,"RDD Info":[],"Parent IDs":[],"Details":""}],"Stage IDs":[0],"Properties":{"spark.job.description":"foreglow measured","spark.foreglow.sampling_rate":"0.1"}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"ExceptionFailure","Class Name":"java.io.IOException","Description":"no\nspace","Stack Trace":[]},"Task Info":{"Task ID":0,"Index":1,"Attempt":0,"Launch Time":3010,"Executor ID":"0","Host":"h","Finish Time":3020,"Failed":true,"Killed":false}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":1,"Index":1,"Attempt":1,"Launch Time":3030,"Executor ID":"0","Host":"h","Finish Time":3130,"Failed":false,"Killed":false},"Task Metrics":{"Executor Run Time":90,"Executor CPU Time":80000000,"JVM GC Time":7}}"#,
    "\n",
    r#"{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count","Number of Tasks":2,"RDD Info":[],"Parent IDs":[],"Submission Time":3005,"Completion Time":3140,"Accumulables":[{"ID":9,"Name":"foreglow.images","Value":"40"}]}}"#,
    "\n",
    r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":3150,"Job Result":{"Result":"JobSucceeded"}}"#,
    "\n",
    r#"{"Event":"SparkListenerExecutorRemoved","Timestamp":4000,"Executor ID":"0","Removed Reason":"killed"}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationEnd","Timestamp":5000}"#,
    "\n",
);

fn read(log: &[u8], piece: usize) -> Result<Application, EventLogError> {
    let mut reader = EventLogReader::new();
    log.chunks(piece.max(1)).for_each(|bytes| reader.push(bytes));
    reader.finish()
}

#[test]
fn an_event_log_is_read_completely() {
    let application = read(LOG.as_bytes(), LOG.len()).unwrap();
    assert_eq!(application.spark_version.as_deref(), Some("3.5.9"));
    assert_eq!((application.started_ms, application.ended_ms), (Some(1000), Some(5000)));
    assert_eq!(application.executor_memory_mib(), Some(512));
    assert_eq!(application.properties["spark.foreglow.model"], "resnet18");
    let executor = &application.executors[0];
    assert_eq!((executor.cores, executor.resources["gpu"].as_slice()), (2, &["0".to_owned()][..]));
    assert_eq!(application.executors_at(3000).count(), 1);
    assert_eq!((application.executors_at(1999).count(), application.executors_at(4000).count()), (0, 0));
    let job = &application.jobs[&0];
    assert_eq!(job.description.as_deref(), Some("foreglow measured"));
    assert_eq!(job.labels["spark.foreglow.sampling_rate"], "0.1");
    assert_eq!((job.submitted_ms, job.end.as_ref().unwrap().at_ms), (Some(3000), 3150));
    let stage = &application.stages[&0];
    // The failed attempt and the successful one count for task 1; the log lacks task 0.
    assert_eq!(stage.task_ms, [Stage::UNKNOWN, 110]);
    assert_eq!((stage.totals.succeeded, stage.totals.failed, stage.totals.gc_ms), (1, 1, Some(7)));
    assert_eq!(stage.totals.failure.as_ref().unwrap().reason, "ExceptionFailure: java.io.IOException: no");
    assert_eq!(stage.accumulators["foreglow.images"], 40);
    assert_eq!(application.damage, Damage::default());
}

#[test]
fn the_size_of_the_chunks_does_not_matter() {
    let whole = read(LOG.as_bytes(), LOG.len()).unwrap();
    for piece in [1, 2, 7, 64, 1000] {
        assert_eq!(read(LOG.as_bytes(), piece).unwrap(), whole, "{piece}");
    }
}

#[test]
fn a_log_may_be_truncated_at_any_byte() {
    for end in 0..LOG.len() {
        match read(&LOG.as_bytes()[..end], 61) {
            Ok(application) => assert_eq!(application.damage.lines, 0, "{end}"),
            Err(error) => assert!(end < LOG.find('\n').unwrap(), "{end}: {error}"),
        }
    }
}

#[test]
fn other_files_are_distinguished_from_empty_ones() {
    assert_eq!(read(b"", 1), Err(EventLogError::Empty));
    assert_eq!(read(b"executors,cores\n1,2\n", 5), Err(EventLogError::NoEvents));
    assert_eq!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0, 10, 255], 3), Err(EventLogError::NoEvents));
    assert_eq!(read(&vec![0; 1 << 20], 1 << 12), Err(EventLogError::NoEvents));
}

#[test]
fn a_damaged_line_is_counted_and_the_others_are_read() {
    let log = LOG.replacen("\"Spark Properties\":{", "\"Spark Properties\":{{", 1);
    let application = read(log.as_bytes(), 1000).unwrap();
    assert_eq!(application.damage, Damage { lines: 1, first: Some(3), ..Damage::default() });
    assert_eq!(application.jobs.len(), 1);
}

/// The labels missing from the synthetic log.
fn labels() -> Labels {
    let mut labels = Labels::default();
    let values =
        [("mode", "inference"), ("image_px", "64"), ("images", "40"), ("batch_size", "8"), ("partition_size", "2")];
    values.into_iter().for_each(|(name, value)| labels.set(name, value));
    labels
}

/// Outcome and reason of the only run of a log.
fn outcome(log: &str) -> (Outcome, String) {
    let application = read(log.as_bytes(), 4096).unwrap();
    let (sample, _) = application.runs().unwrap()[0].sample(&labels(), "0.1.0").unwrap();
    (sample.outcome, sample.reason.unwrap_or_default())
}

/// The synthetic log without the failed attempt, and with `from` replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    let log = LOG.replace("\"Reason\":\"ExceptionFailure\"", "\"Reason\":\"Success\"").replacen(
        "\"Index\":1",
        "\"Index\":0",
        1,
    );
    assert!(log.contains(from), "{from}");
    log.replacen(from, to, 1)
}

#[test]
fn a_run_becomes_a_sample_with_sparks_counts() {
    let application = read(changed("", "").as_bytes(), 4096).unwrap();
    let runs = application.runs().unwrap();
    let (sample, notes) = runs[0].sample(&labels(), "0.1.0").unwrap();
    assert_eq!((sample.outcome, sample.reason.as_deref()), (Outcome::Completed, None));
    assert_eq!((sample.completion_time_secs, sample.startup_secs, sample.sampling_rate), (Some(0.15), Some(2.0), 0.1));
    let configuration = &sample.configuration;
    assert_eq!((configuration.executors, configuration.cores_per_executor), (1, 2));
    assert_eq!((configuration.memory_per_executor_mib, configuration.accelerator.as_deref()), (512, Some("gpu")));
    assert_eq!((sample.workload.epochs, sample.started_at.as_millisecond()), (1, 3000));
    let spark = &sample.extra["spark"];
    assert_eq!((&spark["gc_secs"], &spark["cpu_secs"], &spark["tasks"]), (&0.007.into(), &0.08.into(), &2.into()));
    assert_eq!(spark["machines"], 1);
    assert!(notes[0].contains("only as gpu; give its name with --accelerator"), "{notes:?}");
    let mut named = labels();
    named.set("accelerator", "NVIDIA A10G");
    let (named, notes) = runs[0].sample(&named, "0.1.0").unwrap();
    assert_eq!((named.configuration.accelerator.as_deref(), notes.len()), (Some("NVIDIA A10G"), 0));
    assert_eq!(runs[0].sample(&labels(), "0.1.0").unwrap().0.id, sample.id);
}

#[test]
fn what_a_run_used_is_told_beside_what_was_asked_for() {
    let log = changed(
        "\"JVM GC Time\":7",
        "\"JVM GC Time\":9,\"Disk Bytes Spilled\":1048577,\"Peak Execution Memory\":5000000",
    )
    .replace("\"Task Metrics\"", "\"Task Executor Metrics\":{\"JVMHeapMemory\":94371840},\"Task Metrics\"")
    .replace("\"spark.executor.cores\":\"2\"", "\"spark.master\":\"yarn\",\"spark.executor.instances\":\"3\"");
    let application = read(log.as_bytes(), 4096).unwrap();
    let logged = application.runs().unwrap()[0].logged().unwrap();
    let span = &logged.stages[0];
    assert_eq!((logged.stages.len(), span.start_secs, span.tasks, span.skew), (1, 0.01, 2, 1.0));
    // 110 ms of tasks in the 120 ms of the stage.
    assert!((span.secs - 0.12).abs() < 1e-12 && (span.busy_cores - 11.0 / 12.0).abs() < 1e-12, "{span:?}");
    assert_eq!(logged.executors, [(0.0, 1)]);
    let lost = read(changed("\"Timestamp\":4000", "\"Timestamp\":3100").as_bytes(), 4096).unwrap();
    assert_eq!(lost.runs().unwrap()[0].logged().unwrap().executors, [(0.0, 1), (0.1, 0)]);
    let used = logged.used;
    assert_eq!(
        (used.executors_asked, used.executors, used.mean_executors, used.executors_removed),
        (Some(3), 1, 1.0, 0)
    );
    // 110 ms of tasks in 150 ms of two cores.
    assert!((used.busy_share - 110.0 / 300.0).abs() < 1e-12, "{used:?}");
    assert_eq!(
        (used.memory_per_executor_mib, used.peak_heap_mib, used.peak_execution_mib),
        (Some(512), Some(90), Some(5))
    );
    assert_eq!((used.spilled_mib, used.gc_share), (Some(2), Some(0.1)));
    let stage = used.longest_stage.unwrap();
    assert_eq!((stage.tasks, stage.longest_task_secs, stage.skew), (2, 0.1, 1.0));
}

#[test]
fn several_accelerators_per_executor_are_noted() {
    let application = read(changed("\"addresses\":[\"0\"]", "\"addresses\":[\"0\",\"1\"]").as_bytes(), 4096).unwrap();
    let run = &application.runs().unwrap()[0];
    let note = "each executor holds 2 of the resource gpu; costs count one per executor";
    let (sample, notes) = run.sample(&labels(), "0.1.0").unwrap();
    assert_eq!(sample.configuration.accelerator.as_deref(), Some("2 gpu"));
    assert!(notes.iter().any(|other| other == note), "{notes:?}");
    let mut named = labels();
    named.set("accelerator", "NVIDIA A10G");
    let (named, notes) = run.sample(&named, "0.1.0").unwrap();
    assert_eq!(named.configuration.accelerator.as_deref(), Some("NVIDIA A10G"));
    assert!(notes.iter().any(|other| other == note), "{notes:?}");
}

#[test]
fn a_run_that_differs_from_its_request_does_not_count_as_completed() {
    let of = |from: &str, to: &str| outcome(&changed(from, to));
    assert_eq!(outcome(LOG).0, Outcome::Failed);
    let (asked, reason) = of("\"spark.executor.cores\":\"2\"", "\"spark.executor.cores\":\"4\"");
    assert_eq!((asked, &*reason), (Outcome::Failed, "1 executors with 4 cores each were requested, and 1 with 2 ran"));
    let lost = of("\"Timestamp\":4000", "\"Timestamp\":3100");
    assert_eq!((lost.0, &*lost.1), (Outcome::Failed, "executor 0 was lost during the run: killed"));
    let killed = changed("\"Timestamp\":4000", "\"Timestamp\":3100")
        .replace("killed\"}", "Container killed by YARN for exceeding physical memory limits\"}");
    assert_eq!(outcome(&killed).0, Outcome::OutOfMemory);
    let failed =
        of("{\"Result\":\"JobSucceeded\"}", "{\"Result\":\"JobFailed\",\"Exception\":{\"Message\":\"no\\nmore\"}}");
    assert_eq!((failed.0, &*failed.1), (Outcome::Failed, "job 0 failed: no"));
    let instant = of("\"Completion Time\":3150", "\"Completion Time\":3000");
    assert_eq!(instant.0, Outcome::Failed);
}

#[test]
fn a_run_with_a_gap_in_its_log_does_not_count_as_completed() {
    let whole = changed("", "");
    assert_eq!(outcome(&whole).0, Outcome::Completed);
    let without = |lost: &[&str]| -> String {
        let is_kept = |line: &&str| !lost.iter().any(|event| line.contains(event));
        outcome(&whole.lines().filter(is_kept).map(|line| format!("{line}\n")).collect::<String>()).1
    };
    let why = "a part of the log is missing, or Spark dropped events";
    let task = "\"Index\":1,";
    assert_eq!(without(&[task]), format!("1 of 2 tasks have an end in the log: {why}"));
    assert_eq!(without(&["StageCompleted"]), format!("0 of 1 stages have an end in the log: {why}"));
    assert_eq!(without(&["TaskEnd", "StageCompleted"]), format!("0 of 1 stages have an end in the log: {why}"));
    let other =
        changed("\"Executor ID\":\"0\",\"Host\":\"h\",\"Finish", "\"Executor ID\":\"7\",\"Host\":\"h\",\"Finish");
    let sentence = format!("the start of executor 7, which ran tasks, is not in the log: {why}");
    assert_eq!(outcome(&other), (Outcome::Failed, sentence));
}

#[test]
fn a_run_of_several_jobs_is_complete_from_first_to_last_or_failed() {
    let labelled = changed(
        "\"spark.foreglow.sampling_rate\":\"0.1\"",
        "\"spark.foreglow.sampling_rate\":\"0.1\",\"spark.foreglow.run\":\"r\",\"spark.foreglow.jobs\":\"2\"",
    );
    let (half, reason) = outcome(&labelled);
    let sentence = "1 of 2 jobs have an end in the log: the run is still in progress, or was killed";
    assert_eq!((half, &*reason), (Outcome::Failed, sentence));

    let job = |log: &str, from: &str, to: &str| {
        let start = log.find(from).unwrap();
        let end = start + log[start..].find(to).unwrap() + to.len();
        log[start..end].to_owned()
    };
    let second = job(&labelled, "{\"Event\":\"SparkListenerJobStart\"", "JobSucceeded\"}}\n")
        .replace("\"Job ID\":0", "\"Job ID\":1")
        .replace("\"Stage ID\":0", "\"Stage ID\":1")
        .replace("\"Stage IDs\":[0]", "\"Stage IDs\":[1]")
        .replace(":30", ":32")
        .replace(":31", ":33");
    let whole = labelled.replace(
        "{\"Event\":\"SparkListenerExecutorRemoved\"",
        &format!("{second}{{\"Event\":\"SparkListenerExecutorRemoved\""),
    );
    let application = read(whole.as_bytes(), 4096).unwrap();
    let runs = application.runs().unwrap();
    assert_eq!((runs.len(), runs[0].jobs.len(), runs[0].completion_time_secs()), (1, 2, 0.35));
    assert_eq!(runs[0].ending().unwrap().outcome, Outcome::Completed);
}

#[test]
fn an_application_that_was_killed_during_a_job_does_not_count_as_completed() {
    let unmarked = changed("\"spark.job.description\":\"foreglow measured\",", "");
    assert_eq!(outcome(&unmarked).0, Outcome::Completed);
    let start = unmarked.find("{\"Event\":\"SparkListenerJobStart\"").unwrap();
    let end = start + unmarked[start..].find('\n').unwrap() + 1;
    let unended = unmarked[start..end].replace("\"Job ID\":0", "\"Job ID\":1").replace(":3000", ":3200");
    let killed = unmarked.split("{\"Event\":\"SparkListenerExecutorRemoved\"").next().unwrap().to_owned() + &unended;
    let sentence = "1 of 2 jobs have an end in the log: the run is still in progress, or was killed";
    assert_eq!(outcome(&killed), (Outcome::Failed, sentence.to_owned()));
    // A measured job is a run of its own, which another one does not affect.
    let marked = LOG.find("\"spark.job.description\"").unwrap();
    let marked = &LOG[marked..marked + LOG[marked..].find(',').unwrap() + 1];
    let measured = killed.replace("\"Properties\":{", &format!("\"Properties\":{{{marked}"));
    assert_eq!(outcome(&measured).0, Outcome::Completed);
}

#[test]
fn the_labels_of_a_training_run_are_part_of_its_workload() {
    let training = changed(
        "\"spark.foreglow.sampling_rate\":\"0.1\"",
        "\"spark.foreglow.sampling_rate\":\"0.1\",\"spark.foreglow.optimizer\":\"adam\",\"spark.foreglow.average_every\":\"3\",\
         \"spark.foreglow.average_optimizer_state\":\"true\",\"spark.foreglow.share_size\":\"8\",\"spark.foreglow.seed\":\"7\"",
    );
    let sample = |log: &str| {
        let application = read(log.as_bytes(), 4096).unwrap();
        application.runs().unwrap()[0].sample(&labels(), "0.1.0").map(|(sample, _)| sample)
    };
    let workload = sample(&training).unwrap().workload;
    assert_eq!((workload.optimizer.as_deref(), workload.average_every), (Some("adam"), Some(3)));
    assert_eq!((workload.average_optimizer_state, workload.share_size), (Some(true), Some(8)));
    assert_eq!(sample(&training).unwrap().seed, Some(7));
    let wrong =
        sample(&training.replace("\"spark.foreglow.share_size\":\"8\"", "\"spark.foreglow.share_size\":\"a few\""));
    assert!(wrong.unwrap_err().to_string().contains("share_size is \"a few\"; it must be a whole number, 1 or more"));
}

#[test]
fn a_clock_that_was_set_back_gives_no_negative_time() {
    let application = read(changed("\"Completion Time\":3150", "\"Completion Time\":2000").as_bytes(), 4096).unwrap();
    assert_eq!(application.runs().unwrap_err(), NoRun::ClockSetBack);
    let application = read(changed("\"Finish Time\":3130", "\"Finish Time\":1000").as_bytes(), 4096).unwrap();
    assert_eq!(application.damage.backward_tasks, 1);
    // A start that is later than the jobs is ignored.
    let application = read(changed("\"Timestamp\":1000", "\"Timestamp\":9000").as_bytes(), 4096).unwrap();
    assert_eq!(application.runs().unwrap()[0].startup_secs(), None);
}

#[test]
fn missing_and_contradictory_labels_are_reported() {
    let application = read(LOG.as_bytes(), 4096).unwrap();
    let run = &application.runs().unwrap()[0];
    let error = run.sample(&Labels::default(), "0.1.0").unwrap_err();
    let sentence = "the log lacks mode, image_px, images, batch_size and partition_size; \
        give --mode, --image-px, --images, --batch-size and --partition-size, and --epochs too for training";
    assert_eq!(error.to_string(), sentence);
    let mut training = labels();
    training.set("mode", "training");
    let error = run.sample(&training, "0.1.0").unwrap_err().to_string();
    assert_eq!(error, "the log lacks epochs; give --epochs");
    let mut given = labels();
    given.set("sampling_rate", "0.10");
    assert!(run.sample(&given, "0.1.0").is_ok());
    given.set("sampling_rate", "0.2");
    assert!(matches!(
        run.sample(&given, "0.1.0"),
        Err(NoSample::Label(LabelError::Conflict { name: "sampling_rate", .. }))
    ));
    given.set("sampling_rate", "0.1");
    given.set("images", "many");
    assert!(matches!(run.sample(&given, "0.1.0"), Err(NoSample::Label(LabelError::Value { name: "images", .. }))));
}

#[test]
fn a_real_log_has_one_run_per_measured_job_and_none_for_the_warm_up() {
    let application = read(REAL, 1 << 16).unwrap();
    let runs = application.runs().unwrap();
    let rates: Vec<Option<String>> =
        runs.iter().map(|run| run.labels().get("sampling_rate").map(str::to_owned)).collect();
    assert_eq!(rates, [Some("0.1".to_owned()), Some("1".to_owned())]);
    for run in &runs {
        let ending = run.ending().unwrap();
        assert_eq!((ending.executors, ending.cores_per_executor, ending.reason), (2, 2, None));
        let (sample, _) = run.sample(&Labels::default(), "0.1.0").unwrap();
        assert_eq!(sample.check(), Ok(()));
    }
}

#[test]
fn events_of_newer_spark_versions_are_skipped() {
    let real = String::from_utf8_lossy(REAL);
    let newer =
        real.replace("\"Spark Version\":\"3.5.9\"", "\"Spark Version\":\"9.0.0\",\"Format\":{\"Name\":[1,null]}");
    let newer = newer.replace("\"Stage Attempt ID\":0", "\"Stage Attempt ID\":0,\"Tenant\":{\"Zone\":\"a\"}");
    let newer = newer + "{\"Event\":\"SparkListenerQuantumEnd\",\"At\":1}\n";
    let (old, new) = (read(REAL, 1 << 16).unwrap(), read(newer.as_bytes(), 1 << 16).unwrap());
    assert_eq!((new.spark_version.as_deref(), &new.damage), (Some("9.0.0"), &Damage::default()));
    assert_eq!((new.jobs, new.stages), (old.jobs, old.stages));
}

/// Asserts that any log gives valid samples or errors, without a panic.
fn is_harmless(log: &[u8]) {
    let Ok(application) = read(log, 1 << 14) else { return };
    let Ok(runs) = application.runs() else { return };
    for run in &runs {
        assert!(run.completion_time_secs() >= 0.0 && run.startup_secs().is_none_or(|secs| secs >= 0.0));
        for given in [labels(), Labels::default()] {
            match run.sample(&given, "0.1.0") {
                Ok((sample, _)) => assert_eq!(sample.check(), Ok(())),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        let shares = |used: foreglow_spark_log::Used| [used.busy_share, used.gc_share.unwrap_or(0.0)];
        assert!(run.used().is_none_or(|used| shares(used).iter().all(|share| (0.0..=1.0).contains(share))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_real_log_may_be_truncated_anywhere(end in 0..REAL.len()) {
        is_harmless(&REAL[..end]);
    }

    #[test]
    fn a_real_log_may_have_any_bytes_changed(changes in prop::collection::vec((0..REAL.len(), any::<u8>()), 1..60)) {
        let mut log = REAL.to_vec();
        changes.into_iter().for_each(|(at, byte)| log[at] = byte);
        is_harmless(&log);
    }

    #[test]
    fn a_real_log_may_have_any_digits_changed(changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..10), 1..60)) {
        let digits: Vec<usize> = (0..REAL.len()).filter(|at| REAL[*at].is_ascii_digit()).collect();
        let mut log = REAL.to_vec();
        changes.into_iter().for_each(|(at, digit)| log[digits[at.index(digits.len())]] = b'0' + digit);
        is_harmless(&log);
    }

    #[test]
    fn a_real_log_may_have_missing_and_repeated_lines(keep in prop::collection::vec(0_u8..4, 200)) {
        let lines = REAL.split_inclusive(|byte| *byte == b'\n');
        let kept: Vec<u8> = lines.zip(keep.iter().cycle()).flat_map(|(line, keep)| line.repeat(usize::from(*keep).min(2))).collect();
        is_harmless(&kept);
    }
}
