//! Objects of Kubernetes' operators for training and Spark, as the Jobs that they stand for.

use serde_json::{Map, Value, json};

/// Kinds that have a time.
pub(super) const KINDS: &str = "a Job, PyTorchJob, TFJob, MPIJob, TrainJob, JobSet, RayJob or SparkApplication";

/// A group of equal pods.
struct Pods {
    count: u64,
    /// Specification of a pod.
    spec: Value,
}

/// Returns the Job that an object of another kind stands for: its pods, and its state in the words
/// of a Job. `None` for a kind without a time.
pub(super) fn as_job(kind: &str, object: &Value) -> Option<Result<Value, String>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let job = match kind {
        "PyTorchJob" => of_replicas(object, &spec["pytorchReplicaSpecs"]),
        "TFJob" => of_replicas(object, &spec["tfReplicaSpecs"]),
        "MPIJob" => of_replicas(object, &spec["mpiReplicaSpecs"]),
        "TrainJob" => {
            let container = json!({ "name": "trainer", "resources": spec["trainer"]["resourcesPerNode"] });
            let count = spec["trainer"]["numNodes"].as_u64().unwrap_or(1);
            let pods = Pods { count, spec: json!({ "containers": [container] }) };
            job(object, vec![pods], &of_conditions(object, "Complete"))
        }
        "JobSet" => {
            let jobs = spec["replicatedJobs"].as_array().map(Vec::as_slice).unwrap_or_default();
            let pods = |job: &Value| {
                let of_job = &job["template"]["spec"];
                let number = |value: &Value| value.as_u64().unwrap_or(1);
                Pods {
                    count: number(&job["replicas"]) * number(&of_job["parallelism"]),
                    spec: of_job["template"]["spec"].clone(),
                }
            };
            job(object, jobs.iter().map(pods).collect(), &of_conditions(object, "Completed"))
        }
        "RayJob" => {
            let cluster = &spec["rayClusterSpec"];
            let workers = cluster["workerGroupSpecs"].as_array().map(Vec::as_slice).unwrap_or_default();
            let pods = |group: &Value| Pods {
                count: group["replicas"].as_u64().unwrap_or(1),
                spec: group["template"]["spec"].clone(),
            };
            let mut groups: Vec<Pods> = workers.iter().map(pods).filter(|pods| pods.count > 0).collect();
            // Without workers, the head does the work.
            if groups.is_empty() {
                groups.push(Pods { count: 1, spec: cluster["headGroupSpec"]["template"]["spec"].clone() });
            }
            job(
                object,
                groups,
                &ended(&status["jobStatus"], "SUCCEEDED", &status["startTime"], &status["endTime"], &status["message"]),
            )
        }
        "SparkApplication" => {
            let state = &status["applicationState"];
            let end = &status["terminationTime"];
            let times =
                ended(&state["state"], "COMPLETED", &status["lastSubmissionAttemptTime"], end, &state["errorMessage"]);
            job(object, vec![executors(&spec["executor"])], &times)
        }
        _ => return None,
    };
    Some(job)
}

/// Returns the job of Kubeflow's training operator, with groups of pods by their role.
fn of_replicas(object: &Value, replicas: &Value) -> Result<Value, String> {
    let all = replicas.as_object().into_iter().flatten();
    // The launcher of MPI only starts the workers.
    let working = all.filter(|(role, _)| role.as_str() != "Launcher");
    let pods = |(_, group): (&String, &Value)| Pods {
        count: group["replicas"].as_u64().unwrap_or(1),
        spec: group["template"]["spec"].clone(),
    };
    job(object, working.map(pods).collect(), &of_conditions(object, "Succeeded"))
}

/// Returns a Job with these pods and this status.
fn job(object: &Value, groups: Vec<Pods>, status: &Value) -> Result<Value, String> {
    let count: u64 = groups.iter().map(|group| group.count).sum();
    let mut specs = groups.into_iter().filter(|group| group.count > 0).map(|group| group.spec);
    let spec = specs.next().ok_or("has no pods in its specification")?;
    let limits = |spec: &Value| -> Vec<Value> {
        let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
        containers.iter().map(|container| container["resources"]["limits"].clone()).collect()
    };
    if specs.any(|other| limits(&other) != limits(&spec)) {
        return Err("has pods with different resources, and a sample has one configuration".to_owned());
    }
    Ok(json!({
        "kind": "Job",
        "metadata": object["metadata"],
        "spec": { "parallelism": count, "completions": count, "template": { "spec": spec } },
        "status": status,
    }))
}

/// Returns the status of an object that has conditions, `complete` for a finished one. Without a
/// start, it is its creation.
fn of_conditions(object: &Value, complete: &str) -> Value {
    let status = &object["status"];
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let holds = |kind: &str| conditions.iter().find(|one| one["type"] == kind && one["status"] == "True");
    let or = |value: &Value, other: &Value| if value.is_null() { other.clone() } else { value.clone() };
    let mut all = Vec::new();
    let mut end = status["completionTime"].clone();
    if let Some(done) = holds(complete) {
        end = or(&end, &done["lastTransitionTime"]);
        all.push(json!({ "type": "Complete", "status": "True" }));
    }
    all.extend(holds("Failed").cloned());
    json!({
        "startTime": or(&status["startTime"], &object["metadata"]["creationTimestamp"]),
        "completionTime": end,
        "conditions": all,
    })
}

/// Returns the status of an object that has a state in one word.
fn ended(state: &Value, complete: &str, start: &Value, end: &Value, message: &Value) -> Value {
    let state = state.as_str().unwrap_or_default();
    let conditions = match state {
        _ if state == complete => json!([{ "type": "Complete", "status": "True" }]),
        "FAILED" | "STOPPED" | "SUBMISSION_FAILED" => {
            let message = message.as_str().filter(|message| !message.is_empty()).unwrap_or(state);
            json!([{ "type": "Failed", "status": "True", "message": message, "lastTransitionTime": end }])
        }
        _ => json!([]),
    };
    json!({ "startTime": start, "completionTime": end, "conditions": conditions })
}

/// Returns the executors of a Spark application, whose memory has the units of Java.
fn executors(executor: &Value) -> Pods {
    let mut limits = Map::new();
    if let Some(cores) = executor["cores"].as_u64() {
        limits.insert("cpu".to_owned(), cores.to_string().into());
    }
    if let Some(memory) = executor["memory"].as_str() {
        let memory = memory.trim().to_ascii_lowercase();
        let number = memory.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = match memory[number.len()..].chars().next() {
            Some('k') => "Ki",
            Some('g') => "Gi",
            Some('t') => "Ti",
            // Spark takes a plain number as MiB.
            _ => "Mi",
        };
        limits.insert("memory".to_owned(), format!("{number}{unit}").into());
    }
    if let (Some(name), Some(quantity)) = (executor["gpu"]["name"].as_str(), executor["gpu"]["quantity"].as_u64()) {
        limits.insert(name.to_owned(), quantity.to_string().into());
    }
    let container = json!({ "name": "executor", "resources": { "limits": limits } });
    Pods { count: executor["instances"].as_u64().unwrap_or(1), spec: json!({ "containers": [container] }) }
}
