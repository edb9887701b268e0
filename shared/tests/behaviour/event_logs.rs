//! Event logs: what is read of them, however they are cut, and what damage does.

use foreglow_shared::event_log::{Application, Damage, EventLogError, EventLogReader, Stage};

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
fn a_log_says_what_ran_where_and_how_long() {
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
    // The failed attempt held the slot before the one that succeeded; the task at index 0 is not in the log.
    assert_eq!(stage.task_ms, [Stage::UNKNOWN, 110]);
    assert_eq!((stage.totals.succeeded, stage.totals.failed, stage.totals.gc_ms), (1, 1, Some(7)));
    assert_eq!(stage.totals.failure.as_ref().unwrap().reason, "ExceptionFailure: java.io.IOException: no");
    assert_eq!(stage.accumulators["foreglow.images"], 40);
    assert_eq!(application.damage, Damage::default());
}

#[test]
fn the_pieces_in_which_a_log_arrives_change_nothing() {
    let whole = read(LOG.as_bytes(), LOG.len()).unwrap();
    for piece in [1, 2, 7, 64, 1000] {
        assert_eq!(read(LOG.as_bytes(), piece).unwrap(), whole, "{piece}");
    }
}

#[test]
fn a_log_may_be_cut_at_any_byte() {
    for end in 0..LOG.len() {
        match read(&LOG.as_bytes()[..end], 61) {
            Ok(application) => assert_eq!(application.damage.lines, 0, "{end}"),
            Err(error) => assert!(end < LOG.find('\n').unwrap(), "{end}: {error}"),
        }
    }
}

#[test]
fn what_is_no_event_log_is_told_from_an_empty_one() {
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
