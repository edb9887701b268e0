//! `kubectl get job -o json`: one Job, or a list of them.

use foreglow_exit::unusable;
use foreglow_shared::{Outcome, Timestamp};
use serde_json::Value;

use super::{BYTES_PER_MIB, Finished, OWN_RUN, mebibytes};
use crate::KUBERNETES_LABEL;

const MACHINE: &str = "node.kubernetes.io/instance-type";

/// Whether a JSON text has Jobs, or is a list without items, as kubectl writes it if there are no
/// jobs.
pub(super) fn is_jobs(text: &str) -> bool {
    let is_empty = |value: &Value| {
        let is_list = value["kind"] == "List" || value["kind"] == "JobList";
        is_list && value["items"].as_array().is_some_and(Vec::is_empty)
    };
    serde_json::from_str(text).is_ok_and(|value: Value| is_empty(&value) || !items(&value).is_empty())
}

/// Returns the needed form, if a text is Jobs as YAML or as the table of `kubectl get job`.
pub(super) fn other_form(text: &str) -> Option<&'static str> {
    let is_yaml = text.lines().take(3).any(|line| line.starts_with("apiVersion:"));
    let is_table = text.starts_with("NAME ") && text.lines().next().is_some_and(|line| line.contains(" COMPLETIONS "));
    (is_yaml || is_table)
        .then_some("it is the output of kubectl in another form; write it as JSON, with `kubectl get job -o json`")
}

fn items(value: &Value) -> Vec<&Value> {
    let all: Vec<&Value> = match value["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    all.into_iter().filter(|item| item["kind"] == "Job" || value["kind"] == "JobList").collect()
}

/// Returns the finished jobs, and the reasons why others are omitted.
pub(super) fn jobs(text: &str) -> anyhow::Result<(Vec<Finished>, Vec<String>)> {
    let value: Value = serde_json::from_str(text).map_err(|error| unusable(format!("it is not JSON: {error}")))?;
    let (mut jobs, mut notes) = (Vec::new(), Vec::new());
    for item in items(&value) {
        match finished(item) {
            Ok(job) => jobs.push(job),
            Err(reason) => notes.push(format!("{} {reason}", name(item))),
        }
    }
    Ok((jobs, notes))
}

/// Returns the bytes of a unit: `G` is decimal and `Gi` binary.
fn unit_bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => BYTES_PER_MIB,
        "Gi" => 1024.0 * BYTES_PER_MIB,
        "Ti" => 1024.0 * 1024.0 * BYTES_PER_MIB,
        _ => return None,
    })
}

/// Whether a resource is a GPU, a shared GPU or a part of one: `nvidia.com/gpu`,
/// `nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`, `gpu.intel.com/i915`.
fn is_gpu(resource: &str) -> bool {
    resource.split_once('/').is_some_and(|(vendor, name)| {
        vendor.starts_with("gpu.") || name.starts_with("mig-") || name == "gpu" || name.starts_with("gpu.")
    })
}

fn name(job: &Value) -> &str {
    job["metadata"]["name"].as_str().unwrap_or("a job")
}

fn finished(job: &Value) -> Result<Finished, &'static str> {
    if job["metadata"]["labels"][KUBERNETES_LABEL.0] == KUBERNETES_LABEL.1 {
        return Err(OWN_RUN);
    }
    let (spec, status) = (&job["spec"], &job["status"]);
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let holds = |kind: &str| conditions.iter().find(|one| one["type"] == kind && one["status"] == "True");
    let (outcome, end, reason) = match (holds("Complete"), holds("Failed")) {
        (Some(_), _) => (Outcome::Completed, &status["completionTime"], None),
        (None, Some(failed)) => {
            let is_late = failed["reason"] == "DeadlineExceeded";
            let outcome = if is_late { Outcome::TimedOut } else { Outcome::Failed };
            let said = failed["message"].as_str().unwrap_or("without a message");
            (outcome, &failed["lastTransitionTime"], Some(format!("Kubernetes ended the job: {said}")))
        }
        (None, None) => return Err("has not ended"),
    };
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let (started_at, end) = (time(&status["startTime"]).ok_or("has no start")?, time(end).ok_or("has no end")?);
    let pod = &spec["template"]["spec"];
    let limits = &pod["containers"][0]["resources"]["limits"];
    let text = |value: &Value| value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|n| n.to_string()));
    let cores = text(&limits["cpu"]).and_then(|cpu| cpu.parse().ok()).ok_or("has no whole number of processors")?;
    Ok(Finished {
        name: name(job).to_owned(),
        identity: format!("kubernetes {}", job["metadata"]["uid"]),
        outcome,
        reason,
        secs: Some(end.duration_since(started_at).as_secs_f64()).filter(|secs| *secs > 0.0).ok_or("has no duration")?,
        started_at,
        executors: spec["parallelism"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(1).max(1),
        cores_per_executor: cores,
        memory_per_executor_mib: text(&limits["memory"]).and_then(|memory| mebibytes(&memory, unit_bytes)),
        has_gpu: limits.as_object().is_some_and(|limits| limits.keys().any(|name| is_gpu(name))),
        // Each pod has its own, or its part of one.
        shares_gpus: limits.as_object().is_some_and(|limits| limits.keys().any(|name| name.ends_with("/gpu.shared"))),
        machine: pod["nodeSelector"][MACHINE].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_gpus_and_parts_of_gpus_are_gpus() {
        let gpus = ["nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"];
        assert!(gpus.into_iter().all(is_gpu) && is_gpu("gpu.intel.com/i915"));
        assert!(!["cpu", "memory", "ephemeral-storage", "example.com/dongle"].into_iter().any(is_gpu));
    }

    #[test]
    fn quantities_of_memory_are_decimal_unless_their_unit_ends_in_i() {
        let mib = |text: &str| mebibytes(text, unit_bytes);
        assert_eq!(["4Gi", "512Mi", "1048576", "1048576Ki"].map(mib), [Some(4096), Some(512), Some(1), Some(1024)]);
        assert_eq!(["4G", "4096M", "4194304k"].map(mib), [Some(3814), Some(3906), Some(4000)]);
        assert_eq!(["", "x", "4Q", "4K", "-1G", "128e6m"].map(mib), [None; 6]);
    }
}
