//! Records of Kubernetes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use foreglow_import::Given;
use foreglow_shared::{Outcome, Sample};
use serde_json::{Value, json};
use support::{given, read};

/// Returns a Job of two pods of two processors that took 120 s.
fn job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "infer", "uid": "u1"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {"spec": {
                "nodeSelector": {"node.kubernetes.io/instance-type": "m5.large"},
                "containers": [{"name": "main", "resources": {"limits": {"cpu": "2", "memory": "4Gi"}}}],
            }},
        },
        "status": {
            "startTime": "2026-11-21T10:00:00Z",
            "completionTime": "2026-11-21T10:02:00Z",
            "succeeded": 2,
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    })
}

/// Returns the Job with another value at a JSON pointer whose parent exists.
fn changed(pointer: &str, value: Value) -> Value {
    let mut job = job();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    job.pointer_mut(parent).unwrap()[key] = value;
    job
}

/// Returns the only sample of a Job and the remarks.
fn one(job: &Value) -> (Sample, Vec<String>) {
    let import = read(job.to_string(), &given(&[])).unwrap();
    assert_eq!(import.samples.len(), 1, "{import:?}");
    (import.samples[0].clone(), import.notes)
}

fn refused(job: &Value) -> String {
    read(job.to_string(), &given(&[])).unwrap_err()
}

const CONTAINERS: &str = "/spec/template/spec/containers";
const LIMITS: &str = "/spec/template/spec/containers/0/resources/limits";

#[test]
fn jobs_of_kubernetes_are_samples() {
    let mut late = changed(
        "/status/conditions",
        json!([{"type": "Failed", "status": "True",
        "reason": "DeadlineExceeded", "message": "was active longer", "lastTransitionTime": "2026-11-21T10:05:00Z"}]),
    );
    late["metadata"] = json!({"name": "late", "uid": "u2"});
    let running = json!({"kind": "Job", "metadata": {"name": "running", "uid": "u3"}, "status": {}});
    let list = json!({"apiVersion": "v1", "items": [job(), late, running], "kind": "List"});
    let import = read(list.to_string(), &Given { sampling_rates: vec![0.1; 2], ..given(&[]) }).unwrap();
    let [first, late] = import.samples.as_slice() else { panic!("{import:?}") };
    assert_eq!((first.configuration.executors, first.configuration.cores_per_executor), (2, 2));
    assert_eq!((first.completion_time_secs, first.configuration.memory_per_executor_mib), (Some(120.0), 4096));
    assert_eq!(first.host.machine.as_deref(), Some("m5.large"));
    assert_eq!((late.outcome, late.completion_time_secs), (Outcome::TimedOut, Some(300.0)));
    assert_eq!(import.notes[0], "running has not ended");
}

#[test]
fn one_job_a_list_and_several_objects_are_read_alike() {
    let (job, _) = one(&job());
    let text = self::job().to_string();
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut second = self::job();
    second["metadata"]["uid"] = "u2".into();
    for (bytes, jobs) in [
        (json!({"kind": "JobList", "items": [self::job()]}).to_string().into_bytes(), 1),
        (json!({"apiVersion": "v1", "kind": "List", "items": [self::job()]}).to_string().into_bytes(), 1),
        (format!("{text}\n{second}\n").into_bytes(), 2),
        (utf16, 1),
    ] {
        let import = read(bytes, &Given { sampling_rates: vec![0.1; jobs], ..given(&[]) }).unwrap();
        assert_eq!((&import.samples[0], import.samples.len()), (&job, jobs));
    }
}

#[test]
fn a_job_without_limits_is_left_out_with_the_name_of_the_field() {
    let requests = json!({"requests": {"cpu": "2", "memory": "4Gi"}});
    let error = refused(&changed("/spec/template/spec/containers/0/resources", requests));
    assert!(error.contains("infer sets no limit of processors (resources.limits.cpu)"), "{error}");
    let error = refused(&changed(&format!("{LIMITS}/memory"), Value::Null));
    assert!(error.contains("infer is left out: it has no memory (resources.limits.memory); give --memory"), "{error}");
    let memory = read(job().to_string(), &given(&[("memory_per_executor_mib", "1024")])).unwrap_err();
    assert!(memory.contains("4096 MiB (resources.limits.memory), but --memory says 1024 MiB"), "{memory}");
}

#[test]
fn processors_may_be_thousandths_and_are_not_rounded() {
    for (cpu, cores) in [(json!("4000m"), 4), (json!(3), 3), (json!("1.0"), 1)] {
        assert_eq!(one(&changed(&format!("{LIMITS}/cpu"), cpu)).0.configuration.cores_per_executor, cores);
    }
    for cpu in ["1500m", "0.5", "two"] {
        let error = refused(&changed(&format!("{LIMITS}/cpu"), cpu.into()));
        let sentence = format!("infer has no whole number of processors (resources.limits.cpu is {cpu})");
        assert!(error.contains(&sentence), "{error}");
    }
}

#[test]
fn executors_are_the_pods_that_ran_at_the_same_time() {
    for (parallelism, completions, executors, note) in [
        (json!(4), json!(2), 2, Some("only 2 of its 4 slots had a pod")),
        (json!(2), json!(10), 2, Some("its 10 pods ran on 2 slots one after the other")),
        (json!(4), Value::Null, 4, None),
        (Value::Null, Value::Null, 1, None),
    ] {
        let mut job = changed("/spec/parallelism", parallelism);
        job["spec"]["completions"] = completions;
        let (sample, notes) = one(&job);
        assert_eq!(sample.configuration.executors, executors, "{notes:?}");
        assert_eq!(notes.first().map(|note| note.contains(note)), note.map(|_| true));
        assert!(note.is_none_or(|note| notes[0].contains(note)), "{notes:?}");
    }
}

#[test]
fn a_job_with_restarted_pods_did_not_complete() {
    let (sample, _) = one(&changed("/status/failed", json!(1)));
    let reason = "pods that failed and were started again: 1 (status.failed)";
    assert_eq!((sample.outcome, sample.reason.as_deref()), (Outcome::Failed, Some(reason)));
}

#[test]
fn the_container_that_does_the_work_is_chosen_aloud() {
    let container = |name: &str, limits: Value| json!({"name": name, "resources": {"limits": limits}});
    let proxy = container("proxy", json!({"cpu": "1", "memory": "1Gi"}));
    let (sample, notes) =
        one(&changed(CONTAINERS, json!([proxy, container("main", json!({"cpu": "4", "memory": "8Gi"}))])));
    assert_eq!((sample.configuration.cores_per_executor, sample.configuration.memory_per_executor_mib), (4, 8192));
    assert_eq!(notes, ["infer: of the 2 containers of a pod, the resources are those of main"]);
    let error = refused(&changed(CONTAINERS, json!([proxy, container("main", json!({"cpu": "1"}))])));
    assert!(error.contains("several containers (proxy, main), and which one does the work is unclear"), "{error}");
}

#[test]
fn other_objects_and_forms_are_named() {
    let pods = json!({"apiVersion": "v1", "items": [{"kind": "Pod", "metadata": {"name": "p"}}], "kind": "List"});
    let error = refused(&pods);
    assert!(error.contains("p is a Pod, and only a Job, PyTorchJob, TFJob, MPIJob, TrainJob,"), "{error}");
    for text in [
        "apiVersion: v1\nitems:\n- apiVersion: batch/v1\n  kind: Job\n",
        "---\napiVersion: batch/v1\nkind: Job\n",
        "NAME   STATUS     COMPLETIONS   DURATION   AGE\na      Complete   1/1           5s         1m\n",
        "NAMESPACE   NAME   STATUS     COMPLETIONS   DURATION   AGE\nx   a      Complete   1/1           5s         1m\n",
        "Name:             infer\nNamespace:        default\n",
    ] {
        let error = read(text, &given(&[])).unwrap_err();
        assert!(error.contains("write it as JSON, with `kubectl get job -o json`"), "{text}: {error}");
    }
    for empty in [r#"{"apiVersion":"v1","kind":"List","items":[]}"#, r#"{"kind":"JobList","items":[]}"#] {
        assert_eq!(read(empty, &given(&[])).unwrap_err(), "it lists no jobs; write it again after a job has finished");
    }
}

#[test]
fn a_job_that_foreglow_ran_itself_is_left_out() {
    let error = refused(&changed("/metadata/labels", json!({"app.kubernetes.io/name": "foreglow"})));
    assert!(error.starts_with("no finished job can be used; infer ran `foreglow collect`"), "{error}");
}

#[test]
fn the_gpus_of_a_pod_are_counted() {
    let accelerator = given(&[("accelerator", "NVIDIA A100-SXM4-40GB")]);
    for (limits, pods, expected) in [
        (json!({"nvidia.com/gpu": "1"}), 2, (2, None)),
        (json!({"nvidia.com/gpu": "4"}), 1, (1, Some(4))),
        (json!({"nvidia.com/gpu": 8}), 1, (1, Some(8))),
        (json!({"nvidia.com/gpu": "4"}), 2, (2, Some(4))),
        (json!({"amd.com/gpu": "8"}), 4, (4, Some(8))),
        (json!({"nvidia.com/mig-1g.5gb": "2"}), 1, (1, Some(2))),
        (json!({"gpu.intel.com/i915": "2"}), 1, (1, Some(2))),
        (json!({"nvidia.com/gpu.shared": "1"}), 2, (2, None)),
    ] {
        let mut job = job();
        job["spec"]["parallelism"] = pods.into();
        job["spec"]["completions"] = pods.into();
        let all = job.pointer_mut(LIMITS).unwrap().as_object_mut().unwrap();
        all.extend(limits.as_object().unwrap().clone());
        let import = read(job.to_string(), &accelerator).unwrap();
        let configuration = &import.samples[0].configuration;
        assert_eq!((configuration.executors, configuration.accelerators_per_executor), expected, "{limits}");
        assert_eq!(configuration.shares_accelerators, limits.to_string().contains("shared"), "{limits}");
    }
}

#[test]
fn objects_of_operators_are_read_like_jobs() {
    let metadata = json!({"name": "train", "uid": "u9", "creationTimestamp": "2026-11-21T09:59:00Z"});
    let limits = json!({"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}});
    let template = json!({"spec": {"containers": [{"name": "pytorch", "resources": limits}]}});
    let condition = |kind: &str| {
        json!([{"type": "Running", "status": "False"},
               {"type": kind, "status": "True", "lastTransitionTime": "2026-11-21T10:02:00Z"}])
    };
    let times = json!({"startTime": "2026-11-21T10:00:00Z", "completionTime": "2026-11-21T10:02:00Z"});
    let with = |status: &Value, conditions: Value| {
        let mut status = status.clone();
        status["conditions"] = conditions;
        status
    };
    let ray = json!({"jobStatus": "SUCCEEDED", "startTime": "2026-11-21T10:00:00Z", "endTime": "2026-11-21T10:02:00Z"});
    for (kind, spec, status, (executors, cores, gpus, secs)) in [
        (
            "PyTorchJob",
            json!({"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template},
                                           "Worker": {"replicas": 3, "template": template}}}),
            with(&times, condition("Succeeded")),
            (4, 8, Some(4), 120.0),
        ),
        (
            "MPIJob",
            json!({"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": {"spec": {"containers": [{}]}}},
                                       "Worker": {"replicas": 2, "template": template}}}),
            with(&times, condition("Succeeded")),
            (2, 8, Some(4), 120.0),
        ),
        (
            "TrainJob",
            json!({"trainer": {"numNodes": 2, "resourcesPerNode": limits}}),
            with(&json!({}), condition("Complete")),
            (2, 8, Some(4), 180.0),
        ),
        (
            "JobSet",
            json!({"replicatedJobs": [{"name": "w", "replicas": 2,
                                       "template": {"spec": {"parallelism": 2, "template": template}}}]}),
            with(&json!({}), condition("Completed")),
            (4, 8, Some(4), 180.0),
        ),
        (
            "RayJob",
            json!({"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [{}]}}},
                                      "workerGroupSpecs": [{"replicas": 3, "template": template}]}}),
            ray,
            (3, 8, Some(4), 120.0),
        ),
        (
            "SparkApplication",
            json!({"executor": {"instances": 5, "cores": 4, "memory": "8g",
                                "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}}),
            json!({"applicationState": {"state": "COMPLETED"}, "lastSubmissionAttemptTime": "2026-11-21T10:00:00Z",
                   "terminationTime": "2026-11-21T10:02:00Z"}),
            (5, 4, None, 120.0),
        ),
    ] {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status});
        let import = read(object.to_string(), &given(&[("accelerator", "A100")]))
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        let sample = &import.samples[0];
        let configuration = &sample.configuration;
        assert_eq!((configuration.executors, configuration.cores_per_executor), (executors, cores), "{kind}");
        assert_eq!(
            (configuration.accelerators_per_executor, sample.completion_time_secs),
            (gpus, Some(secs)),
            "{kind}"
        );
        assert_eq!(sample.outcome, Outcome::Completed, "{kind}");
    }
}

#[test]
fn an_object_with_unequal_pods_or_without_an_end_is_left_out_with_the_reason() {
    let template = |cpu: &str| {
        let limits = json!({"limits": {"cpu": cpu, "memory": "4Gi"}});
        json!({"spec": {"containers": [{"name": "main", "resources": limits}]}})
    };
    let of = |worker: &str, status: Value| {
        json!({"kind": "PyTorchJob", "metadata": {"name": "train", "uid": "u"}, "status": status, "apiVersion": "v1",
               "spec": {"pytorchReplicaSpecs": {"Master": {"template": template("2")}, "Worker": {"template": template(worker)}}}})
    };
    let unequal = refused(&of("4", json!({})));
    assert!(
        unequal.contains("train has pods with different resources, and a sample has one configuration"),
        "{unequal}"
    );
    let running = refused(&of("2", json!({"startTime": "2026-11-21T10:00:00Z"})));
    assert!(running.contains("train has not ended"), "{running}");
}
